//! Random programs do what a plain oracle does.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use tickwheel::{Clock, CodeNonce, EndReason, RefusedCause, Timestamp};

use crate::oracle::{Code, History, Oracle, PURPOSES, Rules, SUBJECTS, Slot, duration, span};
use crate::{Bed, Event};

#[derive(Clone, Copy, Debug)]
enum What {
    /// The code that lives, or the last one.
    Right,
    /// The one before it.
    Old,
    Wrong,
    Malformed,
    RightWithNonce,
    WithOldNonce,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Issue(Slot),
    Verify(Slot, What),
    Cancel(Slot),
    CancelAll(usize),
    Advance(u64),
    Turn,
    Count,
}

fn rules() -> impl Strategy<Value = Rules> {
    (
        prop_oneof![Just(0u64), 1u64..30],
        1u32..4,
        (1u16..6, prop_oneof![Just(0u64), 1u64..40]),
        prop_oneof![Just(0u64), 1u64..10],
        (1u16..5, prop_oneof![Just(0u64), 1u64..40]),
        1usize..5,
    )
        .prop_map(
            |(ttl, attempts, subject_attempts, cooldown, issues, capacity)| Rules {
                ttl,
                attempts,
                subject_attempts,
                cooldown,
                issues,
                capacity,
            },
        )
}

fn step() -> impl Strategy<Value = Step> {
    let slot = || (0..SUBJECTS.len(), 0..PURPOSES.len());
    let what = prop_oneof![
        2 => Just(What::Right),
        1 => Just(What::Old),
        3 => Just(What::Wrong),
        1 => Just(What::Malformed),
        1 => Just(What::RightWithNonce),
        1 => Just(What::WithOldNonce),
    ];
    prop_oneof![
        4 => slot().prop_map(Step::Issue),
        6 => (slot(), what).prop_map(|(slot, what)| Step::Verify(slot, what)),
        1 => slot().prop_map(Step::Cancel),
        1 => (0..SUBJECTS.len()).prop_map(Step::CancelAll),
        4 => (0u64..12).prop_map(Step::Advance),
        2 => Just(Step::Turn),
        1 => Just(Step::Count),
    ]
}

/// What is answered. An old code may be the new one by chance: the oracle judges by what it says.
fn answer(slot: &History, what: What) -> (String, Option<CodeNonce>) {
    let nothing = || (String::from("000000"), CodeNonce::from_u64(0));
    let back = |n: usize| slot.all.iter().rev().nth(n).cloned();
    let (last, nonce) = back(0).unwrap_or_else(nothing);
    let (old, old_nonce) = back(1).unwrap_or_else(nothing);
    match what {
        What::Right => (last, None),
        What::Old => (old, None),
        What::Wrong => {
            let digit = if last.starts_with('0') { '1' } else { '0' };
            (format!("{digit}{}", &last[1..]), None)
        }
        What::Malformed => (String::from("0000"), None),
        What::RightWithNonce => (last, Some(nonce)),
        What::WithOldNonce => (last, Some(old_nonce)),
    }
}

