//! What a wrong answer costs.

use tickwheel::{EndReason, IssueError, RefusedCause};

use crate::{Bed, secs, wrong};

const fn left(left: u32) -> RefusedCause {
    RefusedCause::Mismatch { left }
}

#[test]
fn the_last_attempt_ends_the_code() {
    let bed = Bed::with(|codes| codes.attempts(3).cooldown(secs(600)));
    let issued = bed.issue("ada", "login");
    for n in [2, 1, 0] {
        assert_eq!(bed.verify("ada", &wrong(&issued)), Err(left(n)));
    }
    assert_eq!(bed.events.reasons(), [EndReason::TooManyAttempts]);
    assert_eq!(
        bed.verify("ada", issued.code.expose()),
        Err(RefusedCause::Ended(EndReason::TooManyAttempts))
    );
}

#[test]
fn the_last_attempt_may_be_right() {
    let bed = Bed::with(|codes| codes.attempts(3));
    let issued = bed.issue("ada", "login");
    for n in [2, 1] {
        assert_eq!(bed.verify("ada", &wrong(&issued)), Err(left(n)));
    }
    assert!(bed.accepts("ada", &issued));
    bed.end();
}

#[test]
fn a_new_code_has_its_own_attempts_but_not_its_own_subject() {
    let bed = Bed::with(|codes| codes.attempts(3).attempts_per_subject(5, secs(3600)));
    let first = bed.issue("ada", "login");
    for n in [2, 1, 0] {
        assert_eq!(bed.verify("ada", &wrong(&first)), Err(left(n)));
    }
    let second = bed.issue("ada", "login");
    for n in [1, 0] {
        assert_eq!(bed.verify("ada", &wrong(&second)), Err(left(n))); // of the subject's
    }
    assert!(!bed.accepts("ada", &second));
    let refused = bed.codes.issue("ada", "login").unwrap_err();
    assert_eq!(refused, IssueError::TooManyAttempts(secs(3600)));
    let reasons = bed.end();
    assert!(reasons.values().all(|r| *r == EndReason::TooManyAttempts));
}

#[test]
fn the_count_of_a_subject_ends_its_codes_for_all_purposes() {
    let bed = Bed::with(|codes| codes.attempts(100).attempts_per_subject(2, secs(60)));
    let login = bed.issue("ada", "login");
    let reset = bed.issue("ada", "reset");
    let other = bed.issue("bob", "login");
    assert_eq!(bed.verify("ada", &wrong(&login)), Err(left(1)));
    let refused = bed
        .codes
        .verify("ada", "reset", &wrong(&reset))
        .unwrap_err();
    assert_eq!(refused.cause(), left(0));
    assert_eq!(bed.events.reasons(), [EndReason::TooManyAttempts; 2]);
    for (purpose, code) in [("login", &login), ("reset", &reset)] {
        assert!(
            bed.codes
                .verify("ada", purpose, code.code.expose())
                .is_err()
        );
    }
    assert!(bed.accepts("bob", &other));
}

#[test]
fn the_count_of_a_subject_outlives_the_code_and_ends_with_its_window() {
    let bed = Bed::with(|codes| {
        let codes = codes.attempts(1).attempts_per_subject(2, secs(600));
        codes.time_to_live(secs(10))
    });
    for n in [0, 100] {
        bed.clock.advance(secs(n));
        let issued = bed.issue("ada", "login");
        assert_eq!(bed.verify("ada", &wrong(&issued)), Err(left(0)));
        bed.clock.advance(secs(10));
        bed.turn(); // the codes are long gone
    }
    // Attempts at 0 and 110; now it is 120.
    assert_eq!((bed.codes.len(), bed.codes.remembered()), (0, 1));
    for (wait, error) in [
        (0, Some(IssueError::TooManyAttempts(secs(480)))),
        (479, Some(IssueError::TooManyAttempts(secs(1)))),
        (1, None),
    ] {
        bed.clock.advance(secs(wait));
        bed.turn();
        assert_eq!(bed.codes.issue("ada", "login").err(), error, "{wait}");
    }
    // The first is forgotten, the second is not.
    let cause = bed.verify("ada", "not it").unwrap_err();
    assert_eq!(cause, RefusedCause::Malformed);
    assert_eq!(bed.verify("bob", "000000"), Err(RefusedCause::Unknown));
}

#[test]
fn a_right_answer_does_not_clear_the_count_of_the_subject() {
    let bed = Bed::with(|codes| codes.attempts_per_subject(3, secs(600)));
    for n in [2, 1] {
        let issued = bed.issue("ada", "login");
        assert_eq!(bed.verify("ada", &wrong(&issued)), Err(left(n)));
        assert!(bed.accepts("ada", &issued));
    }
    bed.end();
}

#[test]
fn what_cannot_be_right_is_not_charged() {
    let bed = Bed::with(|codes| codes.attempts(2).attempts_per_subject(2, secs(600)));
    let first = bed.issue("ada", "login");
    let issued = bed.issue("ada", "login");
    let long = "1".repeat(1 << 20);
    for answer in ["", "12345", "1234567", "12345x", &long] {
        assert_eq!(bed.verify("ada", answer), Err(RefusedCause::Malformed));
    }
    // Meant for the code before.
    for code in [&first, &issued] {
        let verified = bed
            .codes
            .verify_nonce("ada", "login", first.nonce, code.code.expose());
        assert_eq!(verified.unwrap_err().cause(), RefusedCause::OtherNonce);
    }
    // No code there.
    for _ in 0..9 {
        assert!(bed.codes.verify("ada", "reset", "000000").is_err());
        assert!(bed.codes.verify("", "login", "000000").is_err());
    }
    assert_eq!(bed.verify("ada", &wrong(&issued)), Err(left(1)));
    assert!(bed.accepts("ada", &issued));
    bed.end();
}

#[test]
fn with_its_nonce_an_answer_is_judged_like_any() {
    let bed = Bed::with(|codes| codes.attempts(2));
    let issued = bed.issue("ada", "login");
    let verify = |answer: &str| {
        let verified = bed.codes.verify_nonce("ada", "login", issued.nonce, answer);
        verified.map_err(|refused| refused.cause())
    };
    assert_eq!(verify(&wrong(&issued)), Err(left(1)));
    assert_eq!(verify(issued.code.expose()), Ok(()));
    assert!(verify(issued.code.expose()).is_err());
}
