//! The watchdog and `health`, on whole runtimes.
//!
//! Properties: each fault of a driver is named; what is merely asleep, paused or shut down is
//! not; an incident is reported once, and its end; the watchdog ends at once with the runtime and does
//! not keep it going; whoever looks makes nobody `Busy`. When an alarm comes is not asserted, only that
//! it does. (The judgement itself is tested, without threads, where it is made.)

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{
    Alarm, Clock, ManualClock, MonotonicClock, Resolution, Shutdown, Timers, Timestamp,
};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);
const BOUND: Duration = Duration::from_millis(20);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn by_hand() -> (Timers, ManualClock) {
    let clock = ManualClock::new();
    let timers = Timers::builder()
        .clock(clock.clone())
        .build_hand_driven()
        .unwrap();
    (timers, clock)
}

/// Asks for the health of `timers` until it is as `wanted`.
fn health_becomes(timers: &Timers, wanted: fn(&Alarm) -> bool) -> Alarm {
    let start = Instant::now();
    loop {
        let health = timers.health();
        if let Some(alarm) = health.filter(wanted) {
            return alarm;
        }
        assert!(start.elapsed() < LONG, "still {health:?}");
        thread::sleep(ms(2));
    }
}

// === health ===

#[test]
fn a_runtime_at_rest_is_well_and_one_beyond_its_bound_is_late() {
    let clock = ManualClock::new();
    // Longer than the clock will stand in this test.
    let timers = Timers::builder()
        .clock(clock.clone())
        .health_bound(LONG)
        .build_hand_driven()
        .unwrap();
    assert_eq!(timers.health(), None);
    timers.arm(ms(5), |_| {}).unwrap();
    for asks in [false, true] {
        if asks {
            assert_eq!(timers.next_timeout(), Some(ms(5)));
        }
        assert_eq!(timers.health(), None);
    }
    clock.advance(ms(5) + LONG);
    assert_eq!(timers.health(), None);
    clock.advance(ms(1));
    let late = timers.health();
    assert!(
        matches!(late, Some(Alarm::Late { overdue, .. }) if overdue == LONG + ms(1)),
        "{late:?}"
    );
    assert_eq!(timers.turn_fully().unwrap().fired, 1);
    assert_eq!(timers.health(), None);
}

#[test]
fn what_nobody_drives_is_found_by_looking_again() {
    let (timers, clock) = by_hand();
    timers.arm(ms(5), |_| {}).unwrap();
    let stopped = |alarm: &Alarm| matches!(alarm, Alarm::Stopped { .. });
    // A clock that stands is the cause, if there is one. So it moves.
    let alarm = thread::scope(|scope| {
        let (done, ends) = mpsc::channel::<()>();
        scope.spawn(move || {
            while ends.try_recv() == Err(mpsc::TryRecvError::Empty) {
                clock.advance(ms(1));
                thread::sleep(ms(1));
            }
        });
        let alarm = health_becomes(&timers, stopped);
        drop(done);
        alarm
    });
    assert!(alarm.to_string().starts_with("nobody drives"), "{alarm}");
    assert_eq!(timers.turn_fully().unwrap().fired, 1);
    assert_eq!(timers.health(), None);
}

#[test]
fn a_timer_that_was_armed_after_the_driver_looked_is_known_of() {
    let (timers, clock) = by_hand();
    timers.arm(Duration::MAX, |_| {}).unwrap();
    assert_eq!(timers.next_timeout(), None);
    assert_eq!(timers.overdue(), Duration::ZERO);

    let key = timers.arm(ms(5), |_| {}).unwrap();
    clock.advance(ms(1000));
    assert_eq!(timers.overdue(), ms(995));
    timers.rearm(key, ms(20)).unwrap();
    assert_eq!(timers.turn().unwrap().fired, 0);
    assert_eq!(timers.next_timeout(), Some(ms(20)));
    clock.advance(ms(120));
    assert_eq!(timers.overdue(), ms(100));
    assert_eq!(timers.turn().unwrap().fired, 1);
    assert_eq!(timers.overdue(), Duration::ZERO);
}

