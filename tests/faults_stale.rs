#![cfg(not(loom))]
//! Faults of identity: keys that outlive what they named.
//!
//! Properties:
//! * a key of a timer that is gone, of another wheel, or from before everything was taken out
//!   is refused, whatever uses its storage now, and leaves the wheel as it was;
//! * no key is given out twice;
//! * `rearm_expired` never loses or doubles a timer, however old, foreign or changed what it
//!   is given.

mod support;

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Expired, Tick, Ticks, TimerKey, Wheel};

/// Asserts that every operation refuses `key` and that trying changes nothing.
fn assert_stale<const BITS: u32>(wheel: &mut Wheel<u64, BITS>, key: TimerKey) {
    let before = (wheel.len(), wheel.next_deadline());
    assert_eq!(wheel.cancel(key), None, "{key:?} cancels");
    assert!(wheel.rearm(key, Tick::ZERO).is_err(), "{key:?} re-arms");
    assert_eq!(
        (wheel.get(key), wheel.deadline(key)),
        (None, None),
        "{key:?} is looked up"
    );
    assert!(
        !wheel.contains(key) && wheel.get_mut(key).is_none(),
        "{key:?} is there"
    );
    assert_eq!(
        (wheel.len(), wheel.next_deadline()),
        before,
        "{key:?} changed the wheel"
    );
    wheel.check();
}

// dgraph-io/ristretto#129: of no use again after its first expiry
#[test]
fn storage_and_keys_serve_again_after_an_expiry() {
    let mut wheel = Wheel::new();
    let key = wheel.arm(at(5), 1);
    let expired = wheel.poll(at(6)).unwrap();
    assert_eq!(wheel.rearm_expired(expired, at(11)), key);
    assert_eq!(drive_to(&mut wheel, 11), [(11, 1)]);
    let mut old = HashSet::from([key]);
    for round in 12..1_000 {
        let key = wheel.arm(at(round), round);
        assert!(old.insert(key), "{key:?} was given out twice");
        assert_eq!(drive_to(&mut wheel, round), [(round, round)]);
    }
    for key in old {
        assert_stale(&mut wheel, key);
    }
    assert!(
        wheel.capacity() <= 8,
        "capacity {} for one timer at a time",
        wheel.capacity()
    );
}

#[test]
fn keys_from_before_everything_was_taken_out_are_stale() {
    fn run<const BITS: u32>(empty: impl Fn(&mut Wheel<u64, BITS>)) {
        let mut wheel = Wheel::default();
        for round in 0..3 {
            let keys: Vec<_> = (0..50).map(|id| wheel.arm(at(id * id), id)).collect();
            assert_eq!(wheel.cancel(keys[3]), Some(3));
            empty(&mut wheel);
            wheel.check();
            assert!(
                wheel.is_empty() && wheel.next_deadline().is_none(),
                "round {round}"
            );
            let heirs: Vec<_> = (0..50).map(|id| wheel.arm(at(9_000), id)).collect();
            for key in keys {
                assert!(!heirs.contains(&key), "{key:?} was given out again");
                assert_stale(&mut wheel, key);
            }
            wheel.clear();
        }
    }
    let fire_all = |wheel: &mut Wheel<u64, 2>| {
        wheel.advance(wheel.now() + Ticks::new(5_000), |_, _| {});
        wheel.shrink_to_fit();
    };
    let cancel_all = |wheel: &mut Wheel<u64, 2>| {
        let keys: Vec<_> = wheel.iter().map(|(key, ..)| key).collect();
        assert!(keys.into_iter().all(|key| wheel.cancel(key).is_some()));
        wheel.shrink_to_fit();
    };
    run::<2>(Wheel::clear);
    run::<8>(Wheel::clear);
    run::<2>(|wheel| assert_eq!(wheel.drain().count(), 49));
    run::<2>(|wheel| std::mem::forget(wheel.drain()));
    run::<2>(fire_all);
    run::<2>(cancel_all);
}

#[test]
fn shrinking_forgets_no_generation() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        let anchor = wheel.arm(at(1 << 30), 0);
        let mut old = HashSet::new();
        for round in 1..60 {
            let keys: Vec<_> = (0..round).map(|id| wheel.arm(at(1 << 20), id)).collect();
            for key in keys {
                assert!(old.insert(key), "{key:?} was given out twice");
                assert!(wheel.cancel(key).is_some());
            }
            wheel.shrink_to_fit();
            wheel.check();
            assert!(wheel.contains(anchor), "round {round}");
        }
        for key in old {
            assert_stale(&mut wheel, key);
        }
    }
    run::<8>();
    run::<2>();
}

