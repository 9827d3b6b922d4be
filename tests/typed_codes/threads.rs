//! Many threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tickwheel::{EndReason, RefusedCause};

use crate::{Bed, secs, wrong};

/// Runs `each` in that many threads at once, and counts how often it says yes.
pub(crate) fn race(threads: usize, each: impl Fn(usize) -> bool + Sync) -> usize {
    let start = Barrier::new(threads);
    let yes = AtomicUsize::new(0);
    thread::scope(|scope| {
        for n in 0..threads {
            let (start, yes, each) = (&start, &yes, &each);
            scope.spawn(move || {
                start.wait();
                if each(n) {
                    yes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    yes.into_inner()
}

#[test]
fn of_64_right_answers_one_is_accepted() {
    let bed = Bed::new();
    for round in 0..20 {
        let subject = format!("ada {round}");
        let issued = bed.issue(&subject, "login");
        assert_eq!(race(64, |_| bed.accepts(&subject, &issued)), 1);
    }
    let reasons = bed.end();
    assert!(
        reasons
            .values()
            .all(|reason| *reason == EndReason::Consumed)
    );
}

#[test]
fn of_64_wrong_answers_no_more_are_compared_than_may_be() {
    let bed = Bed::with(|codes| codes.attempts(5).cooldown(secs(600)));
    for round in 0..20 {
        let subject = format!("ada {round}");
        let issued = bed.issue(&subject, "login");
        let wrong = wrong(&issued);
        let compared = race(64, |_| {
            matches!(
                bed.verify(&subject, &wrong),
                Err(RefusedCause::Mismatch { .. })
            )
        });
        assert_eq!(compared, 5);
        assert!(!bed.accepts(&subject, &issued));
    }
    let reasons = bed.end();
    assert!(
        reasons
            .values()
            .all(|reason| *reason == EndReason::TooManyAttempts)
    );
}

#[test]
fn of_right_and_wrong_answers_at_most_one_wins_and_each_wrong_one_counts() {
    let bed = Bed::with(|codes| codes.attempts(5).cooldown(secs(600)));
    for round in 0..30 {
        let subject = format!("ada {round}");
        let issued = bed.issue(&subject, "login");
        let wrong = wrong(&issued);
        let compared = AtomicUsize::new(0);
        let won = race(64, |n| {
            if n % 4 == 0 {
                return bed.accepts(&subject, &issued);
            }
            if let Err(RefusedCause::Mismatch { .. }) = bed.verify(&subject, &wrong) {
                compared.fetch_add(1, Ordering::Relaxed);
            }
            false
        });
        let compared = compared.into_inner();
        assert!(won <= 1 && compared <= 5, "{won} {compared}");
        assert_eq!(won == 0, compared == 5, "{won} {compared}");
    }
    bed.end();
}

#[test]
fn of_64_issues_one_is_within_the_cooldown() {
    let bed = Bed::with(|codes| codes.cooldown(secs(30)).capacity(20));
    for round in 0..20 {
        let subject = format!("ada {round}");
        let issued = race(64, |_| bed.codes.issue(&subject, "login").is_ok());
        assert_eq!(issued, 1);
        assert_eq!(bed.codes.len(), round + 1);
    }
    assert_eq!(
        race(64, |n| bed.codes.issue(n.to_string(), "login").is_ok()),
        0
    );
    assert_eq!(bed.codes.remembered(), 20);
}

#[test]
fn no_more_codes_live_than_may_whoever_issues_them() {
    let bed = Bed::with(|codes| codes.capacity(10));
    let issued = race(64, |n| bed.codes.issue(n.to_string(), "login").is_ok());
    assert_eq!(issued, 10);
    assert_eq!((bed.codes.len(), bed.codes.remembered()), (10, 10));
    assert_eq!(bed.timers.len(), 10);
}

/// Everything at once, also the clock and the driver: each code ends once, and is accepted at most once, and
/// nothing is left.
#[test]
fn whatever_races_each_code_ends_once() {
    let bed = Bed::with(|codes| {
        codes
            .attempts(2)
            .time_to_live(Duration::from_millis(5))
            .cooldown(Duration::from_millis(1))
            .attempts_per_subject(50, Duration::from_millis(8))
            .issues_per_subject(50, Duration::from_millis(8))
            .capacity(12)
    });
    let accepted = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let users: Vec<_> = (0..6)
            .map(|n| {
                let (bed, accepted) = (&bed, &accepted);
                scope.spawn(move || {
                    for round in 0..1500usize {
                        let subject = ["a", "b", "c", "d"][(round + n) % 4];
                        let purpose = ["login", "reset"][round / 4 % 2];
                        let Ok(issued) = bed.codes.issue(subject, purpose) else {
                            let _ = bed.codes.verify(subject, purpose, "000000");
                            continue;
                        };
                        bed.issued.lock().unwrap().push(issued.generation);
                        match round % 5 {
                            0 => drop(bed.codes.cancel(subject, purpose)),
                            1 => drop(bed.codes.verify(subject, purpose, "123456")),
                            2 => drop(bed.codes.len()),
                            _ => {}
                        }
                        let (nonce, code) = (issued.nonce, issued.code.expose());
                        let verified = bed.codes.verify_nonce(subject, purpose, nonce, code);
                        accepted.fetch_add(usize::from(verified.is_ok()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                bed.clock.advance(Duration::from_micros(300));
                let _ = bed.timers.turn();
                thread::yield_now();
            }
        });
        for user in users {
            user.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    bed.clock.advance(secs(1));
    bed.turn();
    assert!(bed.timers.is_empty(), "{:?}", bed.timers);
    let shown = format!("{:?}", bed.codes);
    assert!(shown.contains("codes: 0, subjects: 0"), "{shown}");
    let accepted = accepted.into_inner();
    let reasons = bed.end();
    let consumed = reasons
        .values()
        .filter(|reason| **reason == EndReason::Consumed)
        .count();
    // A guess of 123456 may have been right.
    assert!(
        consumed.abs_diff(accepted) <= 1 && consumed > 0,
        "{consumed} {accepted}"
    );
}

#[test]
fn a_shutdown_that_races_with_issues_ends_each_code_once() {
    for round in 0..200 {
        let bed = Bed::with(|codes| codes.cooldown(secs(round % 2)));
        race(4, |n| {
            if n == 0 {
                bed.timers.shutdown(tickwheel::Shutdown::Drop);
            } else if let Ok(issued) = bed.codes.issue(n.to_string(), "login") {
                bed.issued.lock().unwrap().push(issued.generation);
            }
            false
        });
        assert_eq!(bed.codes.len(), 0);
        assert!(bed.codes.issue("ada", "login").is_err());
        bed.end();
    }
}

/// The last handle goes while the runtime's thread is about to end a code: that is told once, and the runtime, which
/// the codes alone have kept, ends too.
#[test]
fn codes_that_are_dropped_while_one_expires_end_it_once() {
    for round in 0..100 {
        let (told, events) = std::sync::mpsc::channel();
        let timers = tickwheel::Timers::new().unwrap();
        let codes = tickwheel::OneTimeCodes::builder(&timers)
            .time_to_live(Duration::from_millis(2))
            .on_end(move |ended| told.send(ended.generation).unwrap_or(()))
            .build()
            .unwrap();
        let issued = codes.issue("ada", "login").unwrap();
        let near = Duration::from_micros(round * 10);
        while timers.now() + near < issued.deadline + Duration::from_micros(500) {
            thread::yield_now();
        }
        drop(timers);
        drop(codes);
        // Until the hook is dropped.
        assert!(events.iter().eq([issued.generation]));
    }
}
