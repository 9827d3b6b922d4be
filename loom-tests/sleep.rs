//! The driver goes to sleep while others arm.
//!
//! Properties:
//! * whoever arms or re-arms a timer either finds its way into the answer of `prepare_park`
//!   or wakes the driver;
//! * so it is if the entry, its block or its group has been marked by another thread, whose
//!   timer wakes nobody;
//! * so it is with an entry that is still filed for a timer cancelled before;
//! * a driver that sleeps by that answer, and is woken by the hook, fires everything in time;
//! * nobody wakes a driver that is up in time anyway.

use std::sync::Arc as Plain;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use loom::sync::Arc;
use loom::thread;
use tickwheel::modelled::{Condvar, Mutex};
use tickwheel::{Park, SharedWheel, Tick, TimerKey};

use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("AnnounceByLoad", "sleep::an_arm_is_in_the_answer_or_wakes"),
    ("AnnounceLate", "sleep::an_arm_is_in_the_answer_or_wakes"),
    ("AnnounceByLoad", "sleep::a_sleeping_driver_is_woken"),
    ("WakeUnchecked", "sleep::a_mark_by_another_hides_no_arm"),
    ("RootFoundRelaxed", "sleep::a_mark_by_another_hides_no_arm"),
    (
        "LazyIgnoresDeadline",
        "sleep::an_arm_before_what_its_entry_is_filed_for_wakes",
    ),
    ("UnfileSilently", "sleep::an_arm_into_a_filed_entry_is_met"),
    ("WakeAlways", "sleep::a_later_arm_wakes_nobody"),
    (
        "AnnounceLate",
        "sleep::an_earlier_rearm_is_in_the_answer_or_wakes",
    ),
];

type Wheel = SharedWheel<u32, 2>;

/// A wheel, and how often it called for its driver.
struct Bed {
    wheel: Arc<Wheel>,
    wakes: Plain<AtomicUsize>,
}

// === impl Bed ===

impl Bed {
    fn new() -> Self {
        let wakes = Plain::new(AtomicUsize::new(0));
        let called = Plain::clone(&wakes);
        let wheel = Wheel::builder().shards(1).wake(move || {
            called.fetch_add(1, Relaxed); // a count, read when all is done
        });
        Self {
            wheel: Arc::new(wheel.build()),
            wakes,
        }
    }

    /// Runs `run` in a thread of its own.
    fn spawn(&self, run: impl FnOnce(&Wheel) + 'static) -> thread::JoinHandle<()> {
        let wheel = Arc::clone(&self.wheel);
        thread::spawn(move || run(&wheel))
    }

    /// Lets the driver know of all timers.
    #[track_caller]
    fn file(&self) {
        let next = self.wheel.next_deadline();
        assert!(
            next > Some(self.wheel.now()),
            "the driver waits for {next:?}"
        );
    }

    fn park(&self) -> Park {
        self.wheel.prepare_park().expect("nobody else drives")
    }

    fn wakes(&self) -> usize {
        self.wakes.load(Relaxed)
    }

    /// Requires that a driver that was given this answer is up in time for what is due at `due`.
    #[track_caller]
    fn assert_in_time(&self, park: Park, due: u64) {
        let wakes = self.wakes();
        assert!(
            wakes > 0 || until(park) <= due,
            "the driver was told {park:?} and woken {wakes} times, for a timer due at {due}"
        );
    }

    /// Requires that everything fires at its deadline: values are deadlines.
    #[track_caller]
    fn assert_fires(&self, timers: &[u32]) {
        self.wheel.check();
        let mut fired = Vec::new();
        let driven = self.wheel.advance(Tick::new(10_000), |turn, expired| {
            fired.push((turn.now().get(), expired.value));
        });
        let expected: Vec<_> = timers.iter().map(|&due| (u64::from(due), due)).collect();
        assert_eq!(
            (driven, &fired),
            (Ok(timers.len()), &expected),
            "what fired, as tick and value"
        );
        self.wheel.check();
    }
}

/// The tick until which a driver may sleep; now is 0.
fn until(park: Park) -> u64 {
    match park {
        Park::Now => 0,
        Park::Until(tick) => tick.get(),
        Park::Idle => u64::MAX,
    }
}

