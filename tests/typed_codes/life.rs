//! When a code is good.

use std::time::Duration;

use tickwheel::{Clock, EndReason, ManualClock, OneTimeCodes, RefusedCause, Timers, Timestamp};

use crate::{Bed, secs, wrong};

const NANO: Duration = Duration::from_nanos(1);

#[test]
fn a_code_is_good_until_its_deadline_and_not_at_it() {
    for (at, good) in [
        (Duration::ZERO, true),
        (secs(60) - NANO, true),
        (secs(60), false),
        (secs(60) + NANO, false),
    ] {
        let bed = Bed::new();
        let issued = bed.issue("ada", "login");
        assert_eq!(issued.deadline, Timestamp::from_duration(secs(60)));
        bed.clock.advance(at);
        let left = bed.codes.time_to_live("ada", "login");
        assert_eq!(left, good.then(|| secs(60) - at));
        assert_eq!(bed.codes.len(), usize::from(good));
        let expected = if good {
            Ok(())
        } else {
            // Nothing else was to be remembered: the count has removed the record.
            Err(RefusedCause::Unknown)
        };
        assert_eq!(bed.verify("ada", issued.code.expose()), expected);
        bed.end();
    }
}

#[test]
fn the_boundary_does_not_wait_for_the_driver_or_a_tick() {
    let bed = Bed::with(|codes| codes.time_to_live(Duration::from_nanos(1_500_001)));
    let issued = bed.issue("ada", "login");
    bed.clock.advance(Duration::from_nanos(1_500_000));
    assert!(bed.codes.time_to_live("ada", "login").is_some());
    bed.clock.advance(NANO);
    assert!(!bed.accepts("ada", &issued)); // nobody has driven
    assert_eq!(bed.events.reasons(), [EndReason::Absolute]);
    bed.end();
}

#[test]
fn a_code_is_good_once() {
    let bed = Bed::new();
    let issued = bed.issue("ada", "login");
    assert!(bed.accepts("ada", &issued));
    for _ in 0..3 {
        assert!(!bed.accepts("ada", &issued));
    }
    assert_eq!(bed.end()[&issued.generation], EndReason::Consumed);
}

#[test]
fn a_code_is_for_its_subject_and_purpose_only() {
    let bed = Bed::new();
    let issued = bed.issue("ada", "login");
    let code = issued.code.expose();
    assert_eq!(bed.verify("bob", code), Err(RefusedCause::Unknown));
    for (subject, purpose) in [("ada", "reset"), ("ad", "alogin"), ("adalogin", "")] {
        let refused = bed.codes.verify(subject, purpose, code).unwrap_err();
        assert_eq!(refused.cause(), RefusedCause::Unknown);
    }
    // Another code for the same subject is not touched by that.
    let reset = bed.issue("ada", "reset");
    assert!(bed.accepts("ada", &issued));
    assert!(
        bed.codes
            .verify(b"ada", "reset", reset.code.expose())
            .is_ok()
    );
    bed.end();
}

#[test]
fn with_a_time_to_live_of_zero_no_code_is_ever_good() {
    let bed = Bed::with(|codes| codes.time_to_live(Duration::ZERO));
    let issued = bed.issue("ada", "login");
    assert_eq!(bed.events.reasons(), [EndReason::Absolute]); // before it was handed out
    assert_eq!((issued.expires_in, bed.codes.len()), (Duration::ZERO, 0));
    assert!(!bed.accepts("ada", &issued));
    bed.clock.jump(Timestamp::ZERO);
    assert!(!bed.accepts("ada", &issued));
    assert!(bed.timers.is_empty());
}

#[test]
fn what_leads_beyond_the_end_of_time_is_never() {
    for time_to_live in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
        let clock = ManualClock::starting_at(Timestamp::from_nanos(1 << 40));
        let timers = Timers::builder().clock(clock.clone()).build_hand_driven();
        let bed = Bed::over(clock, timers.unwrap(), |codes| {
            codes.time_to_live(time_to_live)
        });
        let issued = bed.issue("ada", "login");
        assert_eq!(issued.deadline, Timestamp::NEVER);
        assert_eq!(issued.expires_in, Duration::MAX);
        bed.clock.set(Timestamp::NEVER); // one nanosecond short of it
        bed.turn();
        assert_eq!(bed.codes.time_to_live("ada", "login"), Some(Duration::MAX));
        assert!(bed.accepts("ada", &issued));
        bed.end();
    }
}

#[test]
fn what_was_seen_to_expire_stays_so_when_the_clock_goes_back() {
    // By whom it was seen: an answer, a question, a count, the driver, another code, a cancel.
    let seers: [fn(&Bed); 6] = [
        |bed| assert!(bed.verify("ada", "000000").is_err()),
        |bed| assert_eq!(bed.codes.time_to_live("ada", "login"), None),
        |bed| assert_eq!(bed.codes.len(), 1),
        |bed| bed.turn(),
        |bed| drop(bed.issue("ada", "reset")),
        |bed| assert_eq!(bed.codes.cancel("ada", "login"), None),
    ];
    for see in seers {
        let bed = Bed::with(|codes| codes.cooldown(secs(300)));
        let issued = bed.issue("ada", "login");
        bed.clock.advance(secs(30));
        let _ = bed.issue("eve", "login");
        bed.clock.advance(secs(30));
        see(&bed);
        bed.clock.jump(Timestamp::from_duration(secs(1)));
        assert_eq!(
            bed.verify("ada", issued.code.expose()),
            Err(RefusedCause::Ended(EndReason::Absolute))
        );
        assert_eq!(bed.end()[&issued.generation], EndReason::Absolute);
    }
}