#[test]
fn a_callback_that_takes_too_long_is_seen_while_it_runs() {
    let (timers, clock) = by_hand();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, hand) = (Arc::clone(&seen), clock.clone());
    timers
        .arm(ms(1), move |firing| {
            let timers = firing.timers();
            log.lock().unwrap().push(timers.health());
            hand.advance(ms(13));
            log.lock().unwrap().push(timers.health());
        })
        .unwrap();
    timers.advance_to_next(&clock);
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], None);
    assert!(
        matches!(
            seen[1],
            Some(Alarm::Stalled { turning, since, .. })
                if turning == ms(13) && since == Timestamp::from_duration(ms(1))
        ),
        "{seen:?}"
    );
    assert_eq!(timers.health(), None);
}

#[test]
fn what_is_paused_or_shut_down_is_not_late() {
    let (timers, clock) = by_hand();
    timers.arm(ms(1), |_| {}).unwrap();
    timers.pause();
    clock.advance(Duration::from_secs(10));
    assert_eq!(timers.health(), None);
    timers.resume();
    assert!(timers.health().is_some());
    timers.shutdown(Shutdown::Drop);
    assert_eq!(timers.health(), None);
}

#[test]
fn a_clock_that_stands_is_told_while_timers_are_armed() {
    let (timers, clock) = by_hand();
    let key = timers.arm(ms(1), |_| {}).unwrap();
    clock.advance(Duration::from_secs(7));
    let alarm = health_becomes(&timers, |alarm| matches!(alarm, Alarm::ClockStands { .. }));
    assert!(alarm.to_string().starts_with("the clock"), "{alarm}");
    assert!(timers.cancel(key).is_cancelled());
    assert_eq!(timers.health(), None);
}

// === looks ===

#[test]
fn whoever_looks_makes_nobody_busy() {
    let (timers, clock) = by_hand();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = (timers.overdue(), timers.next_deadline(), timers.health());
                }
            });
        }
        let fired = Arc::new(AtomicUsize::new(0));
        for round in 0..5_000 {
            let fired = Arc::clone(&fired);
            timers
                .arm(ms(1), move |_| {
                    fired.fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
            clock.advance(ms(1));
            let turned = timers.turn_fully();
            if !turned.is_ok_and(|turned| turned.fired == 1) {
                over.store(true, Ordering::Relaxed);
                panic!("{turned:?} in round {round}");
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn whoever_looks_does_not_keep_what_is_due_from_firing_at_the_end() {
    for round in 0..200 {
        let (timers, clock) = by_hand();
        let fired = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let fired = Arc::clone(&fired);
            timers
                .arm(ms(1), move |_| {
                    fired.fetch_add(1, Ordering::SeqCst);
                })
                .unwrap();
        }
        clock.advance(ms(1));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = timers.next_deadline();
                }
            });
            timers.shutdown(Shutdown::FireDue);
            let fired = fired.load(Ordering::SeqCst);
            over.store(true, Ordering::Relaxed);
            assert_eq!(fired, 3, "round {round}");
        });
        timers.wait(LONG).unwrap();
    }
}

// === the thread ===

/// A runtime with a watchdog, and what that reports.
fn watched() -> (Timers, mpsc::Receiver<Alarm>) {
    let (report, reports) = mpsc::channel();
    let timers = Timers::builder()
        .watchdog(BOUND, move |alarm| {
            let _ = report.send(alarm);
        })
        .build()
        .unwrap();
    (timers, reports)
}

#[test]
fn a_callback_that_blocks_is_reported_once_and_so_is_its_end() {
    let (timers, reports) = watched();
    for _ in 0..2 {
        let (go_on, blocks) = mpsc::channel::<()>();
        timers
            .arm(ms(1), move |_| {
                let _ = blocks.recv_timeout(LONG);
            })
            .unwrap();
        let mut first = reports.recv_timeout(LONG).unwrap();
        // A busy machine may itself be late first.
        while !matches!(first, Alarm::Stalled { turning, .. } if turning > BOUND) {
            first = reports.recv_timeout(LONG).unwrap();
        }
        let again = reports.recv_timeout(BOUND * 4);
        assert!(again.is_err(), "{again:?} after {first}");
        drop(go_on);
        let over = reports.recv_timeout(LONG).unwrap();
        assert!(
            matches!(over, Alarm::Over { .. } | Alarm::Late { .. }),
            "{over}"
        );
        if !matches!(over, Alarm::Over { .. }) {
            let over = reports.recv_timeout(LONG).unwrap();
            assert!(matches!(over, Alarm::Over { .. }), "{over}");
        }
    }
}

