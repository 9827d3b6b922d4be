//! How often codes are to be had, and how many.

use std::time::Duration;

use tickwheel::{EndReason, IssueError, RefusedCause};

use crate::{Bed, secs};

#[test]
fn a_new_code_replaces_the_old_one_at_once() {
    let bed = Bed::with(|codes| codes.attempts(9));
    let first = bed.issue("ada", "login");
    bed.clock.advance(secs(50));
    let second = bed.issue("ada", "login");
    let event = &bed.events.take()[0];
    assert_eq!(event.reason, EndReason::Replaced);
    assert_eq!(
        (event.generation, event.value),
        (first.generation, first.nonce)
    );
    assert_eq!(
        (event.deadline, event.key.purpose),
        (first.deadline, "login")
    );
    assert_eq!(event.key.subject, bed.codes.subject_id("ada"));
    assert!(first.generation < second.generation);
    assert_eq!(bed.codes.len(), 1);
    if first.code.expose() != second.code.expose() {
        assert!(!bed.accepts("ada", &first));
    }
    bed.clock.advance(secs(59)); // 109: long after the first would have expired
    bed.turn();
    assert!(bed.accepts("ada", &second));
    bed.end();
}

#[test]
fn a_code_that_has_expired_is_not_replaced() {
    let bed = Bed::new();
    let _ = bed.issue("ada", "login");
    bed.clock.advance(secs(60)); // nobody has driven
    let _ = bed.issue("ada", "login");
    assert_eq!(bed.events.reasons(), [EndReason::Absolute]);
    bed.end();
}

#[test]
fn between_two_codes_there_is_a_cooldown_whatever_became_of_the_first() {
    let ends: [fn(&Bed, &str); 4] = [
        |_, _| {},
        |bed, code| assert_eq!(bed.verify("ada", code), Ok(())),
        |bed, _| assert!(bed.codes.cancel("ada", "login").is_some()),
        |bed, _| bed.turn(),
    ];
    for end in ends {
        let bed = Bed::with(|codes| codes.cooldown(secs(30)).time_to_live(secs(20)));
        let issued = bed.issue("ada", "login");
        bed.clock.advance(secs(10));
        end(&bed, issued.code.expose());
        let error = bed.codes.issue("ada", "login").unwrap_err();
        assert_eq!(error, IssueError::Cooldown(secs(20)));
        assert_eq!(error.retry_after(), Some(secs(20)));
        let _ = bed.issue("ada", "reset"); // another purpose
        let _ = bed.issue("bob", "login"); // another subject
        bed.clock.advance(secs(20) - Duration::from_nanos(1));
        bed.turn();
        let error = bed.codes.issue("ada", "login").unwrap_err();
        assert_eq!(error, IssueError::Cooldown(Duration::from_nanos(1)));
        bed.clock.advance(Duration::from_nanos(1));
        let _ = bed.issue("ada", "login");
        bed.end();
    }
}

#[test]
fn a_subject_has_so_many_codes_in_any_window() {
    let bed = Bed::with(|codes| codes.issues_per_subject(3, secs(100)));
    for (wait, purpose) in [(0, "login"), (40, "reset"), (40, "login")] {
        bed.clock.advance(secs(wait));
        let _ = bed.issue("ada", purpose);
    }
    for purpose in ["login", "reset", "pay"] {
        let error = bed.codes.issue("ada", purpose).unwrap_err();
        assert_eq!(error, IssueError::TooManyIssues(secs(20)));
    }
    let _ = bed.issue("bob", "login");
    bed.clock.advance(secs(20)); // 100: the first is out of it
    bed.turn();
    let _ = bed.issue("ada", "pay");
    let error = bed.codes.issue("ada", "pay").unwrap_err();
    assert_eq!(error, IssueError::TooManyIssues(secs(40)));
    bed.end();
}

#[test]
fn a_refused_issue_leaves_the_code_before_it() {
    let bed = Bed::with(|codes| codes.cooldown(secs(30)));
    let issued = bed.issue("ada", "login");
    assert!(bed.codes.issue("ada", "login").is_err());
    assert!(bed.events.take().is_empty());
    assert!(bed.accepts("ada", &issued));
    bed.end();
}

#[test]
fn at_the_capacity_the_due_make_room_and_the_living_do_not() {
    let bed = Bed::with(|codes| codes.capacity(3));
    let first = bed.issue("a", "login");
    bed.clock.advance(secs(10));
    let _ = bed.issue("b", "login");
    let _ = bed.issue("b", "reset");
    assert_eq!(bed.codes.issue("c", "login").unwrap_err(), IssueError::Full);
    // Nothing has to make room for one that takes another's place.
    let again = bed.issue("a", "login");
    assert_eq!(bed.events.reasons(), [EndReason::Replaced]);
    assert_eq!(bed.codes.issue("c", "login").unwrap_err(), IssueError::Full);
    assert_eq!(bed.codes.remembered(), 2); // nothing is kept for who got none

    bed.clock.advance(secs(60)); // nobody has driven
    let c = bed.issue("c", "login");
    assert_eq!(bed.events.reasons(), [EndReason::Absolute; 3]);
    assert_eq!(bed.codes.len(), 1);
    for gone in [first, again] {
        assert!(!bed.accepts("a", &gone));
    }
    assert!(bed.accepts("c", &c));
    // Each way to end makes room.
    for n in 0..20 {
        let code = bed.issue("a", "login");
        let _ = bed.issue("b", "login");
        let _ = bed.issue("c", "login");
        assert_eq!(bed.codes.issue("d", "login").unwrap_err(), IssueError::Full);
        if n % 2 == 0 {
            assert!(bed.accepts("a", &code));
        } else {
            assert!(bed.codes.cancel("a", "login").is_some());
        }
        assert_eq!(bed.codes.len(), 2);
    }
    bed.end();
}

#[test]
fn so_many_subjects_are_remembered_and_no_more() {
    let bed = Bed::with(|codes| codes.subjects(2).cooldown(secs(100)));
    let a = bed.issue("a", "login");
    assert!(bed.accepts("a", &a));
    let _ = bed.issue("b", "login");
    assert_eq!(bed.codes.issue("c", "login").unwrap_err(), IssueError::Full);
    assert_eq!(bed.codes.remembered(), 2);
    bed.clock.advance(secs(100)); // nobody has driven
    let _ = bed.issue("c", "login");
    assert_eq!(bed.codes.remembered(), 1);
    bed.end();
}

#[test]
fn who_is_unknown_is_not_remembered() {
    let bed = Bed::with(|codes| codes.cooldown(secs(100)));
    for n in 0..100 {
        let refused = bed.verify(&format!("nobody {n}"), "000000");
        assert_eq!(refused, Err(RefusedCause::Unknown));
        assert!(bed.codes.cancel(format!("nobody {n}"), "login").is_none());
        assert!(
            bed.codes
                .time_to_live(format!("nobody {n}"), "login")
                .is_none()
        );
    }
    assert_eq!((bed.codes.remembered(), bed.timers.len()), (0, 0));
}