fn check(rules: Rules, steps: Vec<Step>, turns: bool) -> Result<(), TestCaseError> {
    let bed = Bed::with(|codes| {
        codes
            .time_to_live(duration(rules.ttl))
            .attempts(rules.attempts)
            .attempts_per_subject(rules.subject_attempts.0, duration(rules.subject_attempts.1))
            .cooldown(duration(rules.cooldown))
            .issues_per_subject(rules.issues.0, duration(rules.issues.1))
            .capacity(rules.capacity)
    });
    let mut oracle = Oracle {
        rules,
        now: 0,
        subjects: Default::default(),
        ended: BTreeMap::new(),
    };
    for step in steps {
        match step {
            Step::Issue(slot) => {
                let allowed = oracle.may_issue(slot);
                let issued = bed.codes.issue(SUBJECTS[slot.0], PURPOSES[slot.1]);
                prop_assert_eq!(issued.as_ref().err().copied(), allowed.err(), "{:?}", step);
                if let Ok(issued) = issued {
                    let deadline = oracle.now + span(rules.ttl);
                    prop_assert_eq!(issued.deadline, Timestamp::from_nanos(deadline));
                    let code = Code {
                        answer: String::from(issued.code.expose()),
                        nonce: issued.nonce,
                        generation: issued.generation,
                        deadline,
                        wrong: 0,
                    };
                    oracle.issued(slot, code);
                }
            }
            Step::Verify(slot, what) => {
                let (subject, purpose) = (SUBJECTS[slot.0], PURPOSES[slot.1]);
                let (answer, nonce) = answer(&oracle.subjects[slot.0].slots[slot.1], what);
                let expected = oracle.verify(slot, &answer, nonce);
                let found = match nonce {
                    None => bed.codes.verify(subject, purpose, &answer),
                    Some(nonce) => bed.codes.verify_nonce(subject, purpose, nonce, &answer),
                };
                let found = found.map_err(|refused| refused.cause());
                let forgotten = found == Err(RefusedCause::Unknown)
                    && matches!(expected, Err(RefusedCause::Ended(_)))
                    && oracle.subjects[slot.0].slots[slot.1].doubtful;
                if !forgotten {
                    prop_assert_eq!(found, expected, "{:?}", step);
                }
            }
            Step::Cancel((subject, purpose)) => {
                let slot = &mut oracle.subjects[subject].slots[purpose];
                let nonce = slot.live.as_ref().map(|code| code.nonce);
                slot.end(EndReason::Removed, &mut oracle.ended);
                oracle.advance(0);
                let found = bed.codes.cancel(SUBJECTS[subject], PURPOSES[purpose]);
                prop_assert_eq!(found, nonce);
            }
            Step::CancelAll(subject) => {
                let ended = &mut oracle.ended;
                let slots = oracle.subjects[subject].slots.iter_mut();
                let count = slots
                    .filter_map(|slot| slot.end(EndReason::Removed, ended).then_some(()))
                    .count();
                oracle.advance(0);
                prop_assert_eq!(bed.codes.cancel_all(SUBJECTS[subject]), count);
            }
            Step::Advance(units) => {
                oracle.advance(span(units));
                bed.clock.advance(duration(units));
                prop_assert_eq!(bed.clock.now().as_nanos(), oracle.now);
            }
            Step::Turn if turns => bed.turn(),
            Step::Turn => {}
            Step::Count => {
                prop_assert_eq!(bed.codes.len(), oracle.living());
                prop_assert_eq!(bed.codes.remembered(), oracle.remembered());
                for (subject, name) in SUBJECTS.iter().enumerate() {
                    for (purpose, word) in PURPOSES.iter().enumerate() {
                        let code = &oracle.subjects[subject].slots[purpose].live;
                        let left = code
                            .as_ref()
                            .map(|code| Duration::from_nanos(code.deadline - oracle.now));
                        prop_assert_eq!(bed.codes.time_to_live(name, word), left);
                    }
                }
            }
        }
    }
    bed.timers.check();
    // What is left, the driver ends alone, and no timer and no record stays.
    oracle.advance(span(200));
    bed.clock.advance(duration(200));
    bed.turn();
    prop_assert!(bed.timers.is_empty(), "{:?}", bed.timers);
    let shown = format!("{:?}", bed.codes);
    prop_assert!(shown.contains("codes: 0, subjects: 0"), "{}", shown);
    let events: Vec<Event> = bed.events.take();
    let told: BTreeMap<_, _> = events.iter().map(|e| (e.generation, e.reason)).collect();
    prop_assert_eq!(told.len(), events.len(), "twice: {:?}", events);
    prop_assert_eq!(told, oracle.ended);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn programs_do_what_the_oracle_does(
        rules in rules(),
        steps in prop::collection::vec(step(), 0..80),
    ) {
        check(rules, steps, true)?;
    }

    /// Nobody drives until the end: what is read is exact all the same.
    #[test]
    fn programs_that_nobody_drives_do_too(
        rules in rules(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        check(rules, steps, false)?;
    }

    /// A clock that goes where it likes: none is told twice, none is early, none comes back.
    #[test]
    fn with_a_clock_that_goes_back_no_code_comes_back(
        rules in rules(),
        steps in prop::collection::vec((step(), 0u64..60), 0..60),
    ) {
        let bed = Bed::with(|codes| {
            codes
                .time_to_live(duration(rules.ttl))
                .attempts(rules.attempts)
                .cooldown(duration(rules.cooldown))
        });
        let mut issued = BTreeMap::new();
        let mut latest = 0;
        let mut dead = BTreeMap::new();
        for (step, time) in steps {
            let slot = match step {
                Step::Issue(slot) => {
                    if let Ok(code) = bed.codes.issue(SUBJECTS[slot.0], PURPOSES[slot.1]) {
                        let deadline = code.deadline.as_nanos();
                        issued.insert(code.generation, (slot, code, deadline));
                    }
                    slot
                }
                Step::Verify(slot, _) | Step::Cancel(slot) => slot,
                Step::Turn => {
                    bed.turn();
                    continue;
                }
                Step::Count => {
                    let _ = bed.codes.len();
                    continue;
                }
                Step::Advance(_) | Step::CancelAll(_) => {
                    bed.clock.jump(Timestamp::from_nanos(span(time)));
                    latest = latest.max(span(time));
                    continue;
                }
            };
            for event in bed.events.take() {
                prop_assert_eq!(dead.insert(event.generation, event.reason), None, "{:?}", event);
                if event.reason == EndReason::Absolute {
                    let deadline = event.deadline.as_nanos();
                    prop_assert!(deadline <= latest, "early: {:?} at {}", event, latest);
                }
            }
            // The newest code of the slot; an event in flight is told by the next look.
            let newest = issued.iter().rev().find(|(_, (of, ..))| *of == slot);
            if let (Some((generation, (_, code, _))), Step::Verify(..)) = (newest, step) {
                let answer = code.code.expose();
                let accepted = bed.codes.verify(SUBJECTS[slot.0], PURPOSES[slot.1], answer).is_ok();
                prop_assert!(!(accepted && dead.contains_key(generation)));
            }
        }
        let told = bed.events.take();
        dead.extend(told.iter().map(|event| (event.generation, event.reason)));
        let Bed { codes, events, .. } = bed;
        drop(codes);
        for event in events.take() {
            prop_assert_eq!(dead.insert(event.generation, event.reason), None);
        }
        prop_assert!(dead.keys().eq(issued.keys()));
    }
}
