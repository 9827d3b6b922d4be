//! Who waits for a callback to return.
//!
//! Properties:
//! * `cancel_wait` returns only after the callback has, with everything it did, whether it
//!   got the value, or another did;
//! * it does return: each of several who wait is told, and one who cancels without waiting
//!   hides none of them;
//! * it does not wait for the callback of the next timer in that entry;
//! * called from the callback itself it waits for nobody.
//!
//! If somebody is not told, loom finds that no thread can run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use loom::sync::Arc;
use loom::thread::JoinHandle;
use tickwheel::modelled::AtomicBool;
use tickwheel::{Cancel, Tick, TimerKey};

use crate::bed::Bed;
use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("ReturnUntold", "wait::who_waits_sees_the_callback_return"),
    ("TellUnlocked", "wait::who_waits_sees_the_callback_return"),
    (
        "ReturnToldOnce",
        "wait::two_who_wait_see_the_callback_return",
    ),
    ("CancelledUnwaited", "wait::who_gets_the_value_waits_too"),
    (
        "TakingUnwaited",
        "wait::who_waits_lets_the_other_take_the_value",
    ),
    ("AwaitedForgotten", "wait::who_does_not_wait_hides_nobody"),
    (
        "GenerationUnchecked",
        "wait::nobody_waits_for_the_next_timer",
    ),
    ("GenerationRelaxed", "wait::nobody_waits_for_the_next_timer"),
    (
        "GenerationRelaxed",
        "wait::who_comes_late_sees_that_the_callback_returned",
    ),
    (
        "WaitsForItself",
        "wait::a_callback_does_not_wait_for_itself",
    ),
    ("ReturnUntold", "wait::who_waits_sees_the_callback_panic"),
];

/// A wheel with a timer whose callback runs, and what others can know of that.
#[derive(Clone)]
struct Scene {
    bed: Bed,
    key: TimerKey,
    /// Set when the callback has nothing left to do.
    returning: Arc<AtomicBool>,
}

/// What `cancel_wait` said, and whether the callback was seen to have nothing left to do.
type Waited = (Cancel<u32>, bool);

// === impl Scene ===

impl Scene {
    /// A timer for tick 10 with value 0, of which the driver knows.
    fn new() -> Self {
        let bed = Bed::new();
        let key = bed.wheel.arm(Tick::new(10), 0);
        bed.file();
        Self {
            bed,
            key,
            returning: Arc::new(AtomicBool::new(false)),
        }
    }

    fn spawn<R: 'static>(&self, run: impl FnOnce(Self) -> R + 'static) -> JoinHandle<R> {
        let scene = self.clone();
        loom::thread::spawn(move || run(scene))
    }

    /// Starts a thread that cancels, and waits while the callback runs.
    fn spawn_waiter(&self) -> JoinHandle<Waited> {
        self.spawn(|scene| {
            let cancel = scene.bed.wheel.cancel_wait(scene.key);
            (cancel, scene.returning.load(Relaxed))
        })
    }
}

/// One waits for a callback that returns.
///
/// Killed by: `ReturnUntold`, `TellUnlocked`.
#[test]
fn who_waits_sees_the_callback_return() {
    model("who_waits", Bound::None, 6_400, || {
        let scene = Scene::new();
        let mut waiter = None;
        let driven = scene.bed.wheel.advance(Tick::new(10), |_, _| {
            waiter = Some(scene.spawn_waiter());
            scene.returning.store(true, Relaxed);
        });
        assert_eq!(driven, Ok(1), "timers fired by tick 10");
        let waited = waiter.map(|waiter| waiter.join().unwrap());
        assert_eq!(waited, Some((Cancel::Stale, true)));
        scene.bed.assert_fired(&[]);
        scene.bed.assert_all_free();
    });
}

