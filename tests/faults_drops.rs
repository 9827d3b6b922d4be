#![cfg(not(loom))]
//! Faults of memory: values that are held too long, dropped twice, or dropped at a bad moment.
//!
//! Properties:
//! * every value is handed out or dropped exactly once, whichever way it leaves;
//! * what is cancelled is given back at once;
//! * a value whose `Drop` panics, or turns to the wheel, does the wheel no harm;
//! * values of no size and of unusual alignment are values like others.

mod support;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Tick, Ticks, Wheel};

/// Counts how often each of its values was dropped.
#[derive(Clone, Debug, Default)]
struct Ledger(Rc<RefCell<Vec<u32>>>);

#[derive(Debug)]
struct Counted {
    ledger: Ledger,
    id: usize,
    /// Panics when it is dropped.
    bomb: bool,
}

impl Ledger {
    fn value(&self) -> Counted {
        self.make(false)
    }

    fn bomb(&self) -> Counted {
        self.make(true)
    }

    fn make(&self, bomb: bool) -> Counted {
        self.0.borrow_mut().push(0);
        let id = self.0.borrow().len() - 1;
        Counted {
            ledger: self.clone(),
            id,
            bomb,
        }
    }

    fn dropped(&self) -> u32 {
        self.0.borrow().iter().sum()
    }

    #[track_caller]
    fn assert_each_dropped_once(&self) {
        let drops = self.0.borrow();
        let wrong: Vec<_> = drops
            .iter()
            .enumerate()
            .filter(|(_, drops)| **drops != 1)
            .collect();
        assert!(
            wrong.is_empty(),
            "(value, times dropped): {wrong:?} of {}",
            drops.len()
        );
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ledger.0.borrow_mut()[self.id] += 1;
        assert!(!self.bomb, "as planned: value {}", self.id);
    }
}

// golang/go#15698, golang/go#75935: held on to until the old deadline
#[test]
fn a_cancelled_timer_gives_its_value_back_at_once() {
    fn run<const BITS: u32>(count: u64) {
        let (ledger, mut wheel) = (Ledger::default(), Wheel::<Counted, BITS>::default());
        let keys: Vec<_> = (0..count)
            .map(|id| wheel.arm(at(id << 20), ledger.value()))
            .collect();
        for (dropped, key) in keys.into_iter().enumerate() {
            drop(wheel.cancel(key));
            assert_eq!(ledger.dropped() as usize, dropped + 1, "of {count}");
        }
        wheel.check();
        ledger.assert_each_dropped_once();
    }
    for count in [1, 2, 100] {
        run::<8>(count);
        run::<2>(count);
    }
}

#[test]
fn every_value_is_dropped_once_whichever_way_it_leaves() {
    fn run<const BITS: u32>() {
        let (ledger, mut wheel) = (Ledger::default(), Wheel::<Counted, BITS>::default());
        for round in 0..5 {
            let now = wheel.now();
            let keys: Vec<_> = (0..100)
                .map(|id| wheel.arm(now + Ticks::new(id * id), ledger.value()))
                .collect();
            keys.iter()
                .step_by(3)
                .for_each(|key| drop(wheel.cancel(*key)));
            keys.iter()
                .step_by(4)
                .for_each(|key| assert_eq!(wheel.rearm(*key, now).is_ok(), wheel.contains(*key)));
            *wheel.get_mut(keys[1]).unwrap() = ledger.value();
            wheel.advance(now + Ticks::new(4_000), |turn, expired| {
                if expired.value.id % 2 == 0 {
                    turn.rearm_expired(expired, Tick::NEVER);
                }
            });
            wheel.set_limit(0);
            assert!(wheel.try_arm(at(0), ledger.value()).is_err());
            wheel.set_limit(usize::MAX);
            wheel.shrink_to_fit();
            wheel.check();
            match round {
                0 => wheel.clear(),
                1 => drop(wheel.drain()),
                2 => drop(wheel.drain().take(7).collect::<Vec<_>>()),
                3 => drop(wheel.poll(now + Ticks::new(9_000))),
                _ => drop(std::mem::take(&mut wheel)),
            }
            wheel.check();
            assert_eq!(wheel.is_empty(), round != 3);
        }
        ledger.assert_each_dropped_once();
    }
    run::<8>();
    run::<2>();
}

