//! All timers at once: clearing and draining while others are at work, and dropping the wheel.
//!
//! Properties:
//! * each value is dropped once, by whoever has it in the end: the callback, who clears, who
//!   cancels, or the wheel when the last thread lets go of it;
//! * what was armed before a clear is gone after it, or has fired;
//! * what is drained comes with its own key and its own deadline;
//! * a timer whose callback runs is left to that, unless it has been armed again.

use std::sync::Arc as Plain;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use tickwheel::{SharedWheel, Tick, TimerKey};

use crate::bed::Bed;
use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("ArmRelaxed", "bulk::a_clear_sees_what_it_drops"),
    (
        "FreeWhileTaking",
        "bulk::a_clear_meets_a_callback_that_arms_again",
    ),
    (
        "FreeWhileRunning",
        "bulk::a_clear_meets_a_callback_that_arms_again",
    ),
    ("CancelBlind", "bulk::what_is_drained_has_its_own_deadline"),
    ("DropLeaks", "bulk::the_last_to_let_go_drops_the_values"),
    (
        "CancelBlind",
        "bulk::a_clear_and_an_advance_share_the_timers",
    ),
];

/// How often each value was dropped.
type Drops = Plain<[AtomicUsize; 3]>;

/// A value that tells when it is dropped.
struct Value {
    id: usize,
    drops: Drops,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.drops[self.id].fetch_add(1, Relaxed); // a count, read when all is done
    }
}

/// A wheel of such values, and what became of them.
#[derive(Clone)]
struct Shelf {
    wheel: Arc<SharedWheel<Value, 2>>,
    drops: Drops,
}

// === impl Shelf ===

impl Shelf {
    fn new() -> Self {
        Self {
            wheel: Arc::new(SharedWheel::builder().shards(1).build()),
            drops: Drops::default(),
        }
    }

    fn arm(&self, due: u64, id: usize) -> TimerKey {
        let drops = Plain::clone(&self.drops);
        self.wheel.arm(Tick::new(due), Value { id, drops })
    }

    /// Runs `run` in a thread of its own, which lets go of the wheel in the end.
    fn spawn(&self, run: impl FnOnce(&Self) + 'static) -> JoinHandle<()> {
        let shelf = self.clone();
        thread::spawn(move || run(&shelf))
    }

    /// Fires up to `now`, and says which values.
    fn advance(&self, now: u64) -> Vec<usize> {
        let mut fired = Vec::new();
        let driven = self.wheel.advance(Tick::new(now), |_, expired| {
            fired.push(expired.value.id);
        });
        assert_eq!(driven, Ok(fired.len()), "timers fired by tick {now}");
        fired
    }

    fn drops(&self) -> [usize; 3] {
        [0, 1, 2].map(|id| self.drops[id].load(Relaxed))
    }
}

/// One clears while another fires what is due.
///
/// Killed by: `CancelBlind`, `FireBlind`.
#[test]
fn a_clear_and_an_advance_share_the_timers() {
    model(
        "a_clear_and_an_advance",
        Bound::Preemptions(3),
        20_000,
        || {
            let shelf = Shelf::new();
            shelf.arm(10, 0);
            shelf.arm(20, 1);
            assert_eq!(shelf.advance(1), [], "before anything is due");
            let clearer = shelf.spawn(|shelf| shelf.wheel.clear());
            let fired = shelf.advance(10);
            clearer.join().unwrap();
            assert!(fired.is_empty() || fired == [0], "{fired:?} by tick 10");
            assert!(shelf.wheel.is_empty(), "{} timers armed", shelf.wheel.len());
            assert_eq!(shelf.drops(), [1, 1, 0], "drops, of which {fired:?} fired");
            shelf.wheel.check();
            assert_eq!(shelf.advance(100), [], "after everything was cleared");
        },
    );
}

