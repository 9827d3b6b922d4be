//! The runtime over the wheel: its end, its driver's sleep, callbacks that run elsewhere.
//!
//! Properties:
//! * an arm that meets a shutdown is refused, or its timer has an outcome;
//! * a driver that goes to sleep is woken by an earlier timer, and by the end;
//! * whoever waits for the end sees that everything has ended;
//! * a callback that was handed to another thread is cancelled, waited for, and armed again as
//!   one that the driver runs.
//!
//! Panics are caught and counted by the runtime, those of loom as well: so each model asks for
//! the count.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loom::thread;
use tickwheel::{Cancel, ManualClock, Missed, Run, Shutdown, TimerKey, Timers};

use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    (
        "GateUnlooked",
        "runtime::an_arm_that_meets_the_end_has_an_outcome",
    ),
    (
        "SealSkipped",
        "runtime::an_arm_that_meets_the_end_has_an_outcome",
    ),
    (
        "RestHurried",
        "runtime::an_arm_that_meets_the_end_has_an_outcome",
    ),
    (
        "CountRelaxed",
        "runtime::an_arm_that_meets_the_end_has_an_outcome",
    ),
    (
        "UnparkUnlocked",
        "runtime::a_driver_that_goes_to_sleep_is_woken_by_a_timer",
    ),
    (
        "AnnounceLate",
        "runtime::a_driver_that_goes_to_sleep_is_woken_by_a_timer",
    ),
    (
        "EndUntold",
        "runtime::a_driver_that_goes_to_sleep_is_woken_by_the_end",
    ),
    (
        "EndUnparted",
        "runtime::a_driver_fires_what_is_due_at_the_end",
    ),
    (
        "LookUnseen",
        "runtime::who_asks_how_long_to_sleep_is_not_in_the_way_of_the_end",
    ),
    ("PhaseUntold", "runtime::who_waits_sees_the_end"),
    ("PhaseUnlocked", "runtime::who_waits_sees_the_end"),
    (
        "ReturnUntold",
        "runtime::who_waits_for_a_callback_elsewhere_sees_it_return",
    ),
    (
        "RunsOn",
        "runtime::a_callback_elsewhere_is_armed_again_when_it_is_over",
    ),
    (
        "RearmRevoked",
        "runtime::a_callback_elsewhere_that_was_cancelled_does_not_come_back",
    ),
];

const MS: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(1 << 20);

fn timers(clock: &ManualClock) -> Timers {
    let builder = Timers::builder().shards(1).clock(clock.clone());
    builder.build_hand_driven().unwrap()
}

/// Killed by: `GateUnlooked`, `SealSkipped`, `RestHurried`, `CountRelaxed`.
#[test]
fn an_arm_that_meets_the_end_has_an_outcome() {
    model(
        "an_arm_that_meets_the_end",
        Bound::Preemptions(3),
        11000,
        || {
            let timers = timers(&ManualClock::new());
            let other = timers.clone();
            let arms = thread::spawn(move || other.arm(LONG, |_| {}).is_ok());
            let handed_back = timers.shutdown(Shutdown::HandBack).len();
            let accepted = arms.join().unwrap();
            assert_eq!(
                usize::from(accepted),
                handed_back,
                "accepted, and handed back"
            );
            assert!(timers.is_empty());
            assert_eq!(timers.stats().panics, 0);
            timers.check();
        },
    );
}

/// Killed by: `UnparkUnlocked`, `AnnounceLate`.
#[test]
fn a_driver_that_goes_to_sleep_is_woken_by_a_timer() {
    model(
        "a_driver_that_goes_to_sleep",
        Bound::Preemptions(3),
        18000,
        || {
            let clock = ManualClock::new();
            let timers = Timers::builder().shards(1).clock(clock).build_modelled();
            let driver = timers.clone();
            let drives = thread::spawn(move || driver.drive_here());
            // If nobody wakes the driver for this it never ends.
            timers
                .arm(Duration::ZERO, |firing| {
                    firing.timers().shutdown(Shutdown::Drop);
                })
                .unwrap();
            drives.join().unwrap();
            assert_eq!((timers.stats().fired, timers.stats().panics), (1, 0));
        },
    );
}

/// Killed by: `EndUntold`.
#[test]
fn a_driver_that_goes_to_sleep_is_woken_by_the_end() {
    model("the_end_wakes", Bound::Preemptions(4), 6900, || {
        let clock = ManualClock::new();
        let timers = Timers::builder().shards(1).clock(clock).build_modelled();
        let driver = timers.clone();
        let drives = thread::spawn(move || driver.drive_here());
        timers.shutdown(Shutdown::Drop);
        drives.join().unwrap();
        assert_eq!(timers.stats().panics, 0);
    });
}

/// Killed by: `PhaseUntold`, `PhaseUnlocked`.
#[test]
fn who_waits_sees_the_end() {
    model(
        "who_waits_sees_the_end",
        Bound::Preemptions(4),
        1800,
        || {
            let clock = ManualClock::new();
            let timers = timers(&clock);
            let ran = Arc::new(AtomicUsize::new(0));
            let runs = Arc::clone(&ran);
            timers
                .arm(Duration::ZERO, move |firing| {
                    firing.timers().shutdown(Shutdown::Drop);
                    runs.store(1, Relaxed);
                })
                .unwrap();
            let other = timers.clone();
            let drives = thread::spawn(move || other.turn().is_ok());
            if timers.wait(LONG).is_ok() {
                assert_eq!(ran.load(Relaxed), 1, "the callback was waited for");
            }
            assert!(drives.join().unwrap());
            assert_eq!(timers.wait(LONG), Ok(()));
            assert_eq!(timers.stats().panics, 0);
        },
    );
}

