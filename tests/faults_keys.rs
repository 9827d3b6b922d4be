#![cfg(not(loom))]
//! Faults of delivery: fired twice, or not at all.
//!
//! Properties:
//! * one arm gives at most one delivery, and exactly one unless it was cancelled;
//! * a cancel or re-arm that reports success means the old delivery never starts; one that
//!   reports failure means it has been made;
//! * neighbours in a slot are nobody's business but their own.

mod support;

use std::collections::HashSet;

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Ticks, Wheel};

// ETLCPP/etl#967: the automatic re-arm came on top of the callback's own
#[test]
fn rearming_twice_in_a_callback_gives_one_delivery() {
    let mut wheel = Wheel::new();
    let key = wheel.arm(at(10), 0u64);
    let mut ticks = Vec::new();
    for tick in 0..=100 {
        wheel.advance(at(tick), |turn, expired| {
            ticks.push(turn.now().get());
            let now = turn.now();
            assert_eq!(turn.rearm_expired(expired, now + Ticks::new(10)), key);
            assert_eq!(turn.rearm(key, now + Ticks::new(25)), Ok(()));
            if ticks.len() == 3 {
                assert_eq!(turn.cancel(key), Some(0)); // for good
            }
        });
        wheel.check();
    }
    assert_eq!((ticks, wheel.len()), (vec![10, 35, 60], 0));
    assert_eq!((wheel.cancel(key), wheel.contains(key)), (None, false));
}

// tinygo-org/tinygo#5487: cancelled while its callback ran, which then re-armed it
#[test]
fn a_timer_cannot_be_cancelled_from_its_own_callback_until_it_is_armed_again() {
    let mut wheel = Wheel::new();
    let key = wheel.arm(at(10), 7u64);
    wheel.advance(at(10), |turn, expired| {
        assert_eq!(expired.key, key);
        assert_eq!(turn.cancel(key), None); // it fired
        assert!(turn.rearm(key, at(50)).is_err());
        turn.rearm_expired(expired, at(20));
        assert_eq!(turn.cancel(key), Some(7)); // it will not
    });
    assert_eq!((wheel.cancel(key), wheel.contains(key)), (None, false));
    assert_eq!(drive_to(&mut wheel, 1_000), []);
}

// apache/hertzbeat#4201: the timer of the overwritten value fired too
#[test]
fn a_replaced_timer_never_fires() {
    let mut wheel = Wheel::new();
    let old = wheel.arm(at(600), 1);
    assert_eq!(drive_to(&mut wheel, 260), []);
    assert_eq!(wheel.cancel(old), Some(1));
    let new = wheel.arm(at(860), 2);
    assert_eq!((wheel.cancel(old), wheel.contains(old)), (None, false));
    assert_eq!((wheel.len(), wheel.deadline(new)), (1, Some(at(860))));
    assert_eq!(drive_to(&mut wheel, 859), []);
    assert_eq!(drive_to(&mut wheel, 2_000), [(860, 2)]);
}

// sablierapp/sablier#1110, sablierapp/sablier#1111: a renewal took the neighbour's expiry along
#[test]
fn a_renewal_in_the_same_slot_takes_no_other_expiry_along() {
    fn run<const BITS: u32>(due: u64, renewed: u64, renewed_is_first: bool) {
        let mut wheel = Wheel::<u64, BITS>::default();
        let first = wheel.arm(at(due), 1);
        let second = wheel.arm(at(due), 2);
        let (key, value) = if renewed_is_first {
            (first, 1)
        } else {
            (second, 2)
        };
        assert_eq!(drive_to(&mut wheel, due - 1), []);
        assert_eq!(wheel.rearm(key, at(renewed)), Ok(()));
        assert_eq!(drive_to(&mut wheel, due), [(due, 3 - value)]);
        assert!(wheel.contains(key), "the renewed one is gone at {due}");
        assert_eq!(
            drive_by_next_deadline(&mut wheel, renewed),
            [(renewed, value)]
        );
    }
    for (due, renewed) in [
        (10, 19),
        (64, 128),
        (4_095, 4_096),
        (4_096, 4_097),
        (1 << 18, 1 << 30),
    ] {
        for renewed_is_first in [true, false] {
            run::<8>(due, renewed, renewed_is_first);
            run::<2>(due, renewed, renewed_is_first);
        }
    }
}

