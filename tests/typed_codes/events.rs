//! One event for each code.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tickwheel::{EndReason, OneTimeCodes, Shutdown, Timers};

use crate::{Bed, secs, wrong};

#[test]
fn each_end_has_its_reason() {
    let bed = Bed::with(|codes| codes.attempts(1));
    let consumed = bed.issue("a", "login");
    assert!(bed.accepts("a", &consumed));
    let guessed = bed.issue("b", "login");
    assert!(bed.verify("b", &wrong(&guessed)).is_err());
    let replaced = bed.issue("c", "login");
    let _ = bed.issue("c", "login");
    let removed = bed.issue("d", "login");
    assert!(bed.codes.cancel("d", "login").is_some());
    let expired = bed.issue("e", "login");
    bed.clock.advance(secs(60));
    bed.turn();
    let dropped = bed.issue("f", "login");
    let reasons = bed.end();
    for (issued, reason) in [
        (consumed, EndReason::Consumed),
        (guessed, EndReason::TooManyAttempts),
        (replaced, EndReason::Replaced),
        (removed, EndReason::Removed),
        (expired, EndReason::Absolute),
        (dropped, EndReason::Shutdown),
    ] {
        assert_eq!(reasons[&issued.generation], reason);
    }
}

#[test]
fn who_was_shut_down_had_not_expired() {
    let bed = Bed::new();
    let expired = bed.issue("a", "login");
    bed.clock.advance(secs(30));
    let living = bed.issue("b", "login");
    bed.clock.advance(secs(30)); // nobody has driven
    let reasons = bed.end();
    assert_eq!(reasons[&expired.generation], EndReason::Absolute);
    assert_eq!(reasons[&living.generation], EndReason::Shutdown);
}

#[test]
fn when_the_timers_are_shut_down_all_codes_end() {
    for mode in [Shutdown::Drop, Shutdown::HandBack, Shutdown::FireDue] {
        let bed = Bed::with(|codes| codes.cooldown(secs(100)));
        let expired = bed.issue("a", "login");
        bed.clock.advance(secs(30));
        let living = bed.issue("b", "login");
        bed.clock.advance(secs(30));
        assert!(bed.timers.shutdown(mode).is_empty());
        let reasons: Vec<_> = bed
            .events
            .take()
            .iter()
            .map(|e| (e.generation, e.reason))
            .collect();
        assert!(
            reasons.contains(&(expired.generation, EndReason::Absolute)),
            "{mode:?}"
        );
        assert!(
            reasons.contains(&(living.generation, EndReason::Shutdown)),
            "{mode:?}"
        );
        assert_eq!(reasons.len(), 2);
        assert!(!bed.accepts("b", &living));
        let error = bed.codes.issue("c", "login").unwrap_err();
        assert_eq!(error, tickwheel::IssueError::ShutDown);
        assert_eq!((bed.codes.len(), bed.codes.remembered()), (0, 0));
    }
}

#[test]
fn codes_keep_their_timers_running() {
    let bed = Bed::new();
    let Bed {
        timers,
        codes,
        clock,
        ..
    } = bed;
    let issued = codes.issue("ada", "login").unwrap();
    drop(timers);
    clock.advance(secs(1));
    assert!(codes.verify("ada", "login", issued.code.expose()).is_ok());
}

#[test]
fn a_hook_that_panics_loses_nothing() {
    let bed = Bed::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let codes = OneTimeCodes::builder(&bed.timers)
        .time_to_live(secs(10))
        .cooldown(Duration::ZERO)
        .attempts(1)
        .on_end(move |ended| {
            hook.lock()
                .unwrap_or_else(|e| e.into_inner())
                .push(ended.reason);
            panic!("in the hook");
        })
        .build()
        .unwrap();
    let _ = codes.issue("a", "reset").unwrap();
    let _ = codes.issue("a", "login").unwrap();
    let second = codes.issue("a", "login").unwrap(); // replaces the first
    assert!(codes.verify("a", "login", second.code.expose()).is_ok());
    let third = codes.issue("b", "login").unwrap();
    assert!(codes.verify("b", "login", &wrong(&third)).is_err());
    let _ = codes.issue("c", "login").unwrap();
    bed.clock.advance(secs(10));
    bed.turn(); // two of them, in the driver
    let _ = codes.issue("d", "login").unwrap();
    assert_eq!((codes.hook_panics(), bed.timers.stats().panics), (5, 0));
    drop(codes);
    assert_eq!(
        told.lock().unwrap_or_else(|e| e.into_inner())[..],
        [
            EndReason::Replaced,
            EndReason::Consumed,
            EndReason::TooManyAttempts,
            EndReason::Absolute,
            EndReason::Absolute,
            EndReason::Shutdown,
        ]
    );
}