#[test]
fn a_timer_that_fires_while_the_clock_is_back_expires_its_code_all_the_same() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).build_hand_driven();
    let timers = timers.unwrap();
    let (told, log) = std::sync::mpsc::channel();
    let back = clock.clone();
    let codes = OneTimeCodes::builder(&timers)
        .time_to_live(secs(60))
        .cooldown(secs(100))
        .on_end(move |ended| {
            // The driver has read the time by when the clock goes back.
            back.jump(Timestamp::ZERO);
            told.send(ended.generation).unwrap();
        })
        .build()
        .unwrap();
    let issued = [0, 1, 2].map(|n: u64| {
        clock.set(Timestamp::from_duration(secs(n)));
        codes.issue(n.to_string(), "login").unwrap()
    });
    clock.advance(secs(60));
    timers.turn_fully().unwrap();
    assert_eq!(clock.now(), Timestamp::ZERO);
    let told: Vec<_> = log.try_iter().collect();
    assert_eq!(told, issued.each_ref().map(|issued| issued.generation));
    for (n, issued) in issued.iter().enumerate() {
        let verified = codes.verify(n.to_string(), "login", issued.code.expose());
        let cause = verified.unwrap_err().cause();
        assert_eq!(cause, RefusedCause::Ended(EndReason::Absolute));
    }
    assert_eq!(codes.len(), 0);
    assert_eq!(timers.turn_fully().unwrap().fired, 0); // and nobody spins
}

#[test]
fn a_code_issued_while_the_clock_is_back_lives_as_long_as_any() {
    let bed = Bed::with(|codes| codes.cooldown(secs(1)));
    bed.clock.advance(secs(100));
    let _ = bed.issue("ada", "login");
    bed.clock.jump(Timestamp::ZERO);
    assert!(bed.codes.issue("ada", "login").is_err()); // no cooldown is over
    assert!(bed.codes.cancel("ada", "login").is_some());
    bed.clock.jump(Timestamp::from_duration(secs(101)));
    let issued = bed.issue("ada", "login");
    assert_eq!(issued.deadline, Timestamp::from_duration(secs(161)));
    bed.clock.jump(Timestamp::from_duration(secs(2)));
    let other = bed.issue("ada", "reset"); // time stands still at 101 for this subject
    assert_eq!(other.deadline, issued.deadline);
    assert_eq!(other.expires_in, secs(60));
    bed.end();
}

#[test]
fn a_cancelled_code_is_refused_and_its_counts_stay() {
    let bed = Bed::with(|codes| codes.cooldown(secs(10)).attempts_per_subject(2, secs(600)));
    let issued = bed.issue("ada", "login");
    assert!(bed.verify("ada", &wrong(&issued)).is_err());
    assert_eq!(bed.codes.cancel("ada", "login"), Some(issued.nonce));
    assert_eq!(bed.codes.cancel("ada", "login"), None);
    assert_eq!(
        bed.verify("ada", issued.code.expose()),
        Err(RefusedCause::Ended(EndReason::Removed))
    );
    bed.clock.advance(secs(10));
    let next = bed.issue("ada", "login");
    let cause = bed.verify("ada", &wrong(&next)).unwrap_err();
    assert_eq!(cause, RefusedCause::Mismatch { left: 0 }); // the second for the subject
    let reasons = bed.end();
    assert_eq!(reasons[&issued.generation], EndReason::Removed);
    assert_eq!(reasons[&next.generation], EndReason::TooManyAttempts);
}

#[test]
fn all_codes_of_a_subject_can_be_cancelled() {
    let bed = Bed::new();
    for purpose in ["login", "reset", "pay"] {
        let _ = bed.issue("ada", purpose);
    }
    let other = bed.issue("bob", "login");
    assert_eq!(bed.codes.cancel_all("ada"), 3);
    assert_eq!(bed.codes.cancel_all("ada"), 0);
    assert_eq!(bed.codes.cancel_all("nobody"), 0);
    assert_eq!((bed.codes.len(), bed.codes.remembered()), (1, 1));
    assert!(bed.accepts("bob", &other));
    bed.end();
}

#[test]
fn only_the_living_are_counted() {
    let bed = Bed::new();
    for (n, subject) in ["a", "b", "c", "d"].into_iter().enumerate() {
        bed.clock.set(Timestamp::from_duration(secs(n as u64)));
        let _ = bed.issue(subject, "login");
    }
    assert_eq!(bed.codes.len(), 4);
    assert!(bed.codes.cancel("d", "login").is_some());
    for (now, living) in [(59, 3), (60, 2), (61, 1), (62, 0)] {
        bed.clock.set(Timestamp::from_duration(secs(now)));
        assert_eq!(bed.codes.len(), living, "at {now}"); // nobody has driven
    }
    assert!(bed.codes.is_empty());
    assert!(bed.clock.now() < Timestamp::NEVER);
    bed.end();
}