// spring-projects/spring-session#169: the old bucket kept the key
#[test]
fn a_touched_timer_leaves_nothing_behind() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        let key = wheel.arm(at(161), 1);
        assert_eq!(drive_to(&mut wheel, 130), []);
        assert_eq!(wheel.rearm(key, at(230)), Ok(()));
        assert_eq!(drive_to(&mut wheel, 180), []);
        assert_eq!(drive_to(&mut wheel, 229), []);
        assert_eq!(wheel.next_deadline(), Some(at(230)));
        assert_eq!(drive_to(&mut wheel, 230), [(230, 1)]);
        assert_eq!(wheel.next_deadline(), None);
    }
    run::<8>();
    run::<2>();
}

// netty/netty#14959, netty/netty#14960: counted down once by the cancel and once by the batch
#[test]
fn cancelling_siblings_of_the_same_batch_counts_each_once() {
    fn run<const BITS: u32>(siblings: usize) {
        let mut wheel = Wheel::<usize, BITS>::default();
        let keys: Vec<_> = (0..=siblings).map(|id| wheel.arm(at(200), id)).collect();
        let mut fired = Vec::new();
        wheel.advance(at(200), |turn, expired| {
            fired.push(expired.value);
            for (id, key) in keys.iter().enumerate().skip(1) {
                assert_eq!(turn.cancel(*key), Some(id));
                assert_eq!(turn.cancel(*key), None);
            }
        });
        wheel.check();
        assert_eq!((fired, wheel.len(), wheel.iter().count()), (vec![0], 0, 0));
        assert_eq!(
            (wheel.next_deadline(), drive_to(&mut wheel, 1_000).log),
            (None, vec![])
        );
    }
    for siblings in [1, 2, 10, 100, 5_000] {
        run::<8>(siblings);
        run::<2>(siblings);
    }
}

// couchbase/chronicle#21: one that was on its way after a cancel of all crashed the owner
#[test]
fn clearing_between_two_deliveries_of_one_batch_drops_the_rest() {
    let mut wheel = Wheel::new();
    let keys: Vec<_> = (0..5).map(|id| wheel.arm(at(10), id)).collect();
    let expired = wheel.poll(at(10)).unwrap();
    wheel.clear();
    wheel.check();
    assert_eq!((expired.value, wheel.poll(at(10))), (0, None));
    for key in keys {
        assert_eq!((wheel.cancel(key), wheel.contains(key)), (None, false));
    }
    // The one that was on its way can still be armed again, as a new timer.
    let key = wheel.rearm_expired(expired, at(20));
    assert_eq!(wheel.deadline(key), Some(at(20)));
    assert_eq!(drive_by_next_deadline(&mut wheel, 20), [(20, 0)]);
}

// conr2d/eo#26, microsoft/libHttpClient#971: a wake-up for the old deadline counted for the new
#[test]
fn a_wake_up_for_an_old_deadline_proves_nothing_about_the_new() {
    let mut wheel = Wheel::new();
    let key = wheel.arm(at(10), 'a');
    assert_eq!(wheel.rearm(key, at(100)), Ok(()));
    for tick in [10, 11, 99] {
        assert_eq!(wheel.poll(at(tick)), None, "at {tick}");
        wheel.check();
    }
    assert_eq!(
        wheel.poll(at(100)).map(|expired| expired.deadline),
        Some(at(100))
    );
}