#[test]
fn a_value_whose_drop_panics_does_the_wheel_no_harm() {
    type Empty = fn(&mut Wheel<Counted, 2>);
    let ways: [(&str, Empty); 5] = [
        ("clear", Wheel::clear),
        ("drain", |wheel| drop(wheel.drain())),
        ("take a few", |wheel| drop(wheel.drain().nth(5))),
        ("drop", |wheel| drop(std::mem::take(wheel))),
        ("replace", |wheel| *wheel = Wheel::default()),
    ];
    for (way, empty) in ways {
        let (ledger, mut wheel) = (Ledger::default(), Wheel::default());
        let keys: Vec<_> = (0..40u64)
            .map(|id| {
                wheel.arm(
                    at(id * id),
                    if id == 4 {
                        ledger.bomb()
                    } else {
                        ledger.value()
                    },
                )
            })
            .collect();
        drop(wheel.cancel(keys[30]));
        let panicked = catch_unwind(AssertUnwindSafe(|| empty(&mut wheel)));
        assert!(panicked.is_err(), "{way}");
        wheel.check();
        assert_eq!((wheel.len(), wheel.next_deadline()), (0, None), "{way}");
        assert!(keys.iter().all(|key| !wheel.contains(*key)), "{way}");
        ledger.assert_each_dropped_once();
        let key = wheel.arm(at(2_000), ledger.value());
        assert_eq!(
            drive_by_next_deadline(&mut wheel, 9_000).log.len(),
            1,
            "{way}"
        );
        assert!(!wheel.contains(key), "{way}");
    }
}

#[test]
fn a_value_whose_drop_panics_in_the_callback_or_after_a_cancel_goes_alone() {
    fn run<const BITS: u32>() {
        let (ledger, mut wheel) = (Ledger::default(), Wheel::<Counted, BITS>::default());
        let keys: Vec<_> = (0..30u64)
            .map(|id| {
                wheel.arm(
                    at(10),
                    if id < 2 {
                        ledger.bomb()
                    } else {
                        ledger.value()
                    },
                )
            })
            .collect();
        let panicked = catch_unwind(AssertUnwindSafe(|| drop(wheel.cancel(keys[1]))));
        assert!(panicked.is_err(), "{panicked:?}");
        wheel.check();
        assert_eq!(wheel.len(), 29);
        let panicked = catch_unwind(AssertUnwindSafe(|| wheel.advance(at(10), |_, _| {})));
        assert!(panicked.is_err(), "{panicked:?}");
        assert_eq!(drive_to(&mut wheel, 10).log.len(), 28);
        ledger.assert_each_dropped_once();
    }
    run::<8>();
    run::<2>();
}

// zeroc-ice/ice#6022: destroyed under the lock that the value's own drop wanted
#[test]
fn a_value_may_turn_to_the_wheel_when_it_is_dropped() {
    struct Turning(Weak<RefCell<Wheel<Option<Turning>>>>);
    impl Drop for Turning {
        fn drop(&mut self) {
            let Some(wheel) = self.0.upgrade() else {
                return;
            };
            if let Ok(mut wheel) = wheel.try_borrow_mut() {
                wheel.check();
                wheel.arm(at(1), None);
            }
        }
    }
    let wheel = Rc::new(RefCell::new(Wheel::new()));
    let value = || Some(Turning(Rc::downgrade(&wheel)));
    let key = wheel.borrow_mut().arm(at(1), value());
    for _ in 0..20 {
        wheel.borrow_mut().arm(at(1), value());
    }
    let cancelled = wheel.borrow_mut().cancel(key);
    drop(cancelled); // arms one
    assert_eq!(wheel.borrow().len(), 21);
    let drained = wheel.borrow_mut().drain();
    drop(drained); // each of the 20 arms one
    assert_eq!(wheel.borrow().len(), 20);
    wheel.borrow_mut().arm(at(1), value());
    let expired: Vec<_> = std::iter::from_fn(|| wheel.borrow_mut().poll(at(1))).collect();
    drop(expired); // one more
    assert_eq!(wheel.borrow().len(), 1);
    wheel.borrow_mut().arm(at(1), value());
    wheel.borrow_mut().clear(); // is in use and says so
    assert_eq!(wheel.borrow().len(), 0);
    wheel.borrow_mut().arm(at(1), value());
    drop(wheel); // is gone already
}

#[test]
fn values_of_no_size_and_of_large_alignment_are_values_like_others() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(256))]
    struct Aligned(u8);

    fn run<T: Copy + std::fmt::Debug + PartialEq, const BITS: u32>(value: T) {
        let mut wheel = Wheel::<T, BITS>::default();
        let keys: Vec<_> = (1..=100)
            .map(|tick| wheel.arm(at(tick * 50), value))
            .collect();
        for key in &keys {
            let held = std::ptr::from_ref(wheel.get(*key).unwrap());
            assert!(held.is_aligned(), "{held:?}");
        }
        assert_eq!(wheel.cancel(keys[7]), Some(value));
        let fired = drive_by_next_deadline(&mut wheel, 10_000).log;
        assert!(fired.iter().all(|(_, fired)| *fired == value), "{fired:?}");
        let due = (1..=100).filter(|tick| *tick != 8).map(|tick| tick * 50);
        assert!(fired.iter().map(|(tick, _)| *tick).eq(due), "{fired:?}");
    }
    run::<(), 8>(());
    run::<(), 2>(());
    run::<[u64; 0], 8>([]);
    run::<Aligned, 8>(Aligned(7));
    run::<Aligned, 2>(Aligned(7));
}
