//! Steps that are accepted once.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use tickwheel::{BuildCodesError, Clock, ReplayError, ReplayGuard, Timestamp};

use crate::threads::race;
use crate::{Bed, secs};

fn guard(bed: &Bed) -> ReplayGuard {
    ReplayGuard::new(&bed.timers, secs(90)).unwrap()
}

#[test]
fn of_64_that_offer_a_step_one_is_accepted() {
    let bed = Bed::new();
    let guard = guard(&bed);
    for step in 0..20 {
        assert_eq!(race(64, |_| guard.accept("ada", step).is_ok()), 1);
    }
    assert_eq!((guard.remembered(), bed.timers.len()), (1, 1));
}

#[test]
fn none_is_accepted_that_is_older_than_the_newest() {
    let bed = Bed::new();
    let guard = guard(&bed);
    for (step, accepted) in [
        (0, true),
        (0, false),
        (7, true),
        (6, false),
        (7, false),
        (8, true),
        (u64::MAX, true),
        (9, false),
        (u64::MAX, false),
    ] {
        assert_eq!(guard.accept("ada", step).is_ok(), accepted, "{step}");
    }
    assert_eq!(guard.accept("bob", 0), Ok(())); // of a subject
    assert_eq!(guard.accept("", 1), Err(ReplayError::BadSubject));
    assert_eq!(
        guard.accept("x".repeat(513), 1),
        Err(ReplayError::BadSubject)
    );
    assert_eq!(guard.accept("x".repeat(512), 1), Ok(()));
}

#[test]
fn a_step_is_remembered_for_the_window_and_no_longer() {
    let bed = Bed::new();
    let guard = guard(&bed);
    assert_eq!(guard.accept("ada", 5), Ok(()));
    bed.clock.advance(secs(90) - Duration::from_nanos(1));
    assert!(guard.accept("ada", 5).is_err());
    bed.clock.advance(Duration::from_nanos(1)); // nobody has driven
    assert_eq!(guard.accept("ada", 5), Ok(()));
    bed.clock.advance(secs(45));
    assert_eq!(guard.accept("ada", 6), Ok(()));
    bed.clock.advance(secs(45));
    bed.turn();
    assert!(guard.accept("ada", 6).is_err()); // counted from the last
    assert_eq!((guard.remembered(), bed.timers.len()), (1, 1));
    bed.clock.advance(secs(45));
    bed.turn();
    assert_eq!((guard.remembered(), bed.timers.len()), (0, 0)); // by the wheel
}

#[test]
fn when_the_clock_goes_back_nothing_is_accepted_again_that_is_remembered() {
    let bed = Bed::new();
    let guard = guard(&bed);
    bed.clock.advance(secs(1000));
    assert_eq!(guard.accept("ada", 5), Ok(()));
    bed.clock.jump(Timestamp::ZERO);
    assert!(guard.accept("ada", 5).is_err());
    assert_eq!(guard.accept("ada", 6), Ok(()));
    bed.clock.jump(Timestamp::from_duration(secs(1089)));
    bed.turn();
    assert!(guard.accept("ada", 6).is_err());
    assert!(guard.accept("ada", 5).is_err());
    bed.clock.advance(secs(1));
    bed.turn();
    assert_eq!((guard.remembered(), bed.timers.len()), (0, 0));
}

#[test]
fn windows_at_the_edges() {
    let bed = Bed::new();
    let zero = ReplayGuard::new(&bed.timers, Duration::ZERO).unwrap_err();
    assert_eq!(zero, BuildCodesError::ZeroWindow);
    assert!(ReplayGuard::for_totp(&bed.timers, Duration::ZERO, 1).is_err());
    for guard in [
        ReplayGuard::new(&bed.timers, Duration::MAX).unwrap(),
        ReplayGuard::for_totp(&bed.timers, Duration::MAX, u32::MAX).unwrap(),
    ] {
        assert_eq!(guard.accept("ada", 5), Ok(()));
        bed.clock.set(Timestamp::NEVER);
        bed.turn();
        assert!(guard.accept("ada", 5).is_err()); // for ever
        assert!(!format!("{guard:?}").contains("ada"));
    }
    assert!(bed.timers.is_empty()); // with the guards
    let short = ReplayGuard::new(&bed.timers, Duration::from_nanos(1)).unwrap();
    assert_eq!(short.accept("ada", 5), Ok(()));
}

#[test]
fn with_a_driver_at_work_each_step_is_accepted_once_in_its_window() {
    let bed = Bed::new();
    let guard = ReplayGuard::new(&bed.timers, Duration::from_millis(3)).unwrap();
    let accepted = race(4, |n| {
        for step in 0..2000u64 {
            match n {
                0 => {
                    bed.clock.advance(Duration::from_micros(200));
                    let _ = bed.timers.turn();
                }
                _ => drop(guard.accept(["a", "b"][step as usize % 2], step)),
            }
        }
        true
    });
    assert_eq!(accepted, 4);
    bed.clock.advance(secs(1));
    bed.turn();
    assert_eq!((guard.remembered(), bed.timers.len()), (0, 0));
}

proptest! {
    #[test]
    fn programs_do_what_a_map_does(
        window in 1u64..30,
        steps in prop::collection::vec((0usize..3, 0u64..8, 0u64..12, any::<bool>()), 0..80),
    ) {
        const UNIT: u64 = 400_007;
        let bed = Bed::new();
        let guard = ReplayGuard::new(&bed.timers, Duration::from_nanos(window * UNIT)).unwrap();
        let mut newest = BTreeMap::new();
        for (subject, step, wait, turn) in steps {
            bed.clock.advance(Duration::from_nanos(wait * UNIT));
            let now = bed.clock.now().as_nanos();
            if turn {
                bed.turn();
            }
            newest.retain(|_, (_, until)| now < *until);
            let expected = newest.get(&subject).is_none_or(|(last, _)| *last < step);
            if expected {
                newest.insert(subject, (step, now + window * UNIT));
            }
            let accepted = guard.accept(["a", "b", "c"][subject], step);
            prop_assert_eq!(accepted.is_ok(), expected);
        }
        bed.timers.check();
        bed.clock.advance(Duration::from_nanos(99 * UNIT));
        bed.turn();
        prop_assert_eq!((guard.remembered(), bed.timers.len()), (0, 0));
    }
}