#[test]
fn a_key_of_another_wheel_is_stale() {
    let [mut one, mut two] = [Wheel::<u64>::new(), Wheel::new()];
    let [here, there] = [&mut one, &mut two].map(|wheel| wheel.arm(at(10), 1));
    assert_ne!(here, there);
    assert_stale(&mut one, there);
    assert_stale(&mut two, here);
    drop(one);
    let mut three = Wheel::<u64>::new();
    three.arm(at(10), 3);
    assert_stale(&mut three, here);
    std::mem::swap(&mut two, &mut three); // a wheel keeps its keys wherever it moves
    assert_eq!((two.contains(there), three.contains(there)), (false, true));
}

/// Fires a timer of its own wheel and hands out what came.
fn expired_elsewhere(value: u64) -> Expired<u64> {
    let mut wheel = Wheel::new();
    wheel.arm(at(1), value);
    wheel.poll(at(1)).unwrap()
}

#[test]
fn an_expired_timer_that_cannot_keep_its_key_becomes_a_new_one() {
    type Meanwhile = fn(&mut Wheel<u64>);
    let meanwhile: [(&str, Meanwhile); 6] = [
        ("polled", |wheel| assert_eq!(wheel.poll(at(5)), None)),
        ("advanced", |wheel| {
            assert_eq!(wheel.advance(at(6), |_, _| {}), 0);
        }),
        ("fired another", |wheel| {
            wheel.arm(at(5), 2);
            assert_eq!(wheel.advance(at(6), |_, _| {}), 1);
        }),
        ("shrunk", Wheel::shrink_to_fit),
        ("cleared", Wheel::clear),
        ("drained", |wheel| drop(wheel.drain())),
    ];
    for (what, meanwhile) in meanwhile {
        let mut wheel = Wheel::new();
        let old = wheel.arm(at(5), 1);
        let expired = wheel.poll(at(5)).unwrap();
        meanwhile(&mut wheel);
        let new = wheel.rearm_expired(expired, at(50));
        assert_ne!(new, old, "{what}");
        assert_stale(&mut wheel, old);
        assert_eq!(wheel.deadline(new), Some(at(50)), "{what}");
        assert_eq!(drive_by_next_deadline(&mut wheel, 50), [(50, 1)], "{what}");
    }
}

#[test]
fn an_expired_timer_of_another_wheel_is_armed_here() {
    let mut wheel = Wheel::new();
    let here = wheel.arm(at(1), 1);
    let mine = wheel.poll(at(1)).unwrap(); // same index, same generation
    let new = wheel.rearm_expired(expired_elsewhere(2), at(20));
    assert_ne!(new, here);
    assert_eq!(wheel.rearm_expired(mine, at(10)), here);
    assert_eq!(drive_by_next_deadline(&mut wheel, 99), [(10, 1), (20, 2)]);
}

#[test]
fn a_copy_of_an_expired_timer_is_a_timer_of_its_own() {
    let mut wheel = Wheel::new();
    let key = wheel.arm(at(1), 1);
    let first = wheel.poll(at(1)).unwrap();
    let copies = [first.clone(), first.clone(), first.clone()];
    assert_eq!(wheel.rearm_expired(first, at(10)), key);
    let [armed_while_armed, armed_when_fired, armed_in_between] = copies;
    let other = wheel.rearm_expired(armed_while_armed, at(11));
    assert_ne!(other, key);
    assert_eq!(wheel.poll(at(10)).map(|again| again.key), Some(key));
    // The key is free to be kept, and this is what it named.
    assert_eq!(wheel.rearm_expired(armed_when_fired, at(12)), key);
    let third = wheel.rearm_expired(armed_in_between, at(13));
    assert!(third != key && third != other, "{third:?}");
    assert_eq!(
        drive_by_next_deadline(&mut wheel, 99),
        [(11, 1), (12, 1), (13, 1)]
    );
}

#[test]
fn an_expired_timer_keeps_its_tolerance_or_takes_the_one_it_is_given() {
    for (armed, given) in [(0, 0), (100, 100), (100, 7), (0, 100), (100, 0)] {
        let mut wheel = Wheel::new();
        let key = wheel.arm_tolerant(at(1_000), Ticks::new(armed), 1);
        let mut expired = wheel.poll(at(2_000)).unwrap();
        assert_eq!(expired.tolerance, Ticks::new(armed));
        expired.tolerance = Ticks::new(given);
        assert_eq!(wheel.rearm_expired(expired, at(3_001)), key);
        assert_eq!(
            wheel.deadline(key),
            Some(at(3_001)),
            "tolerance {armed}, then {given}"
        );
        wheel.check();
        let due = at(3_001).coalesce(Ticks::new(given)).get();
        assert_eq!(
            drive_by_next_deadline(&mut wheel, due),
            [(due, 1)],
            "{armed}, then {given}"
        );
    }
}

