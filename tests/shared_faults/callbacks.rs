//! Callbacks that do all they may.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tickwheel::{Cancel, Expired, SharedTurn, SharedWheel, Tick, Ticks};

use crate::at;
use crate::crew::{self, Gate};

// tokio-rs/tokio#6584: the rest of the batch was lost with the one that panicked
#[test]
fn after_a_panic_in_a_callback_the_rest_fires_in_the_next_call() {
    fn run<const BITS: u32>(spread: u64, bounded: bool) {
        let wheel = SharedWheel::<u64, BITS>::builder().build();
        let keys: Vec<_> = (1..=10)
            .map(|id| wheel.arm(at(10 + id * spread), id))
            .collect();
        let end = at(10 + 10 * spread);
        let (mut fired, mut lost) = (Vec::new(), None);
        let mut fire = |_: &mut SharedTurn<'_, u64, BITS>, expired: Expired<u64>| {
            fired.push(expired.value);
            if fired.len() == 4 {
                lost = Some(expired.key);
                resume_unwind(Box::new("as planned"));
            }
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| match bounded {
            true => wheel.advance_bounded(end, 100, &mut fire).map(|_| ()),
            false => wheel.advance(end, &mut fire).map(|_| ()),
        }));
        assert!(panicked.is_err(), "{panicked:?}");
        wheel.check();
        assert_eq!((wheel.len(), wheel.next_deadline().is_some()), (6, true));
        let key = wheel.arm(at(0), 11); // it can be used as before
        assert_eq!(wheel.advance(end, &mut fire), Ok(7), "spread {spread}");
        wheel.check();
        assert!(keys.iter().chain([&key]).all(|key| !wheel.contains(*key)));
        assert_eq!(wheel.cancel_wait(lost.unwrap()), Cancel::Stale);
        fired.sort_unstable();
        assert_eq!(fired, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }
    for spread in [0, 1, 13, 64, 5_000] {
        run::<8>(spread, false);
        run::<2>(spread, true);
    }
}

#[test]
fn a_timer_that_was_armed_again_before_its_callback_panicked_stays_armed() {
    let wheel = SharedWheel::<u8>::new();
    let key = wheel.arm(at(1), 7);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        wheel.advance(at(1), |turn, expired| {
            let same = turn.rearm_expired(expired, at(3));
            assert_eq!(same.unwrap(), key);
            resume_unwind(Box::new("as planned"));
        })
    }));
    assert!(panicked.is_err(), "{panicked:?}");
    wheel.check();
    assert_eq!(wheel.deadline(key), Some(at(3)));
    assert_eq!(
        wheel.advance(at(3), |_, expired| assert_eq!(expired.value, 7)),
        Ok(1)
    );
}

#[test]
fn a_callback_that_clears_or_drains_leaves_nothing_to_fire() {
    type Empty = fn(&SharedWheel<u64>);
    let ways: [(&str, Empty); 3] = [
        ("clear", SharedWheel::clear),
        ("drain", |wheel| assert_eq!(wheel.drain().count(), 19)),
        ("take one and drop the rest", |wheel| {
            let _ = wheel.drain().next();
        }),
    ];
    for (way, empty) in ways {
        let wheel = SharedWheel::new();
        let keys: Vec<_> = (0..20).map(|id| wheel.arm(at(5 + id / 10), id)).collect();
        let mut new = None;
        let fired = wheel.advance(at(100), |turn, expired| {
            empty(turn.wheel());
            assert_eq!((turn.wheel().len(), expired.deadline), (0, at(5)), "{way}");
            new = Some(turn.arm(at(50), 99));
            // The one that fires is not armed, so it was left alone.
            let again = turn.rearm_expired(expired, at(200));
            assert!(again.is_ok(), "{way}: {again:?}");
            turn.wheel().clear(); // and now it was armed
        });
        assert_eq!(fired, Ok(1), "{way}");
        wheel.check();
        assert!(wheel.is_empty(), "{way}: {wheel:?}");
        assert!(
            keys.iter().chain(&new).all(|key| !wheel.contains(*key)),
            "{way}"
        );
    }
}

#[test]
fn a_callback_that_advances_is_told_that_the_wheel_is_busy() {
    let wheel = SharedWheel::<u64>::new();
    wheel.arm(at(5), 5);
    wheel.arm(at(6), 6);
    let fired = wheel.advance(at(9), |turn, expired| {
        for target in [0, expired.value, 9, 1_000] {
            let within = turn.wheel().advance(at(target), |_, _| panic!("within"));
            assert!(within.is_err(), "{within:?}");
            let within = turn
                .wheel()
                .advance_bounded(at(target), 9, |_, _| panic!("within"));
            assert!(within.is_err(), "{within:?}");
        }
        let park = turn.wheel().prepare_park();
        assert!(park.is_err(), "{park:?}");
        assert_eq!(turn.wheel().next_deadline().is_some(), expired.value == 5);
        assert_eq!(turn.now(), at(expired.value));
    });
    assert_eq!((fired, wheel.now()), (Ok(2), at(9)));
    wheel.check();
}