/// A timer whose value is its deadline.
fn arm(wheel: &Wheel, due: u32) -> TimerKey {
    wheel.arm(Tick::new(due.into()), due)
}

/// An arm races with a driver that goes to sleep.
///
/// Killed by: `AnnounceByLoad`, `AnnounceLate`.
#[test]
fn an_arm_is_in_the_answer_or_wakes() {
    model("an_arm_is_in_the_answer", Bound::None, 2_900, || {
        let bed = Bed::new();
        let armer = bed.spawn(|wheel| {
            arm(wheel, 10);
        });
        let park = bed.park();
        armer.join().unwrap();
        bed.assert_in_time(park, 10);
        bed.assert_fires(&[10]);
    });
}

/// A timer that the driver knows of is moved to an earlier deadline.
///
/// Killed by: `AnnounceLate`, `AnnounceByLoad`.
#[test]
fn an_earlier_rearm_is_in_the_answer_or_wakes() {
    model(
        "an_earlier_rearm_is_in_the_answer",
        Bound::None,
        2_900,
        || {
            let bed = Bed::new();
            let key = bed.wheel.arm(Tick::new(100), 10);
            bed.file();
            let armer = bed.spawn(move |wheel| {
                assert_eq!(wheel.rearm(key, Tick::new(10)), Ok(()), "it is armed");
            });
            let park = bed.park();
            armer.join().unwrap();
            bed.assert_in_time(park, 10);
            bed.assert_fires(&[10]);
        },
    );
}

/// Where the marks of the two timers meet.
#[derive(Clone, Copy)]
enum Meet {
    Entry,
    Block,
    Group,
}

/// Two threads bring back a timer each that was suspended. The driver need not wake for one
/// of them, and the other must not take that one's mark for a sign that it is awake.
fn mark_by_another(meet: Meet, filed: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let bed = Bed::new();
        arm(&bed.wheel, 100);
        // Entries 1 and 0 in a block, 3 and 2 in the next.
        let keys: Vec<_> = (0..3).map(|_| bed.wheel.arm(Tick::NEVER, 10)).collect();
        let other = match meet {
            Meet::Entry => keys[0],
            Meet::Block => keys[1],
            Meet::Group => keys[2],
        };
        let key = keys[if matches!(meet, Meet::Block) { 2 } else { 0 }];
        if filed {
            bed.file();
        }

        let armer = bed.spawn(move |wheel| {
            assert_eq!(wheel.rearm(key, Tick::new(10)), Ok(()), "it is suspended");
        });
        let later = bed.spawn(move |wheel| {
            let again = wheel.rearm(other, Tick::new(200));
            assert_eq!(again, Ok(()), "it is suspended, or armed for 10");
        });
        let park = bed.park();
        armer.join().unwrap();
        later.join().unwrap();

        let deadlines = [key, other].map(|key| bed.wheel.deadline(key).map(Tick::get));
        let earliest = deadlines.into_iter().flatten().min().unwrap();
        bed.assert_in_time(park, earliest);
        bed.wheel.check();
        let mut fired = Vec::new();
        let all = bed.wheel.advance(Tick::new(300), |turn, expired| {
            fired.push((turn.now(), expired.deadline));
        });
        let timers = if key == other { 2 } else { 3 };
        assert_eq!(all, Ok(timers), "{fired:?} of {deadlines:?} and 100");
        assert!(
            fired.iter().all(|(tick, deadline)| tick == deadline)
                && fired.iter().any(|(tick, _)| tick.get() == earliest),
            "{fired:?} of {deadlines:?} and 100"
        );
    }
}

/// The entry, its block or its group is marked already, by another thread.
///
/// Killed by: `WakeUnchecked`, `RootFoundRelaxed`.
#[test]
fn a_mark_by_another_hides_no_arm() {
    for (name, meet, filed) in [
        ("a_mark_of_the_entry", Meet::Entry, true),
        ("a_mark_in_the_block", Meet::Block, true),
        ("a_mark_in_the_group", Meet::Group, true),
        ("a_mark_under_a_marked_root", Meet::Block, false),
    ] {
        model(
            name,
            Bound::Preemptions(2),
            7_000,
            mark_by_another(meet, filed),
        );
    }
}