/// Were a lock held, this would not return.
#[test]
fn a_hook_may_use_the_codes_also_for_the_same_subject() {
    let timers = {
        let bed = Bed::new();
        (bed.timers, bed.clock)
    };
    let (timers, clock) = timers;
    let own = Arc::new(OnceLock::<OneTimeCodes>::new());
    let told = Arc::new(Mutex::new(Vec::new()));
    let (within, log) = (Arc::downgrade(&own), Arc::clone(&told));
    let made = OneTimeCodes::builder(&timers)
        .time_to_live(secs(10))
        .cooldown(Duration::ZERO)
        .issues_per_subject(3, secs(600))
        .on_end(move |ended| {
            let own = within.upgrade();
            let Some(codes) = own.as_ref().and_then(|own| own.get()) else {
                return;
            };
            let again = codes.issue("ada", "login");
            let refused = codes.verify("ada", "login", "x").is_err();
            assert_eq!(codes.subject_id("ada"), ended.key.subject);
            let found = (codes.len(), codes.time_to_live("ada", "login").is_some());
            assert!(refused && codes.cancel("bob", "login").is_none());
            log.lock()
                .unwrap()
                .push((ended.reason, again.is_ok(), found));
        })
        .build()
        .unwrap();
    let _ = made.issue("ada", "login").unwrap();
    assert!(own.set(made.clone()).is_ok());
    let second = made.issue("ada", "login").unwrap(); // the hook takes the third
    assert!(made.verify("ada", "login", second.code.expose()).is_err());
    clock.advance(secs(10));
    timers.turn_fully().unwrap();
    let told = told.lock().unwrap();
    let [outer, inner, last] = &told[..] else {
        panic!("{told:?}");
    };
    // The hook that was told of the first replaced the second, and was told of that within.
    assert_eq!(*outer, (EndReason::Replaced, false, (1, true)));
    assert_eq!(*inner, (EndReason::Replaced, true, (1, true)));
    assert_eq!(*last, (EndReason::Absolute, false, (0, false)));
    assert_eq!(made.hook_panics(), 0);
}

#[test]
fn events_come_with_the_driver_without_anybody_asking() {
    let bed = Bed::new();
    for subject in ["a", "b", "c"] {
        let _ = bed.issue(subject, "login");
    }
    bed.clock.advance(secs(60) - Duration::from_nanos(1));
    bed.turn();
    assert!(bed.events.take().is_empty()); // never early
    bed.clock.advance(Duration::from_nanos(1));
    bed.turn();
    assert_eq!(bed.events.reasons(), [EndReason::Absolute; 3]);
}

#[test]
fn a_paused_runtime_delays_events_and_not_the_truth() {
    let bed = Bed::new();
    let issued = bed.issue("ada", "login");
    bed.timers.pause();
    bed.clock.advance(secs(60));
    bed.turn();
    assert!(bed.events.take().is_empty());
    assert!(!bed.accepts("ada", &issued));
    assert_eq!(bed.events.reasons(), [EndReason::Absolute]);
    bed.timers.resume();
    bed.turn();
    bed.end();
}

/// With the runtime's own thread: it ends what nobody asks for.
#[test]
fn the_thread_of_the_runtime_ends_codes() {
    let (told, events) = std::sync::mpsc::channel();
    let timers = Timers::new().unwrap();
    let codes = OneTimeCodes::builder(&timers)
        .time_to_live(Duration::from_millis(2))
        .on_end(move |ended| told.send(ended).unwrap_or(()))
        .build()
        .unwrap();
    let issued = codes.issue("ada", "login").unwrap();
    let ended = events.recv_timeout(secs(60)).unwrap();
    assert_eq!(
        (ended.reason, ended.value),
        (EndReason::Absolute, issued.nonce)
    );
    assert!(timers.now() >= issued.deadline);
}
