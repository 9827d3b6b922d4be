//! Values with a mind of their own.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;

use tickwheel::{SharedWheel, Tick, Ticks, TimerKey};

use crate::at;
use crate::crew;
use crate::token::{Ledger, Token};

/// Turns to the wheel that held it when it is dropped.
struct Turning {
    wheel: Weak<SharedWheel<Turning>>,
    /// Arms another one so often, one out of the other.
    left: u32,
    other: Option<TimerKey>,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Turning {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        let Some(wheel) = self.wheel.upgrade() else {
            return;
        };
        if let Some(other) = self.other {
            let _ = wheel.cancel(other); // drops that one, in here
        }
        let _ = (wheel.len(), wheel.next_deadline(), wheel.prepare_park());
        if self.left > 0 {
            let value = Self {
                wheel: self.wheel.clone(),
                left: self.left - 1,
                other: None,
                dropped: Arc::clone(&self.dropped),
            };
            wheel.arm(wheel.now() + Ticks::new(1), value);
        }
    }
}

// zeroc-ice/ice#6022: destroyed under the lock that the value's own drop wanted
#[test]
fn a_value_may_turn_to_the_wheel_when_it_is_dropped() {
    type Empty = fn(&SharedWheel<Turning>, TimerKey);
    let ways: [(&str, Empty); 5] = [
        ("cancel", |wheel, key| drop(wheel.cancel(key))),
        ("clear", |wheel, _| wheel.clear()),
        ("drain", |wheel, _| drop(wheel.drain())),
        ("fire", |wheel, _| {
            wheel
                .advance(wheel.now() + Ticks::new(9), |_, _| {})
                .unwrap();
        }),
        ("disarm and cancel", |wheel, key| {
            let disarmed = wheel.disarm(key);
            assert_eq!(disarmed.is_ok(), wheel.cancel(key).is_cancelled());
        }),
    ];
    for (way, empty) in ways {
        let (wheel, dropped) = (Arc::new(SharedWheel::new()), Arc::default());
        let value = |other| Turning {
            wheel: Arc::downgrade(&wheel),
            left: 3,
            other,
            dropped: Arc::clone(&dropped),
        };
        let sibling = wheel.arm(at(2), value(None));
        let key = wheel.arm(at(1), value(Some(sibling)));
        for calls in 0.. {
            if wheel.is_empty() {
                break;
            }
            assert!(calls < 20, "{way}: no end, {wheel:?}");
            empty(&wheel, key);
            wheel.check();
            if way.contains("cancel") {
                wheel.clear(); // what their drops have armed
            }
        }
        // Two at first, and three one after the other out of each.
        assert_eq!(dropped.load(Ordering::Relaxed), 8, "{way}");
        wheel.arm(at(1), value(None));
        drop(wheel); // is gone when the value is dropped
        assert_eq!(dropped.load(Ordering::Relaxed), 9, "{way}");
    }
}

/// A token whose drop panics if it is told to.
struct Bomb<'l> {
    token: Token<'l>,
    armed: bool,
}

impl Drop for Bomb<'_> {
    fn drop(&mut self) {
        self.token.assert_whole();
        if self.armed && !thread::panicking() {
            std::panic::resume_unwind(Box::new("as planned"));
        }
    }
}