/// One waits, and comes so late that the entry has got the next timer.
///
/// Killed by: `GenerationRelaxed`, `ReturnUntold`.
#[test]
fn who_comes_late_sees_that_the_callback_returned() {
    model("who_comes_late", Bound::Preemptions(3), 2_900, || {
        let scene = Scene::new();
        let mut waiter = None;
        let driven = scene.bed.wheel.advance(Tick::new(10), |_, _| {
            waiter = Some(scene.spawn_waiter());
            scene.returning.store(true, Relaxed);
        });
        assert_eq!(driven, Ok(1), "timers fired by tick 10");
        scene.bed.arm(20);
        let waited = waiter.map(|waiter| waiter.join().unwrap());
        assert_eq!(waited, Some((Cancel::Stale, true)));
        scene.bed.assert_fired(&[(20, 20)]);
        scene.bed.assert_all_free();
    });
}

/// One waits for a callback that panics.
///
/// Killed by: `ReturnUntold`, `TellUnlocked`.
#[test]
fn who_waits_sees_the_callback_panic() {
    model("who_waits_for_a_panic", Bound::None, 6_400, || {
        let scene = Scene::new();
        let mut waiter = None;
        let driven = catch_unwind(AssertUnwindSafe(|| {
            scene.bed.wheel.advance(Tick::new(10), |_, _| {
                waiter = Some(scene.spawn_waiter());
                scene.returning.store(true, Relaxed);
                resume_unwind(Box::new("the callback panics")); // and prints nothing
            })
        }));
        assert!(driven.is_err(), "the panic was kept: {driven:?}");
        let waited = waiter.map(|waiter| waiter.join().unwrap());
        assert_eq!(waited, Some((Cancel::Stale, true)));
        scene.bed.assert_fired(&[]);
        scene.bed.assert_all_free();
    });
}

/// Two wait for the same callback.
///
/// Killed by: `ReturnToldOnce`, `ReturnUntold`.
#[test]
fn two_who_wait_see_the_callback_return() {
    model("two_who_wait", Bound::Preemptions(2), 4_400, || {
        let scene = Scene::new();
        let mut waiters = Vec::new();
        let driven = scene.bed.wheel.advance(Tick::new(10), |_, _| {
            waiters.extend((0..2).map(|_| scene.spawn_waiter()));
            scene.returning.store(true, Relaxed);
        });
        assert_eq!(driven, Ok(1), "timers fired by tick 10");
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), (Cancel::Stale, true));
        }
        scene.bed.assert_fired(&[]);
        scene.bed.assert_all_free();
    });
}

/// The callback arms its timer again. One who takes it from there waits like one who came
/// before.
///
/// Killed by: `CancelledUnwaited`.
#[test]
fn who_gets_the_value_waits_too() {
    model("who_gets_the_value", Bound::Preemptions(3), 8_400, || {
        let scene = Scene::new();
        let (mut waiter, mut armed) = (None, None);
        let driven = scene.bed.wheel.advance(Tick::new(10), |turn, expired| {
            waiter = Some(scene.spawn_waiter());
            armed = Some(turn.rearm_expired(expired, Tick::new(20)).is_ok());
            scene.returning.store(true, Relaxed);
        });
        assert_eq!(driven, Ok(1), "timers fired by tick 10");
        let waited = waiter.map(|waiter| waiter.join().unwrap());
        let expected = match armed {
            Some(true) => Cancel::Cancelled(0),
            Some(false) | None => Cancel::Stale,
        };
        assert_eq!(waited, Some((expected, true)), "armed again: {armed:?}");
        scene.bed.assert_fired(&[]);
        scene.bed.assert_all_free();
    });
}

