//! Limits in a window of time: what counts, and until when.

use std::sync::Barrier;
use std::thread;

use tickwheel::{EndReason, IssueError};

use crate::{Bed, secs, wrong};

/// upstash/ratelimit-js#39: a limit of one refused everybody.
#[test]
fn a_limit_of_one_lets_one_through_in_each_window() {
    let bed = Bed::with(|codes| {
        let codes = codes.issues_per_subject(1, secs(100));
        codes.attempts(9).attempts_per_subject(1, secs(100))
    });
    for _ in 0..3 {
        let issued = bed.issue("ada", "login");
        let error = bed.codes.issue("ada", "login").unwrap_err();
        assert_eq!(error, IssueError::TooManyIssues(secs(100)));
        assert!(bed.verify("ada", &wrong(&issued)).is_err());
        assert!(!bed.accepts("ada", &issued), "the one attempt is used up");
        bed.clock.advance(secs(100));
    }
    bed.end();
}

/// Kong/docs.konghq.com#6586: what is refused counted, and who went on asking was locked out for ever.
#[test]
fn what_is_refused_does_not_count() {
    let bed = Bed::with(|codes| codes.issues_per_subject(2, secs(100)));
    let _ = bed.issue("ada", "login");
    let _ = bed.issue("ada", "login");
    for left in (1..=100).rev() {
        let error = bed.codes.issue("ada", "login").unwrap_err();
        assert_eq!(error, IssueError::TooManyIssues(secs(left)));
        bed.clock.advance(secs(1));
    }
    let _ = bed.issue("ada", "login");
    let _ = bed.issue("ada", "login");
    bed.end();
}

/// agronholm/anyio#992: there was a wait, though the window was long over.
#[test]
fn after_a_window_that_is_long_over_the_whole_limit_is_there_again() {
    let bed = Bed::with(|codes| codes.issues_per_subject(3, secs(100)));
    for _ in 0..4 {
        for _ in 0..3 {
            let _ = bed.issue("ada", "login");
        }
        let error = bed.codes.issue("ada", "login").unwrap_err();
        assert_eq!(error, IssueError::TooManyIssues(secs(100)));
        bed.clock.advance(secs(1_000));
    }
    bed.end();
}

/// pubky/pubky-homeserver#127: what was counted for a key stayed for ever.
#[test]
fn when_a_window_is_over_nothing_is_remembered_of_its_subject() {
    let bed = Bed::with(|codes| codes.issues_per_subject(3, secs(100)));
    for n in 0..50 {
        let _ = bed.issue(&format!("{n}"), "login");
    }
    bed.clock.advance(secs(60));
    bed.turn();
    assert_eq!((bed.codes.len(), bed.codes.remembered()), (0, 50));
    bed.clock.advance(secs(40));
    bed.turn();
    assert_eq!(bed.codes.remembered(), 0);
    assert!(bed.timers.is_empty());
    bed.end();
}

/// What has expired by then is not among what was cancelled.
#[test]
fn to_cancel_all_counts_those_that_lived() {
    let bed = Bed::new();
    let _ = bed.issue("ada", "login");
    bed.clock.advance(secs(30));
    let _ = bed.issue("ada", "reset");
    let _ = bed.issue("ada", "pay");
    bed.clock.advance(secs(30)); // nobody drives
    assert_eq!(bed.codes.cancel_all("ada"), 2);
    let mut reasons = bed.events.reasons();
    reasons.sort_unstable_by_key(|reason| reason.is_expiry());
    assert_eq!(
        reasons,
        [EndReason::Removed, EndReason::Removed, EndReason::Absolute]
    );
    bed.end();
}

/// Of threads that issue the first code for a subject at once one makes its record, and no other is counted.
#[test]
fn a_record_that_several_make_at_once_is_counted_once() {
    let bed = Bed::with(|codes| codes.subjects(4));
    for round in 0..500 {
        let (subject, start) = (format!("{round}"), Barrier::new(4));
        thread::scope(|scope| {
            for purpose in ["a", "b", "c", "d"] {
                let (codes, subject, start) = (&bed.codes, &subject, &start);
                scope.spawn(move || {
                    start.wait();
                    let _ = codes.issue(subject.as_str(), purpose).unwrap();
                });
            }
        });
        assert_eq!(bed.codes.remembered(), 1, "in round {round}");
        assert_eq!(bed.codes.cancel_all(subject.as_str()), 4);
        assert_eq!(bed.codes.remembered(), 0, "in round {round}");
    }
}