#[test]
fn a_value_whose_drop_panics_does_the_wheel_no_harm() {
    type Empty = fn(&mut SharedWheel<Bomb<'_>, 2>);
    let ways: [(&str, Empty); 5] = [
        ("clear", |wheel| wheel.clear()),
        ("drain", |wheel| drop(wheel.drain())),
        ("take a few", |wheel| wheel.drain().take(30).for_each(drop)),
        ("drop", |wheel| {
            *wheel = SharedWheel::<_, 2>::builder().build();
        }),
        ("fire", |wheel| {
            wheel.advance(at(2_000), |_, _| {}).unwrap();
        }),
    ];
    for (way, empty) in ways {
        let ledger = Ledger::new(41);
        let bomb = |armed| Bomb {
            token: ledger.token(),
            armed,
        };
        let mut wheel = SharedWheel::<Bomb<'_>, 2>::builder().build();
        let mut keys: Vec<_> = (0..40u64)
            .map(|id| wheel.arm(at(id * id), bomb(id == 4)))
            .collect();
        drop(wheel.cancel(keys.remove(30)));
        let panicked = catch_unwind(AssertUnwindSafe(|| empty(&mut wheel)));
        assert!(panicked.is_err(), "{way}");
        wheel.check();
        if way == "fire" {
            let (left, gone) = (wheel.len(), ledger.dropped());
            assert_eq!(left + gone, ledger.made(), "left, and gone");
            assert!(left > 30, "the rest fires in the next call: {left}");
            assert_eq!(wheel.advance(at(2_000), |_, _| {}), Ok(left), "{way}");
        }
        assert_eq!((wheel.len(), wheel.next_deadline()), (0, None), "{way}");
        assert!(keys.iter().all(|key| !wheel.contains(*key)), "{way}");
        let key = wheel.arm(at(3_000), bomb(false));
        assert_eq!(wheel.advance(at(3_000), |_, _| {}), Ok(1), "{way}");
        assert!(!wheel.contains(key), "{way}");
        drop(wheel);
        ledger.assert_each_dropped_once();
    }
}

#[test]
fn a_value_whose_drop_panics_after_a_cancel_goes_alone() {
    let ledger = Ledger::new(3);
    let bomb = |armed| Bomb {
        token: ledger.token(),
        armed,
    };
    let wheel = SharedWheel::<Bomb<'_>>::new();
    let bombs = [true, true, false].map(|armed| wheel.arm(at(9), bomb(armed)));
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(wheel.cancel(bombs[0]))));
    assert!(panicked.is_err());
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(wheel.local().cancel(bombs[1]))));
    assert!(panicked.is_err());
    wheel.check();
    assert_eq!((wheel.len(), ledger.dropped()), (1, 2));
    assert_eq!(wheel.advance(at(9), |_, _| {}), Ok(1));
    ledger.assert_each_dropped_once();
}

#[test]
fn values_that_may_be_sent_but_not_shared_are_fine() {
    type Work = Box<dyn FnOnce() -> u32 + Send>;
    let (wheel, works) = (SharedWheel::<Cell<u32>>::new(), SharedWheel::<Work>::new());
    crew::scope(|scope| {
        for id in 0..3 {
            let (wheel, works) = (&wheel, &works);
            scope.spawn(move || {
                let key = wheel.arm(at(1), Cell::new(id));
                works.local().arm(at(1), Box::new(move || id * 10));
                if id == 1 {
                    let cell = wheel.cancel(key).value().unwrap();
                    cell.set(cell.get() + 100);
                    wheel.arm(at(2), cell);
                }
            });
        }
    });
    let (mut cells, mut done) = (Vec::new(), Vec::new());
    let fired = wheel.advance(at(2), |_, expired| cells.push(expired.value.get()));
    let ran = works.advance(at(2), |_, expired| done.push((expired.value)()));
    cells.sort_unstable();
    done.sort_unstable();
    assert_eq!((fired, cells), (Ok(3), vec![0, 2, 101]));
    assert_eq!((ran, done), (Ok(3), vec![0, 10, 20]));
}

#[test]
fn values_of_no_size_and_of_large_alignment_are_values_like_others() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(256))]
    struct Aligned(u8);

    fn run<T: Copy + std::fmt::Debug + PartialEq + Send, const BITS: u32>(value: T) {
        let wheel = SharedWheel::<T, BITS>::builder().build();
        let mut local = wheel.local();
        let keys: Vec<_> = (1..=100u64)
            .map(|nth| match nth % 2 {
                0 => wheel.arm(at(nth * 50), value),
                _ => local.arm(at(nth * 50), value),
            })
            .collect();
        assert_eq!(wheel.cancel(keys[7]).value(), Some(value));
        let mut fired = 0;
        let advanced = wheel.advance(at(4_000), |_, expired| {
            assert!(std::ptr::from_ref(&expired.value).is_aligned());
            assert_eq!(expired.value, value);
            fired += 1;
        });
        assert_eq!(advanced, Ok(fired));
        let left: Vec<(_, Tick, _)> = wheel.drain().collect();
        assert_eq!(fired + left.len(), 99, "fired {fired}");
        assert!(left.iter().all(|(.., held)| *held == value), "{left:?}");
        wheel.check();
    }
    run::<(), 8>(());
    run::<(), 2>(());
    run::<[u64; 0], 8>([]);
    run::<Aligned, 8>(Aligned(7));
    run::<[u64; 40], 2>([9; 40]);
}