/// The entry that an arm gets is filed for the timer that had it before, which was later.
///
/// Killed by: `LazyIgnoresDeadline`, `AnnounceByLoad`.
#[test]
fn an_arm_before_what_its_entry_is_filed_for_wakes() {
    model("an_arm_before_its_filing", Bound::None, 2_900, || {
        let bed = Bed::new();
        let key = arm(&bed.wheel, 100);
        bed.file();
        assert_eq!(bed.wheel.cancel(key).value(), Some(100));
        let armer = bed.spawn(|wheel| {
            arm(wheel, 10);
        });
        let park = bed.park();
        armer.join().unwrap();
        bed.assert_in_time(park, 10);
        bed.assert_fires(&[10]);
    });
}

/// The same with a timer that is not earlier. It relies on the driver's coming by, who just
/// now does and then goes to sleep.
///
/// Killed by: `UnfileSilently`.
#[test]
fn an_arm_into_a_filed_entry_is_met() {
    model(
        "an_arm_into_a_filed_entry",
        Bound::Preemptions(4),
        8_500,
        || {
            let bed = Bed::new();
            let key = arm(&bed.wheel, 10);
            bed.file();
            assert_eq!(bed.wheel.cancel(key).value(), Some(10));
            let armer = bed.spawn(|wheel| {
                arm(wheel, 20);
            });
            let fired = bed.wheel.advance(Tick::new(10), |_, _| ());
            assert_eq!(fired, Ok(0), "timers fired early");
            let park = bed.park();
            armer.join().unwrap();
            bed.assert_in_time(park, 20);
            bed.assert_fires(&[20]);
        },
    );
}

/// A timer that is not due before what the driver waits for. Its entry is one that is filed
/// for a timer cancelled before, which is what the driver waits for; or one that has just
/// fired, and of which the driver has to learn.
///
/// Killed by: `WakeAlways`.
#[test]
fn a_later_arm_wakes_nobody() {
    model(
        "a_later_arm_wakes_nobody",
        Bound::Preemptions(4),
        5_700,
        || {
            let bed = Bed::new();
            arm(&bed.wheel, 10);
            let key = arm(&bed.wheel, 100);
            bed.file();
            assert_eq!(bed.wheel.cancel(key).value(), Some(100));
            let armer = bed.spawn(|wheel| {
                arm(wheel, 200);
            });
            let fired = bed.wheel.advance(Tick::new(10), |_, _| ());
            assert_eq!(fired, Ok(1), "timers fired by tick 10");
            let park = bed.park();
            armer.join().unwrap();
            assert_eq!(bed.wakes(), 0, "wakes of a driver that was told {park:?}");
            bed.assert_in_time(park, 200);
            bed.assert_fires(&[200]);
        },
    );
}

/// A driver does as `prepare_park` says, and sleeps until the hook or its tick wakes it. It is
/// tick 10 all the time. If a wake-up was lost, nobody is left to run.
///
/// Killed by: `AnnounceByLoad`, `AnnounceLate`.
#[test]
fn a_sleeping_driver_is_woken() {
    model(
        "a_sleeping_driver_is_woken",
        Bound::Preemptions(4),
        2_500,
        || {
            let permit = Arc::new((Mutex::new(false), Condvar::new()));
            let hook = Arc::clone(&permit);
            let wheel = Wheel::builder().shards(1).wake(move || {
                *hook.0.lock().unwrap() = true;
                hook.1.notify_one();
            });
            let wheel = Arc::new(wheel.build());
            let key = wheel.arm(Tick::NEVER, 10);
            let theirs = Arc::clone(&wheel);
            let armer = thread::spawn(move || {
                assert_eq!(theirs.rearm(key, Tick::new(10)), Ok(()), "it is suspended");
            });
            let now = Tick::new(10);
            while wheel.advance(now, |_, _| ()) == Ok(0) {
                match wheel.prepare_park().expect("nobody else drives") {
                    Park::Now => {}
                    Park::Until(tick) if tick <= now => {}
                    Park::Until(_) | Park::Idle => {
                        let mut woken = permit.0.lock().unwrap();
                        while !*woken {
                            woken = permit.1.wait(woken).unwrap();
                        }
                        *woken = false;
                    }
                }
            }
            armer.join().unwrap();
            wheel.check();
            assert!(wheel.is_empty(), "{} timers armed", wheel.len());
        },
    );
}