/// What is due fires, whether the driver finds it by itself, at the end, or is told of the end
/// before everything is ready for it.
///
/// Killed by: `EndUnparted`.
#[test]
fn a_driver_fires_what_is_due_at_the_end() {
    model(
        "a_driver_fires_what_is_due",
        Bound::Preemptions(3),
        2050,
        || {
            let clock = ManualClock::new();
            let timers = Timers::builder().shards(1).clock(clock).build_modelled();
            timers.arm(Duration::ZERO, |_| {}).unwrap();
            timers.arm(LONG, |_| {}).unwrap();
            let driver = timers.clone();
            let drives = thread::spawn(move || driver.drive_here());
            timers.shutdown(Shutdown::FireDue);
            drives.join().unwrap();
            assert_eq!(timers.wait(Duration::ZERO), Ok(()));
            let stats = timers.stats();
            assert_eq!((stats.fired, stats.returned, stats.panics), (1, 1, 0));
            timers.check();
        },
    );
}

/// Killed by: `LookUnseen`.
#[test]
fn who_asks_how_long_to_sleep_is_not_in_the_way_of_the_end() {
    model(
        "who_asks_how_long_to_sleep",
        Bound::Preemptions(3),
        6400,
        || {
            let timers = timers(&ManualClock::new());
            timers.arm(Duration::ZERO, |_| {}).unwrap();
            let other = timers.clone();
            let asks = thread::spawn(move || other.next_timeout());
            timers.shutdown(Shutdown::FireDue);
            let _ = asks.join().unwrap();
            assert_eq!(timers.wait(Duration::ZERO), Ok(()));
            assert_eq!((timers.stats().fired, timers.stats().panics), (1, 0));
            timers.check();
        },
    );
}

/// A runtime whose one timer, periodic or not, is on its way through an executor.
struct Elsewhere {
    clock: ManualClock,
    timers: Timers,
    key: TimerKey,
    ran: Arc<AtomicUsize>,
    run: Run,
}

fn elsewhere(every: bool) -> Elsewhere {
    let clock = ManualClock::new();
    // Not modelled: it only hands the callback from one line to the next.
    let queue = Arc::new(Mutex::new(None));
    let put = Arc::clone(&queue);
    let timers = Timers::builder()
        .shards(1)
        .clock(clock.clone())
        .executor(move |run| *put.lock().unwrap() = Some(run))
        .build_hand_driven()
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let runs = Arc::clone(&ran);
    let key = if every {
        timers.every(MS, Missed::Skip, move |_| {
            runs.store(runs.load(Relaxed) + 1, Relaxed);
        })
    } else {
        timers.arm(MS, move |_| runs.store(runs.load(Relaxed) + 1, Relaxed))
    };
    clock.advance(MS);
    assert_eq!(timers.turn().unwrap().fired, 1);
    let run = queue.lock().unwrap().take().unwrap();
    Elsewhere {
        clock,
        timers,
        key: key.unwrap(),
        ran,
        run,
    }
}

/// Killed by: `ReturnUntold`.
#[test]
fn who_waits_for_a_callback_elsewhere_sees_it_return() {
    model(
        "a_callback_elsewhere_returns",
        Bound::Preemptions(5),
        2150,
        || {
            let Elsewhere {
                timers,
                key,
                ran,
                run,
                ..
            } = elsewhere(false);
            let runs = thread::spawn(move || run.run());
            assert_eq!(timers.cancel_wait(key), Cancel::Stale);
            assert_eq!(ran.load(Relaxed), 1, "it has returned");
            runs.join().unwrap();
            timers.check();
            assert_eq!(timers.stats().panics, 0);
        },
    );
}

/// The driver meets the timer again as soon as it is armed: not before the callback is over.
///
/// Killed by: `RunsOn`.
#[test]
fn a_callback_elsewhere_is_armed_again_when_it_is_over() {
    model(
        "a_callback_elsewhere_again",
        Bound::Preemptions(5),
        11900,
        || {
            let Elsewhere {
                clock,
                timers,
                key,
                ran,
                run,
            } = elsewhere(true);
            let runs = thread::spawn(move || run.run());
            clock.advance(MS);
            let fired = timers.turn().unwrap().fired; // dropped by the queue below, if it came
            runs.join().unwrap();
            assert_eq!(ran.load(Relaxed), 1);
            if fired == 0 {
                assert_eq!(timers.cancel(key), Cancel::Cancelled(()));
            }
            assert!(fired == 1 || timers.is_empty());
            assert_eq!(timers.stats().panics, 0);
            if fired == 0 {
                timers.check();
            }
        },
    );
}

/// Killed by: `RearmRevoked`.
#[test]
fn a_callback_elsewhere_that_was_cancelled_does_not_come_back() {
    model("a_callback_elsewhere_cancelled", Bound::None, 800, || {
        let Elsewhere {
            timers,
            key,
            ran,
            run,
            ..
        } = elsewhere(true);
        let runs = thread::spawn(move || run.run());
        let cancelled = timers.cancel(key);
        runs.join().unwrap();
        assert_ne!(cancelled, Cancel::Stale, "it runs, or is armed again");
        assert!(timers.is_empty(), "cancelled: {cancelled:?}");
        assert_eq!(ran.load(Relaxed), 1);
        timers.check();
        assert_eq!(timers.stats().panics, 0);
    });
}
