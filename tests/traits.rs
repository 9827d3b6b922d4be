#![cfg(not(loom))]
//! What the types promise to the type system: auto traits and sizes.

#[path = "traits/auto.rs"]
mod auto;

use core::cell::Cell;
use core::fmt::Debug;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use tickwheel::{
    Drain, Expired, Iter, Progress, Resolution, ResolutionError, StaleKey, Tick, Ticks, TimerKey,
    Timestamp, Turn, Wheel, WheelFull,
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
    assert_eq!(size_of::<Option<TimerKey>>(), 8 + size_of::<usize>());
    assert_eq!(size_of::<TimerKey>(), size_of::<Option<TimerKey>>());
    for size in [
        size_of::<Tick>(),
        size_of::<Ticks>(),
        size_of::<Timestamp>(),
    ] {
        assert_eq!(size, 8);
    }
}

#[cfg(feature = "typed")]
#[test]
fn ids_and_tokens_take_no_more_than_their_bits() {
    use tickwheel::{CodeNonce, EndReason, FencingToken, SecretCode, SessionId, SubjectId};
    assert_eq!(size_of::<SessionId>(), 24); // 192 bits
    assert_eq!(size_of::<FencingToken>(), 8);
    assert_eq!(size_of::<CodeNonce>(), 8);
    assert_eq!(size_of::<SubjectId>(), 32); // a digest
    assert_eq!(size_of::<EndReason>(), 1);
    // A code stays where it was drawn, so that no move leaves a copy of it behind.
    assert_eq!(size_of::<SecretCode>(), size_of::<usize>());
}

#[test]
fn plain_data_is_shown_as_what_it_is() {
    let mut wheel = Wheel::new();
    let keys = [5, 6].map(|tick| wheel.arm(Tick::from(tick), ()));
    assert_eq!(
        keys.map(|key| wheel.deadline(key)),
        [5, 6].map(|tick| Some(Tick::new(tick)))
    );
    let shown = keys.map(|key| format!("{key:?}"));
    assert!(
        shown.iter().all(|key| key.starts_with("TimerKey(")),
        "{shown:?}"
    );
    assert_ne!(shown[0], shown[1]);
    assert_eq!(
        format!("{:?}", Resolution::MILLISECOND),
        "Resolution(1ms per tick)"
    );
    let errors = [ResolutionError::Zero, ResolutionError::TooLong].map(|error| error.to_string());
    assert!(errors[0].contains("zero") && errors[1].contains("64 bits"));
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
