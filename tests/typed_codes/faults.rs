//! Faults that others have had with one-time codes, each under the public report of it.

use tickwheel::{EndReason, RefusedCause, ReplayError, ReplayGuard, Timestamp};

use crate::threads::race;
use crate::{Bed, secs, wrong};

/// better-auth/better-auth#8067, own-pay/OwnPay#145: checked, then deleted, so that one code was accepted many times.
#[test]
fn a_code_is_accepted_once_however_many_answer_at_a_time() {
    let bed = Bed::new();
    for round in 0..100 {
        let subject = format!("ada {round}");
        let issued = bed.issue(&subject, "login");
        assert_eq!(race(8, |_| bed.accepts(&subject, &issued)), 1);
    }
    bed.end();
}

/// better-auth/better-auth#8067, the same report: the count of attempts read, then written, so that many guesses at a
/// time counted as one.
#[test]
fn attempts_at_a_time_count_one_by_one() {
    let bed = Bed::with(|codes| codes.attempts(3));
    let issued = bed.issue("ada", "login");
    let wrong = wrong(&issued);
    race(16, |_| bed.verify("ada", &wrong).is_ok());
    assert!(!bed.accepts("ada", &issued));
    assert_eq!(bed.end()[&issued.generation], EndReason::TooManyAttempts);
}

/// logto-io/logto#9109, forgekeep/nebula-mesh#237, better-auth/better-auth#11259: the last step that was used moved
/// back when a slow request ended last.
#[test]
fn the_newest_step_never_moves_back() {
    let bed = Bed::new();
    let guard = ReplayGuard::new(&bed.timers, secs(90)).unwrap();
    for round in 0..100 {
        let subject = format!("ada {round}");
        let accepted = race(2, |n| guard.accept(&subject, [5, 6][n]).is_ok());
        assert!((1..=2).contains(&accepted));
        for step in [6, 5, 4] {
            assert_eq!(guard.accept(&subject, step), Err(ReplayError::Replayed));
        }
        assert_eq!(guard.accept(&subject, 7), Ok(()));
    }
}

/// govuk-one-login/authentication-api#4583: the count of attempts lived shorter than the code, for more guesses.
#[test]
fn a_code_that_was_tried_too_often_stays_dead_for_as_long_as_it_would_have_lived() {
    let bed = Bed::with(|codes| codes.time_to_live(secs(3600)).attempts(5));
    let issued = bed.issue("ada", "login");
    for _ in 0..5 {
        assert!(bed.verify("ada", &wrong(&issued)).is_err());
    }
    for at in [901, 3599, 3600, 3601] {
        bed.clock.set(Timestamp::from_duration(secs(at)));
        bed.turn();
        assert!(bed.verify("ada", &wrong(&issued)).is_err());
        assert!(!bed.accepts("ada", &issued));
    }
    bed.end();
}

/// activepieces/activepieces#14751, lukevella/rallly#2439: whether a second letter extends the first code. It is a new
/// code, and the old one is dead at once.
#[test]
fn a_second_letter_holds_a_new_code_and_kills_the_old_one() {
    let bed = Bed::with(|codes| codes.time_to_live(secs(600)));
    let first = bed.issue("ada", "login");
    bed.clock.advance(secs(500));
    let second = bed.issue("ada", "login");
    for at in [550, 650] {
        bed.clock.set(Timestamp::from_duration(secs(at)));
        let verified = bed
            .codes
            .verify_nonce("ada", "login", first.nonce, first.code.expose());
        assert_eq!(verified.unwrap_err().cause(), RefusedCause::OtherNonce);
    }
    assert!(bed.accepts("ada", &second));
    let reasons = bed.end();
    assert_eq!(reasons[&first.generation], EndReason::Replaced);
}

