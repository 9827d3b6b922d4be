//! No timer and no record is left behind.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tickwheel::{IssueError, ManualClock, OneTimeCodes, ReplayError, ReplayGuard, Timers};

use crate::{Bed, secs, wrong};

#[test]
fn what_ends_leaves_no_timer_and_no_record() {
    // (time to live, cooldown, window of attempts, window of issues), each the longest once.
    for [ttl, cooldown, attempts, issues] in [
        [60, 0, 0, 0],
        [60, 10, 0, 0],
        [10, 60, 0, 0],
        [10, 20, 60, 0],
        [10, 20, 0, 60],
        [10, 20, 30, 30],
        [60, 20, 30, 30],
        [u64::MAX, 20, 30, 30],
        [u64::MAX, 0, 0, 0],
    ] {
        let bed = Bed::with(|codes| {
            codes
                .time_to_live(secs(ttl))
                .cooldown(secs(cooldown))
                .attempts(2)
                .attempts_per_subject(9, secs(attempts))
                .issues_per_subject(9, secs(issues))
        });
        let answered = bed.issue("a", "login");
        let _ = bed.issue("b", "login");
        let guessed = bed.issue("c", "login");
        let _ = bed.issue("d", "login");
        let _ = bed.issue("d", "reset");
        bed.clock.advance(secs(1));
        assert!(bed.accepts("a", &answered));
        assert!(bed.codes.cancel("b", "login").is_some());
        assert!(bed.verify("c", &wrong(&guessed)).is_err());
        assert!(bed.verify("c", &wrong(&guessed)).is_err());
        assert!(bed.timers.len() <= 8);
        if ttl == u64::MAX {
            assert_eq!(bed.codes.cancel_all("d"), 2);
        }
        // Only the driver works from here on: until all that matters is over, and no longer.
        let longest = [cooldown, attempts + 1, issues].into_iter().max().unwrap();
        let bound = if ttl == u64::MAX {
            longest
        } else {
            longest + ttl
        };
        bed.clock.advance(secs(bound));
        bed.turn();
        assert_eq!(bed.timers.len(), 0, "{ttl} {cooldown} {attempts} {issues}");
        let shown = format!("{:?}", bed.codes); // does not sweep
        assert!(shown.contains("codes: 0, subjects: 0"), "{shown}");
        bed.timers.check();
        bed.end();
    }
}

#[test]
fn many_codes_that_end_early_leave_nothing() {
    let bed = Bed::with(|codes| codes.attempts(1).attempts_per_subject(9, secs(5)));
    for n in 0..2000 {
        let subject = format!("{}", n % 50);
        let issued = bed.issue(&subject, "login");
        match n % 3 {
            0 => assert!(bed.accepts(&subject, &issued)),
            1 => assert!(bed.codes.cancel(&subject, "login").is_some()),
            _ => assert!(bed.verify(&subject, &wrong(&issued)).is_err()),
        }
        bed.clock.advance(secs(1));
        assert!(bed.timers.len() <= 51, "{}", bed.timers.len());
    }
    bed.clock.advance(secs(65));
    bed.turn();
    assert_eq!((bed.timers.len(), bed.codes.remembered()), (0, 0));
    bed.end();
}

fn limited(limit: usize) -> (ManualClock, Timers) {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).limit(limit);
    (clock, timers.build_hand_driven().unwrap())
}

#[test]
fn when_the_timers_are_full_nothing_is_issued_and_nothing_lost() {
    for limit in 1..5 {
        let (clock, timers) = limited(limit);
        let bed = Bed::over(clock, timers, |codes| codes.cooldown(secs(100)));
        // Two timers each.
        let mut issued = Vec::new();
        for subject in ["a", "b", "c"] {
            match bed.codes.issue(subject, "login") {
                Ok(code) => issued.push((subject, code)),
                Err(error) => assert_eq!(error, IssueError::TimersFull),
            }
        }
        assert_eq!(issued.len(), limit / 2);
        assert_eq!(bed.codes.len(), limit / 2);
        assert_eq!(bed.codes.remembered(), limit / 2);
        assert_eq!(bed.timers.len(), limit / 2 * 2);
        // One that is in another's way is still there.
        for (subject, code) in &issued {
            assert_eq!(
                bed.codes.issue(subject, "reset").err(),
                Some(IssueError::TimersFull)
            );
            assert!(bed.codes.time_to_live(subject, "login").is_some());
            assert!(bed.accepts(subject, code));
        }
        // Whoever else takes what was freed: the record is forgotten all the same.
        while bed.timers.arm(Duration::MAX, |_| {}).is_ok() {}
        bed.clock.advance(secs(160));
        bed.turn();
        let shown = format!("{:?}", bed.codes);
        assert!(shown.contains("codes: 0, subjects: 0"), "{shown}");
    }
}