/// One clears while another arms, which the clear may find or not.
///
/// Killed by: `ArmRelaxed`.
#[test]
fn a_clear_sees_what_it_drops() {
    model("a_clear_sees", Bound::None, 1_600, || {
        let shelf = Shelf::new();
        let key = shelf.arm(10, 0);
        drop(shelf.wheel.cancel(key));
        let clearer = shelf.spawn(|shelf| shelf.wheel.clear());
        shelf.arm(20, 1);
        clearer.join().unwrap();
        let cleared = shelf.wheel.is_empty();
        assert_eq!(shelf.drops(), [1, usize::from(cleared), 0]);
        shelf.wheel.check();
        let fired = shelf.advance(100);
        assert_eq!(fired.is_empty(), cleared, "{fired:?} in the end");
        assert_eq!(shelf.drops(), [1, 1, 0]);
    });
}

/// One clears while a callback arms its timer again: what was armed again goes, or stays.
///
/// Killed by: `FreeWhileTaking`, `FreeWhileRunning`.
#[test]
fn a_clear_meets_a_callback_that_arms_again() {
    model(
        "a_clear_meets_a_callback",
        Bound::Preemptions(3),
        9_000,
        || {
            let shelf = Shelf::new();
            shelf.arm(10, 0);
            let (mut clearer, mut armed) = (None, false);
            let driven = shelf.wheel.advance(Tick::new(10), |turn, expired| {
                clearer = Some(shelf.spawn(|shelf| shelf.wheel.clear()));
                armed = turn.rearm_expired(expired, Tick::new(20)).is_ok();
            });
            assert_eq!(driven, Ok(1), "timers fired by tick 10");
            if let Some(clearer) = clearer {
                clearer.join().unwrap();
            }
            assert!(armed, "a clear leaves the callback its timer");
            let cleared = shelf.wheel.is_empty();
            assert_eq!(shelf.drops(), [usize::from(cleared), 0, 0]);
            shelf.wheel.check();
            let fired = shelf.advance(100);
            assert_eq!(fired.is_empty(), cleared, "{fired:?} in the end");
            shelf.arm(200, 1);
            shelf.arm(200, 2);
            shelf.wheel.check();
            shelf.wheel.clear();
            assert_eq!(shelf.drops(), [1, 1, 1]);
        },
    );
}

/// One drains while another moves a timer, and moves it again.
///
/// Killed by: `CancelBlind`.
#[test]
fn what_is_drained_has_its_own_deadline() {
    model("what_is_drained", Bound::Preemptions(3), 4_700, || {
        let bed = Bed::new();
        let key = bed.arm(10);
        let mover = bed.spawn(move |bed| {
            let moved = |deadline| bed.wheel.rearm(key, Tick::new(deadline)).is_ok();
            [moved(20), moved(30)]
                .iter()
                .filter(|moved| **moved)
                .count()
        });
        let drained: Vec<_> = bed.wheel.drain().collect();
        let moves = mover.join().unwrap();
        let deadline = [10, 20, 30][moves];
        assert_eq!(
            drained,
            [(key, Tick::new(deadline), 10)],
            "what was drained, moved {moves} times"
        );
        bed.assert_fired(&[]);
        bed.assert_all_free();
    });
}

/// One drives, another arms, and both let go of the wheel: who is the last drops what is left.
///
/// Killed by: `DropLeaks`.
#[test]
fn the_last_to_let_go_drops_the_values() {
    model("the_last_to_let_go", Bound::Preemptions(2), 3_300, || {
        let shelf = Shelf::new();
        shelf.arm(10, 0);
        shelf.arm(20, 1);
        let driver = shelf.spawn(|shelf| {
            let fired = shelf.advance(10);
            assert!(fired == [0] || fired == [2, 0], "{fired:?} by tick 10");
        });
        shelf.arm(5, 2);
        let drops = Plain::clone(&shelf.drops);
        drop(shelf);
        driver.join().unwrap();
        let dropped = [0, 1, 2].map(|id| drops[id].load(Relaxed));
        assert_eq!(dropped, [1, 1, 1], "drops when nobody has the wheel");
    });
}