// tui-cs/Terminal.Gui#5652, ETLCPP/etl#954: callbacks ran under the lock
#[test]
fn a_callback_may_wait_for_a_thread_that_uses_the_wheel() {
    let wheel = SharedWheel::<&str>::new();
    let other = wheel.arm(at(5), "other");
    let moved = wheel.arm(at(500), "moved");
    wheel.arm(at(4), "first");
    let mut fired = Vec::new();
    let count = wheel.advance(at(10), |turn, expired| {
        if expired.value == "first" {
            let wheel = turn.wheel();
            let answer = crew::scope(|scope| {
                let thread = scope.spawn(|| {
                    wheel.arm(at(7), "armed meanwhile");
                    wheel.local().rearm(moved, at(6)).unwrap();
                    (wheel.cancel(other), wheel.cancel(expired.key), wheel.len())
                });
                thread.join().unwrap()
            });
            assert_eq!(answer, (Cancel::Cancelled("other"), Cancel::Running, 2));
            let revoked = turn.rearm_expired(expired, at(8)).unwrap_err();
            fired.push(revoked.expired.value);
        } else {
            fired.push(expired.value);
        }
    });
    wheel.check();
    // Armed by another thread, but before the callback had returned, for later than its tick.
    assert_eq!(count, Ok(3), "{fired:?}");
    assert_eq!(fired, ["first", "moved", "armed meanwhile"]);
}

#[test]
fn an_expired_timer_that_is_kept_for_later_is_armed_under_another_key() {
    let wheel = SharedWheel::<u64>::new();
    let keys = [wheel.arm(at(1), 1), wheel.arm(at(2), 2)];
    let mut kept = None;
    let fired = wheel.advance(at(2), |turn, expired| match kept.take() {
        None => kept = Some(expired),
        Some(before) => {
            let new = turn.rearm_expired(before, at(9)).unwrap();
            assert!(!keys.contains(&new), "{new:?} of {keys:?}");
            let own = turn.rearm_expired(expired, at(9)).unwrap();
            assert_eq!(own, keys[1]);
        }
    });
    assert_eq!((fired, wheel.len()), (Ok(2), 2));
    wheel.check();
    assert_eq!(wheel.cancel(keys[0]), Cancel::Stale);
    let mut values = Vec::new();
    let fired = wheel.advance(at(9), |_, expired| values.push(expired.value));
    values.sort_unstable();
    assert_eq!((fired, values), (Ok(2), vec![1, 2]));
}

// libuv/libuv#4245, libuv/libuv#4250, envoyproxy/envoy#11823: re-armed for now, for ever
#[test]
fn a_callback_that_rearms_for_now_fires_once_in_a_call() {
    fn run<const BITS: u32>(back: u64) {
        let wheel = SharedWheel::<char, BITS>::builder().build();
        wheel.arm(at(10), 'a');
        wheel.arm(at(5_000), 'c');
        let pass = |target| {
            let mut fired = String::new();
            let count = wheel.advance(at(target), |turn, expired| {
                fired.push(expired.value);
                if expired.value == 'a' {
                    let past = Tick::new(turn.now().get() - back);
                    assert!(turn.rearm_expired(expired, past).is_ok());
                }
            });
            wheel.check();
            assert_eq!(count, Ok(fired.len()));
            (fired, wheel.next_deadline() == Some(wheel.now()))
        };
        assert_eq!(pass(10), ("a".into(), true), "{back} back");
        assert_eq!(pass(10), ("a".into(), true), "{back} back");
        assert_eq!(pass(6_000), ("ac".into(), true), "{back} back");
        assert_eq!(pass(0), ("a".into(), true), "{back} back");
    }
    for back in [0, 1, 10] {
        run::<8>(back);
        run::<2>(back);
    }
}

/// Another thread, arming for now as fast as it can, cannot keep the driver busy either.
#[test]
fn threads_that_arm_for_now_without_end_do_not_hold_up_the_driver() {
    let wheel = SharedWheel::<()>::new();
    let (start, mut fired) = (Gate::new(3), 0);
    let armed = crew::scope(|scope| {
        let flood: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let mut local = wheel.local();
                    let soon = (0..2_000).map(|_| local.arm(wheel.now() + Ticks::new(1), ()));
                    soon.count()
                })
            })
            .collect();
        start.wait();
        for tick in 0..200 {
            fired += wheel.advance(at(tick), |_, _| {}).expect("one driver");
        }
        flood
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum::<usize>()
    });
    fired += wheel.advance(at(10_000), |_, _| {}).unwrap();
    wheel.check();
    assert_eq!(fired, armed, "fired the first, armed the second");
}