#[test]
fn a_timer_armed_after_a_long_rest_is_watched() {
    let (timers, reports) = watched();
    timers.arm(Duration::MAX, |_| {}).unwrap();
    thread::sleep(BOUND * 4); // by now everybody sleeps for as long as they like
    timers.pause();
    thread::sleep(BOUND * 4);
    timers.resume();
    thread::sleep(BOUND * 4);
    timers
        .arm(ms(1), |_| {
            thread::sleep(BOUND * 10);
        })
        .unwrap();
    while !matches!(reports.recv_timeout(LONG).unwrap(), Alarm::Stalled { .. }) {}
}

#[test]
fn a_runtime_by_hand_may_be_watched_and_a_standing_clock_is_found() {
    let (report, reports) = mpsc::channel();
    let timers = Timers::builder()
        .clock(ManualClock::new())
        .watchdog(BOUND, move |alarm| {
            let _ = report.send(alarm);
        })
        .build_hand_driven()
        .unwrap();
    timers.arm(ms(5), |_| {}).unwrap();
    let alarm = reports.recv_timeout(LONG).unwrap();
    assert!(matches!(alarm, Alarm::ClockStands { .. }), "{alarm}");
    assert_eq!(timers.stats().panics, 0);
}

#[test]
fn it_ends_with_the_last_handle_at_once() {
    for round in 0..50 {
        let hook_is_alive = Arc::new(());
        let kept = Arc::clone(&hook_is_alive);
        let timers = Timers::builder()
            .thread_name("short-lived")
            .watchdog(Duration::from_secs(3600), move |_| {
                let _ = &kept;
            })
            .build()
            .unwrap();
        timers.arm(Duration::from_secs(3600), |_| {}).unwrap();
        thread::sleep(Duration::from_micros(20 * round));
        drop(timers);
        let start = Instant::now();
        while Arc::strong_count(&hook_is_alive) > 1 {
            assert!(
                start.elapsed() < LONG,
                "the watchdog waits for its period, or keeps the runtime: round {round}"
            );
            thread::yield_now();
        }
    }
}

#[test]
fn a_hook_that_panics_is_counted_and_called_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let clock = ManualClock::new();
    let timers = Timers::builder()
        .clock(clock.clone())
        .watchdog(ms(5), move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            panic!("a hook that panics");
        })
        .build_hand_driven()
        .unwrap();
    timers.arm(Duration::from_secs(3600), |_| {}).unwrap();
    let start = Instant::now();
    while calls.load(Ordering::SeqCst) < 3 {
        assert!(start.elapsed() < LONG, "{calls:?}");
        thread::sleep(ms(7));
        clock.advance(ms(1)); // it stands, and moves, and stands
    }
    assert!(timers.stats().panics >= 2, "{:?}", timers.stats());
}

#[test]
fn with_nothing_due_for_long_it_does_not_look() {
    /// Counts who reads it.
    struct Counted(MonotonicClock, Arc<AtomicUsize>);
    impl Clock for Counted {
        fn now(&self) -> Timestamp {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.now()
        }
    }
    let reads = Arc::new(AtomicUsize::new(0));
    let timers = Timers::builder()
        .clock(Counted(MonotonicClock::new(), Arc::clone(&reads)))
        .resolution(Resolution::MILLISECOND)
        .watchdog(ms(1), |_| {})
        .build()
        .unwrap();
    for armed in [None, Some(Duration::MAX), Some(Duration::from_secs(3600))] {
        if let Some(after) = armed {
            timers.arm(after, |_| {}).unwrap();
        }
        // It falls asleep sooner or later, and then nobody reads the clock.
        let start = Instant::now();
        loop {
            let before = reads.load(Ordering::Relaxed);
            thread::sleep(ms(50));
            if reads.load(Ordering::Relaxed) == before {
                break;
            }
            assert!(start.elapsed() < LONG, "it goes on looking: {armed:?}");
        }
    }
}