// microsoft/libHttpClient#972: equal deadlines were one; closing an owner flushed its sibling
#[test]
fn timers_with_equal_deadlines_are_two() {
    let mut wheel = Wheel::new();
    let a = wheel.arm(at(50), "owner 1");
    wheel.arm(at(50), "owner 2");
    wheel.arm(at(80), "owner 2");
    let c = wheel.arm(at(80), "owner 1");
    assert_eq!(drive_to(&mut wheel, 20), []);
    assert_eq!([a, c].map(|key| wheel.cancel(key)), [Some("owner 1"); 2]);
    assert_eq!(drive_to(&mut wheel, 50), [(50, "owner 2")]);
    assert_eq!(drive_to(&mut wheel, 500), [(80, "owner 2")]);
}

// tokio-rs/tokio#3270: the mark "expired" outlived the re-arm
#[test]
fn a_late_timer_moved_to_later_is_late_no_more() {
    let mut wheel = Wheel::<u64>::starting_at(at(100));
    let late = wheel.arm(at(50), 1);
    assert_eq!(wheel.rearm(late, at(500)), Ok(()));
    assert!(
        wheel.next_deadline() > Some(at(100)),
        "{:?}",
        wheel.next_deadline()
    );
    assert_eq!(drive_to(&mut wheel, 499), []);
    assert_eq!(wheel.cancel(late), Some(1));
    wheel.arm(at(600), 2);
    assert_eq!(drive_to(&mut wheel, 600), [(600, 2)]);
}

// tokio-rs/tokio#3270, tokio-rs/tokio#2473, tokio-rs/tokio#2587, sigp/lighthouse#1067: touching
// what is due but was not collected panicked
#[test]
fn a_due_timer_not_collected_yet_can_be_moved_and_cancelled() {
    fn run<const BITS: u32>(due: u64, moved: u64, cancel_first: bool) {
        let mut wheel = Wheel::<u64, BITS>::default();
        wheel.arm(at(due), 0);
        let [cancelled, kept] = [1, 2].map(|id| wheel.arm(at(due), id));
        assert_eq!(wheel.poll(at(due)).map(|expired| expired.value), Some(0));
        if !cancel_first {
            assert_eq!(wheel.rearm(cancelled, at(moved)), Ok(()));
        }
        assert_eq!(wheel.cancel(cancelled), Some(1));
        wheel.check();
        assert_eq!(wheel.rearm(kept, at(due)), Ok(())); // due again: in the next turn
        assert_eq!(wheel.rearm(kept, at(moved)), Ok(()));
        assert_eq!(wheel.poll(at(due)), None);
        assert_eq!(
            drive_by_next_deadline(&mut wheel, u64::MAX),
            [(moved, 2)],
            "due {due}"
        );
    }
    for due in [1, 64, 128, 4_095, 4_096, 8_192, 7_481_664, 1 << 36, 1 << 42] {
        for after in [1, 5, 904, 1 << 20] {
            for cancel_first in [true, false] {
                run::<8>(due, due + after, cancel_first);
                run::<2>(due, due + after, cancel_first);
            }
        }
    }
}

// golang/go#69312: "too late to stop", although it was never delivered
#[test]
fn every_timer_is_either_cancelled_or_delivered() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        let (mut cancelled, mut fired) = (HashSet::new(), HashSet::new());
        let mut keys = Vec::new();
        for tick in 0..20_000 {
            keys.push(wheel.arm(at(tick + tick * 7 % 90), tick));
            wheel.advance(at(tick), |_, expired| {
                assert!(fired.insert(expired.value), "{} fired twice", expired.value);
            });
            let which = tick.saturating_sub(tick * 13 % 97) as usize;
            if let Some(value) = wheel.cancel(keys[which]) {
                assert!(cancelled.insert(value), "{value} was cancelled twice");
            }
        }
        wheel.check();
        fired.extend(
            drive_to(&mut wheel, 30_000)
                .log
                .into_iter()
                .map(|(_, value)| value),
        );
        assert_eq!(fired.intersection(&cancelled).next(), None);
        assert_eq!(
            fired.len() + cancelled.len(),
            20_000,
            "{} cancelled",
            cancelled.len()
        );
        assert!(
            cancelled.len() > 1_000 && fired.len() > 1_000,
            "{} cancelled",
            cancelled.len()
        );
    }
    run::<8>();
    run::<2>();
}
