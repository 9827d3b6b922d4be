//! What may cross threads.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::MutexGuard;

use crate::crew;
use tickwheel::{
    Busy, Cancel, Local, Park, Revoked, SharedDrain, SharedTurn, SharedWheel, SharedWheelBuilder,
};

fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn debug<T: std::fmt::Debug>() {}
fn error<T: std::error::Error>() {}

/// Does not compile if the type has the trait: then there are two candidates for `_`.
macro_rules! assert_not {
    ($type:ty: $auto:ident) => {{
        trait Ambiguous<A> {
            fn ask() {}
        }
        struct HasIt;
        impl<T: ?Sized> Ambiguous<()> for T {}
        impl<T: ?Sized + $auto> Ambiguous<HasIt> for T {}
        <$type as Ambiguous<_>>::ask();
    }};
}

#[test]
fn a_wheel_is_for_all_threads_if_its_values_may_be_sent() {
    send::<SharedWheel<u64>>();
    sync::<SharedWheel<u64>>();
    send::<SharedWheel<Cell<u64>>>(); // need not be shareable themselves
    sync::<SharedWheel<Cell<u64>>>();
    assert_not!(SharedWheel<Rc<u64>>: Send);
    assert_not!(SharedWheel<Rc<u64>>: Sync);
    assert_not!(SharedWheel<MutexGuard<'static, u64>>: Send); // shareable, but not to be sent
    assert_not!(SharedWheel<MutexGuard<'static, u64>>: Sync);
    send::<SharedWheelBuilder<u64>>();
}

#[test]
fn a_local_handle_may_change_threads_but_serves_one_at_a_time() {
    send::<Local<'static, u64>>();
    send::<Local<'static, Cell<u64>>>();
    assert_not!(Local<'static, u64>: Sync);
    assert_not!(Local<'static, Rc<u64>>: Send);

    let wheel = SharedWheel::<u64>::new();
    let mut local = wheel.local();
    let key = local.arm(tickwheel::Tick::new(1), 1);
    crew::scope(|scope| {
        scope.spawn(move || assert!(local.cancel(key).is_cancelled()));
    });
    assert!(wheel.is_empty(), "{wheel:?}");
    wheel.check();
}

#[test]
fn answers_are_plain_data() {
    send::<Cancel<u64>>();
    sync::<Cancel<u64>>();
    send::<SharedDrain<'static, Cell<u64>>>();
    send::<Park>();
    error::<Busy>();
    error::<Revoked<Rc<u64>>>();
    debug::<SharedWheel<Rc<u64>>>();
    debug::<SharedTurn<'static, fn()>>();
    debug::<Local<'static, Rc<u64>>>();
    debug::<SharedDrain<'static, Rc<u64>>>();
}