/// One waits and one cancels without waiting. The callback has armed its timer again if `again`
/// says so; then one of them takes that, in the midst of which the other comes.
fn one_waits_and_one_does_not(again: bool) {
    let scene = Scene::new();
    let mut threads = None;
    let driven = scene.bed.wheel.advance(Tick::new(10), |turn, expired| {
        if again {
            let armed = turn.rearm_expired(expired, Tick::new(20));
            assert!(armed.is_ok(), "nobody cancels yet");
        }
        let waiter = scene.spawn_waiter();
        let canceller = scene.spawn(|scene| scene.bed.wheel.cancel(scene.key));
        threads = Some((waiter, canceller));
        scene.returning.store(true, Relaxed);
    });
    assert_eq!(driven, Ok(1), "timers fired by tick 10");
    let Some((waiter, canceller)) = threads else {
        panic!("the callback did not run");
    };
    let ((waited, returned), cancel) = (waiter.join().unwrap(), canceller.join().unwrap());
    assert!(returned, "{waited:?}, before the callback returned");
    let taken: Vec<_> = [waited, cancel]
        .map(Cancel::value)
        .into_iter()
        .flatten()
        .collect();
    let armed: &[u32] = if again { &[0] } else { &[] };
    assert_eq!(taken, armed, "values taken by {waited:?} and {cancel:?}");
    scene.bed.assert_fired(&[]);
    scene.bed.assert_all_free();
}

/// Who does not wait comes before or after who does.
///
/// Killed by: `AwaitedForgotten`.
#[test]
fn who_does_not_wait_hides_nobody() {
    let bound = Bound::Preemptions(2);
    model("who_does_not_wait", bound, 3_600, || {
        one_waits_and_one_does_not(false);
    });
}

/// Who waits comes while the other takes the value of the timer that was armed again.
///
/// Killed by: `TakingUnwaited`.
#[test]
fn who_waits_lets_the_other_take_the_value() {
    let bound = Bound::Preemptions(2);
    model("who_waits_lets_the_other", bound, 19_000, || {
        one_waits_and_one_does_not(true);
    });
}

/// Who has cancelled a timer and waits for its callback is held up while that returns and the
/// entry gets the next timer, whose callback waits for this thread in turn.
///
/// Killed by: `GenerationUnchecked`, `GenerationRelaxed`.
#[test]
fn nobody_waits_for_the_next_timer() {
    model(
        "nobody_waits_for_the_next",
        Bound::Preemptions(2),
        6_800,
        || {
            let scene = Scene::new();
            let mut waiter = None;
            let driven = scene.bed.wheel.advance(Tick::new(10), |turn, expired| {
                let armed = turn.rearm_expired(expired, Tick::new(50));
                assert!(armed.is_ok(), "nobody cancels yet");
                waiter = Some(scene.spawn_waiter());
                scene.returning.store(true, Relaxed);
            });
            assert_eq!(driven, Ok(1), "timers fired by tick 10");
            scene.bed.arm(20);
            let mut waited = None;
            let driven = scene.bed.wheel.advance(Tick::new(20), |_, _| {
                waited = waiter.take().map(|waiter| waiter.join().unwrap());
            });
            assert_eq!(driven, Ok(1), "timers fired by tick 20");
            assert_eq!(waited, Some((Cancel::Cancelled(0), true)));
            scene.bed.assert_fired(&[]);
            scene.bed.assert_all_free();
        },
    );
}

/// A callback cancels its own timer, and would wait; so does another thread.
///
/// Killed by: `WaitsForItself`, `ReturnUntold`.
#[test]
fn a_callback_does_not_wait_for_itself() {
    model(
        "a_callback_does_not_wait",
        Bound::Preemptions(3),
        3_400,
        || {
            let scene = Scene::new();
            let mut waiter = None;
            let driven = scene.bed.wheel.advance(Tick::new(10), |turn, expired| {
                waiter = Some(scene.spawn_waiter());
                let own = turn.wheel().cancel_wait(expired.key);
                assert_eq!(own, Cancel::Running, "from the callback itself");
                let armed = turn.rearm_expired(expired, Tick::new(20));
                assert!(armed.is_err(), "cancelled, and armed again: {armed:?}");
                scene.returning.store(true, Relaxed);
            });
            assert_eq!(driven, Ok(1), "timers fired by tick 10");
            let waited = waiter.map(|waiter| waiter.join().unwrap());
            assert_eq!(waited, Some((Cancel::Stale, true)));
            scene.bed.assert_fired(&[]);
            scene.bed.assert_all_free();
        },
    );
}