#[test]
fn when_the_timers_are_full_or_shut_down_no_step_is_accepted() {
    let (clock, timers) = limited(1);
    let guard = ReplayGuard::new(&timers, secs(90)).unwrap();
    assert_eq!(guard.accept("ada", 1), Ok(()));
    assert_eq!(guard.accept("bob", 1), Err(ReplayError::TimersFull));
    assert_eq!(guard.accept("ada", 1), Err(ReplayError::Replayed));
    assert_eq!(guard.remembered(), 1);
    clock.advance(secs(90));
    timers.turn_fully().unwrap();
    assert_eq!(guard.accept("bob", 1), Ok(()));
    timers.shutdown(tickwheel::Shutdown::Drop);
    assert_eq!(guard.remembered(), 0);
    for _ in 0..2 {
        assert_eq!(guard.accept("bob", 1), Err(ReplayError::ShutDown));
        assert_eq!(guard.remembered(), 0);
    }
}

/// Whoever is woken by arming is called while no lock is held, and its panic passes to whoever issues.
#[test]
fn a_wake_hook_may_use_the_codes_and_panic() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};

    let clock = ManualClock::new();
    let own = Arc::new(OnceLock::<OneTimeCodes>::new());
    let (calls, panics) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let within = Arc::downgrade(&own);
    let (called, panicking) = (calls.clone(), panics.clone());
    let timers = Timers::builder()
        .clock(clock.clone())
        .wake(move || {
            let own = within.upgrade();
            if let Some(codes) = own.as_ref().and_then(|own| own.get()) {
                let _ = codes.verify("ada", "login", "000000");
                let _ = codes.time_to_live("ada", "login");
            }
            called.fetch_add(1, Ordering::Relaxed);
            assert!(!panicking.load(Ordering::Relaxed), "in the hook");
        })
        .build_hand_driven()
        .unwrap();
    let bed = Bed::over(clock, timers, |codes| codes.cooldown(secs(100)));
    assert!(own.set(bed.codes.clone()).is_ok());
    let _ = bed.timers.next_timeout(); // now it wants to be woken
    let _ = bed.issue("ada", "login");
    assert!(calls.load(Ordering::Relaxed) > 0);

    let _ = bed.timers.next_timeout();
    panics.store(true, Ordering::Relaxed);
    bed.clock.advance(secs(1));
    let codes = bed.codes.clone();
    let issued = catch_unwind(AssertUnwindSafe(|| codes.issue("bob", "login")));
    panics.store(false, Ordering::Relaxed);
    if issued.is_err() {
        // It comes to nothing, and nothing is kept for it.
        assert_eq!((bed.codes.len(), bed.codes.remembered()), (1, 1));
    }
    drop(bed.issue("eve", "login"));
    bed.clock.advance(secs(300));
    bed.turn();
    assert_eq!((bed.timers.len(), bed.codes.remembered()), (0, 0));
}

/// The timer of a code is armed before the code is there, and fires before: the code ends at once all the same.
#[test]
fn a_code_whose_timer_fires_before_it_is_there_ends_when_it_is() {
    use std::sync::{Arc, OnceLock};

    let clock = ManualClock::new();
    let own = Arc::new(OnceLock::<Timers>::new());
    let (within, hasty) = (Arc::downgrade(&own), clock.clone());
    let made = Timers::builder()
        .clock(clock.clone())
        .wake(move || {
            let own = within.upgrade();
            if let Some(timers) = own.as_ref().and_then(|own| own.get()) {
                hasty.advance(secs(100));
                timers.turn_fully().unwrap();
            }
        })
        .build_hand_driven()
        .unwrap();
    let bed = Bed::over(clock, made.clone(), |codes| codes.cooldown(secs(600)));
    let _ = made.next_timeout(); // now it wants to be woken
    assert!(own.set(made).is_ok());
    let issued = bed.issue("ada", "login");
    assert!(bed.timers.now() > issued.deadline);
    assert_eq!(bed.events.reasons(), [tickwheel::EndReason::Absolute]);
    assert!(!bed.accepts("ada", &issued));
    bed.end();
}

/// A code that is issued when another has just ended, whose hook took its time: what counts for the new one counts from later
/// than its timers were armed for.
#[test]
fn a_record_is_forgotten_though_a_hook_has_taken_its_time() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    let timers = timers.build_hand_driven().unwrap();
    let itself: Arc<OnceLock<OneTimeCodes>> = Arc::default();
    let (within, slow) = (Arc::downgrade(&itself), clock.clone());
    let codes = OneTimeCodes::builder(&timers)
        .time_to_live(secs(10))
        .cooldown(Duration::ZERO)
        .attempts_per_subject(5, Duration::ZERO)
        .issues_per_subject(5, secs(100))
        .on_end(move |end| {
            if end.generation == 0 {
                slow.advance(secs(7));
                let codes = within.upgrade().unwrap();
                let _ = codes.get().unwrap().time_to_live("ada", "login");
            }
        })
        .build()
        .unwrap();
    let _ = itself.set(codes.clone());
    let _ = codes.issue("ada", "login").unwrap();
    clock.advance(secs(11));
    let _ = codes.issue("ada", "login").unwrap();
    while timers.advance_to_next(&clock) > 0 {}
    // Not by `remembered`, which would look for what is over.
    let debug = format!("{codes:?}");
    assert!(debug.contains("subjects: 0"), "{debug}");
    assert!(timers.is_empty());
}
