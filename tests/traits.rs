#![cfg(not(loom))]
//! What the types promise to the type system: auto traits and sizes.

use core::cell::Cell;
use core::fmt::Debug;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use tickwheel::{
    Drain, Expired, Iter, Progress, Resolution, StaleKey, Tick, Ticks, TimerKey, Timestamp, Turn,
    Wheel, WheelFull,
};

fn all<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + Debug>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn debug<T: Debug>() {}
fn plain<T: Copy + Eq + Ord + core::hash::Hash>() {}

#[test]
fn types_are_as_shareable_as_what_they_hold() {
    all::<Wheel<u64>>();
    all::<Expired<u64>>();
    all::<Drain<u64>>();
    all::<Iter<'static, u64>>();
    all::<TimerKey>();
    all::<StaleKey>();
    all::<WheelFull<u64>>();
    all::<Progress>();
    all::<Resolution>();
    send::<Turn<'static, u64>>();
    send::<Wheel<Cell<u64>>>(); // movable, though not shareable
    sync::<Wheel<std::sync::MutexGuard<'static, u64>>>(); // shareable, though not movable
    debug::<Wheel<Rc<u64>>>();
    debug::<WheelFull<fn()>>();
}

#[test]
fn keys_and_times_are_plain_data() {
    plain::<TimerKey>();
    plain::<Tick>();
    plain::<Ticks>();
    plain::<Timestamp>();
    assert_eq!(size_of::<Option<TimerKey>>(), 16);
    assert_eq!(size_of::<Tick>(), 8);
}

#[test]
fn a_wheel_that_is_not_used_allocates_nothing_and_is_small() {
    // Moving a wheel copies this much; what it holds stays where it is.
    assert!(
        size_of::<Wheel<u64>>() <= 320,
        "{} bytes",
        size_of::<Wheel<u64>>()
    );
    assert_eq!(Wheel::<u64>::new().capacity(), 0);
}