/// cds-snc/ai-answers#1246: a wrong guess at the old code, on its way when the new one was issued, was charged to that.
#[test]
fn a_guess_at_the_old_code_is_not_charged_to_the_new_one() {
    let bed = Bed::with(|codes| codes.attempts(1));
    for _ in 0..50 {
        let old = bed.issue("ada", "login");
        let guess = wrong(&old);
        let new = std::sync::Mutex::new(None);
        race(2, |n| {
            if n == 0 {
                *new.lock().unwrap() = Some(bed.issue("ada", "login"));
                return false;
            }
            bed.codes
                .verify_nonce("ada", "login", old.nonce, &guess)
                .is_ok()
        });
        let new = new.into_inner().unwrap().unwrap();
        assert!(bed.accepts("ada", &new)); // its only attempt
    }
    bed.end();
}

/// stas/otp-jwt#5: one slip of a finger killed the code.
#[test]
fn one_wrong_answer_does_not_kill_the_code() {
    let bed = Bed::new();
    let issued = bed.issue("ada", "login");
    assert!(bed.verify("ada", &wrong(&issued)).is_err());
    assert!(bed.accepts("ada", &issued));
    bed.end();
}

/// lukevella/rallly#2439: expired and wrong were the same to whoever had to look into it. In logs they differ, and the
/// boundary is exact.
#[test]
fn expired_and_wrong_are_told_apart_in_logs() {
    for (at, right, expected) in [
        (10, true, Err(RefusedCause::Ended(EndReason::Absolute))),
        (9, true, Ok(())),
        (5, false, Err(RefusedCause::Mismatch { left: 4 })),
    ] {
        let bed = Bed::with(|codes| codes.time_to_live(secs(10)).cooldown(secs(30)));
        let issued = bed.issue("ada", "login");
        bed.clock.advance(secs(at));
        let wrong = wrong(&issued);
        let answer = if right { issued.code.expose() } else { &wrong };
        assert_eq!(bed.verify("ada", answer), expected);
        bed.end();
    }
}

/// thunderbird/thunderbolt#555: a second letter gave a fresh count of guesses.
#[test]
fn a_second_letter_does_not_refill_the_guesses_of_a_subject() {
    let bed = Bed::with(|codes| codes.attempts(5).attempts_per_subject(10, secs(3600)));
    let mut guesses = 0;
    while let Ok(issued) = bed.codes.issue("ada", "login") {
        while let Err(RefusedCause::Mismatch { .. }) = bed.verify("ada", &wrong(&issued)) {
            guesses += 1;
        }
    }
    assert_eq!(guesses, 10);
}

/// CapSoftware/Cap#2221: looked up by the code itself, a wrong guess found nothing to charge.
#[test]
fn a_guess_is_charged_to_the_subject_it_is_for() {
    let bed = Bed::with(|codes| codes.attempts(1));
    let ada = bed.issue("ada", "login");
    let bob = bed.issue("bob", "login");
    if ada.code.expose() != bob.code.expose() {
        assert!(bed.verify("ada", bob.code.expose()).is_err());
        assert!(!bed.accepts("ada", &ada));
    }
    assert!(bed.accepts("bob", &bob));
    bed.end();
}

/// tzsk/otp#429: what was checked could be checked again.
#[test]
fn to_check_is_to_consume() {
    let bed = Bed::new();
    let issued = bed.issue("ada", "login");
    assert!(bed.accepts("ada", &issued) && !bed.accepts("ada", &issued));
}

/// Infisical/infisical#6112: used steps were remembered for 60 s, and passwords were good for 90.
#[test]
fn a_step_is_remembered_as_long_as_its_password_is_good() {
    let bed = Bed::new();
    let guard = ReplayGuard::for_totp(&bed.timers, secs(30), 1).unwrap();
    // The password of step 11 is good from the beginning of step 10, at 300, to the end of step 12, at 390.
    bed.clock.advance(secs(300));
    assert_eq!(guard.accept("ada", 11), Ok(()));
    for at in [360, 389] {
        bed.clock.set(Timestamp::from_duration(secs(at)));
        bed.turn();
        assert_eq!(guard.accept("ada", 11), Err(ReplayError::Replayed));
    }
    bed.clock.set(Timestamp::from_duration(secs(390)));
    bed.turn();
    assert_eq!(guard.remembered(), 0);
}