#[test]
fn a_full_wheel_takes_back_only_what_keeps_its_key() {
    let mut wheel = Wheel::<u64>::new();
    wheel.set_limit(0);
    assert_eq!(wheel.try_arm(at(1), 1).map_err(|full| full.value), Err(1));
    wheel.set_limit(1);
    let key = wheel.arm(at(1), 1);
    let mine = wheel.poll(at(1)).unwrap();
    wheel.set_limit(0);
    let foreign = expired_elsewhere(2);
    let refused = catch_unwind(AssertUnwindSafe(|| wheel.rearm_expired(foreign, at(20))));
    assert!(refused.is_err(), "{refused:?}");
    wheel.check();
    assert_eq!(wheel.rearm_expired(mine, at(10)), key);
    assert_eq!(wheel.rearm(key, at(30)), Ok(())); // what is armed may move
    assert_eq!(drive_by_next_deadline(&mut wheel, 99), [(30, 1)]);
}

#[test]
fn a_tolerance_does_not_pass_to_the_next_timer_in_the_same_place() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        for round in 1..50 {
            let tolerant = wheel.arm_tolerant(at(1_000 * round), Ticks::new(500), 1);
            assert_eq!(wheel.rearm(tolerant, at(1_000 * round + 1)), Ok(()));
            assert_eq!(wheel.deadline(tolerant), Some(at(1_000 * round + 1)));
            assert_eq!(wheel.cancel(tolerant), Some(1));
            let plain = wheel.arm(at(1_000 * round + 3), round);
            assert_eq!(wheel.deadline(plain), Some(at(1_000 * round + 3)));
            let fired = drive_by_next_deadline(&mut wheel, 1_000 * round + 500);
            assert_eq!(fired, [(1_000 * round + 3, round)]);
        }
    }
    run::<8>();
    run::<2>();
}

/// A turn of `poll` that is cut short by emptying the wheel is over.
fn emptied_in_mid_turn<const BITS: u32>(empty: fn(&mut Wheel<char, BITS>)) {
    let mut wheel = Wheel::<char, BITS>::default();
    wheel.arm(at(5), 'a');
    wheel.arm(at(5), 'b');
    assert_eq!(wheel.poll(at(5)).map(|expired| expired.value), Some('a'));
    empty(&mut wheel);
    assert!(wheel.poll(at(5)).is_none(), "the wheel was emptied");
    wheel.arm(at(5), 'c');
    assert_eq!(
        wheel.poll(at(5)).map(|expired| expired.value),
        Some('c'),
        "it is due"
    );
    wheel.check();
}

#[test]
fn what_is_armed_after_a_turn_was_emptied_away_is_found_at_once() {
    emptied_in_mid_turn::<8>(|wheel| wheel.clear());
    emptied_in_mid_turn::<2>(|wheel| drop(wheel.drain()));
    emptied_in_mid_turn::<3>(|wheel| {
        let keys: Vec<_> = wheel.iter().map(|(key, ..)| key).collect();
        for key in keys {
            assert_eq!(wheel.cancel(key), Some('b'));
        }
    });
}

#[test]
fn a_key_that_leaked_from_a_closure_that_panicked_names_nothing() {
    let mut wheel = Wheel::<u64>::new();
    let leaked = Cell::new(None);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        wheel.arm_with(at(5), |key| {
            leaked.set(Some(key));
            panic!("no value");
        })
    }));
    assert!(panicked.is_err(), "the panic passes on");
    wheel.check();
    let leaked = leaked.get().unwrap();
    let other = wheel.arm(at(9), 7);
    assert_ne!(leaked, other, "the key of a timer that was never armed");
    assert_eq!(wheel.cancel(leaked), None, "cancelled the timer of another");
    assert_eq!(wheel.len(), 1);
}

#[test]
fn a_panic_in_a_callback_leaves_no_turn_behind() {
    let mut wheel = Wheel::<u64>::new();
    wheel.arm(at(5), 0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        wheel.advance(at(5), |_, expired| panic!("{expired:?}"));
    }));
    assert!(panicked.is_err(), "the panic passes on");
    wheel.arm(at(1), 1);
    let late = wheel.poll(at(100)).map(|expired| expired.value);
    assert_eq!(late, Some(1), "overdue, and not in the turn that panicked");
}
