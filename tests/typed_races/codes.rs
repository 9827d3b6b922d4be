//! One code.

use std::sync::{Arc, Mutex};

use tickwheel::{EndReason, OneTimeCodes, RefusedCause};

use super::*;

/// What came of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Accepted,
    Compared,
    Other,
}

#[test]
fn at_its_very_deadline_a_code_is_accepted_once_or_not_at_all() {
    for round in 0..60 {
        let (clock, timers) = hand_driven();
        let ends = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&ends);
        let codes = OneTimeCodes::builder(&timers)
            .time_to_live(nanos(100))
            .attempts(5)
            .on_end(move |end| log.lock().unwrap().push(end.reason))
            .build()
            .unwrap();
        let issued = codes.issue("ada", "login").unwrap();
        let right = issued.code.expose();
        let wrong = if right == "000000" {
            "000001"
        } else {
            "000000"
        };
        clock.advance(nanos(99));
        let answers = race(THREADS, |n| {
            if n == round {
                clock.advance(nanos(1));
                let _ = timers.turn();
            }
            // In some rounds all are right.
            let answer = if n % 3 > 0 || round % 2 == 0 {
                right
            } else {
                wrong
            };
            match codes.verify("ada", "login", answer) {
                Ok(()) => Answer::Accepted,
                Err(refused) if matches!(refused.cause(), RefusedCause::Mismatch { .. }) => {
                    Answer::Compared
                }
                Err(_) => Answer::Other,
            }
        });
        let count = |what| answers.iter().filter(|answer| **answer == what).count();
        let (accepted, compared) = (count(Answer::Accepted), count(Answer::Compared));
        assert!(accepted <= 1 && compared <= 5, "{accepted}, {compared}");
        assert!(codes.verify("ada", "login", right).is_err(), "it is over");
        let ends = ends.lock().unwrap();
        let expected = match (accepted, compared) {
            (1, _) => EndReason::Consumed,
            (_, 5) => EndReason::TooManyAttempts,
            _ => EndReason::Absolute,
        };
        assert_eq!(*ends, [expected], "{accepted}, {compared}");
    }
}
