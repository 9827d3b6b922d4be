//! Codes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tickwheel::{EndReason, OneTimeCodes};

use super::{Time, left, restart, time};
use crate::{KEY, Machine, secs, stored};

const TTL: u64 = 40;
const ATTEMPTS: u32 = 3;
const COOLDOWN: u64 = 7;
/// Wrong answers for a subject, and codes for one, in that many seconds.
const WINDOW: u64 = 100;
const WRONG: usize = 5;
const ISSUES: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Issue(u8),
    Right(u8),
    Wrong(u8),
    Cancel(u8),
    Time(Time),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3u8).prop_map(Step::Issue),
        1 => (0..3u8).prop_map(Step::Right),
        4 => (0..3u8).prop_map(Step::Wrong),
        1 => (0..3u8).prop_map(Step::Cancel),
        4 => time().prop_map(Step::Time),
    ]
}

/// The generation, how it has ended.
type Ends = Arc<Mutex<Vec<(u64, EndReason)>>>;

fn start(machine: &Machine, ends: &Ends) -> OneTimeCodes {
    let ends = Arc::clone(ends);
    OneTimeCodes::builder(&machine.timers)
        .time_to_live(secs(TTL))
        .attempts(ATTEMPTS)
        .cooldown(secs(COOLDOWN))
        .attempts_per_subject(u16::try_from(WRONG).unwrap(), secs(WINDOW))
        .issues_per_subject(u16::try_from(ISSUES).unwrap(), secs(WINDOW))
        .digest_key(KEY)
        .on_end(move |ended| ends.lock().unwrap().push((ended.generation, ended.reason)))
        .build()
        .unwrap()
}

struct Code {
    text: String,
    generation: u64,
    deadline: u64,
    wrong: u32,
}

/// A subject, as the map has it. It forgets nothing.
#[derive(Default)]
struct Subject {
    code: Option<Code>,
    issued: Vec<u64>,
    wrong: Vec<u64>,
}

/// How many of these count at `now`.
fn counted(times: &[u64], now: u64) -> usize {
    times.iter().filter(|time| now < **time + WINDOW).count()
}

impl Subject {
    fn may_issue(&self, now: u64) -> bool {
        let cooled = self.issued.last().is_none_or(|last| now >= last + COOLDOWN);
        cooled && counted(&self.issued, now) < ISSUES && counted(&self.wrong, now) < WRONG
    }
}

proptest! {
    #[test]
    fn codes_do_what_a_map_does(steps in prop::collection::vec(step(), 0..50)) {
        let ends = Ends::default();
        let mut machine = Machine::noon();
        let mut codes = start(&machine, &ends);
        let (mut now, mut subjects, mut expected) = (0, BTreeMap::<u8, Subject>::new(), Vec::new());
        let mut largest = None;
        for step in steps {
            match step {
                Step::Issue(name) => {
                    let subject = subjects.entry(name).or_default();
                    let issued = codes.issue([name], "login");
                    prop_assert_eq!(issued.is_ok(), subject.may_issue(now), "{:?}", issued);
                    if let Ok(issued) = issued {
                        prop_assert!(Some(issued.generation) > largest);
                        largest = Some(issued.generation);
                        let code = subject.code.replace(Code {
                            text: issued.code.expose().into(),
                            generation: issued.generation,
                            deadline: now + TTL,
                            wrong: 0,
                        });
                        expected.extend(code.map(|code| (code.generation, EndReason::Replaced)));
                        subject.issued.push(now);
                    }
                }
                Step::Right(name) => {
                    let code = subjects.get_mut(&name).and_then(|subject| subject.code.take());
                    let answer = code.as_ref().map_or("123456", |code| code.text.as_str());
                    let accepted = codes.verify([name], "login", answer).is_ok();
                    prop_assert_eq!(accepted, code.is_some());
                    expected.extend(code.map(|code| (code.generation, EndReason::Consumed)));
                }
                Step::Wrong(name) => {
                    let subject = subjects.entry(name).or_default();
                    let is_zero = subject.code.as_ref().is_some_and(|code| code.text == "000000");
                    let answer = if is_zero { "000001" } else { "000000" };
                    prop_assert!(codes.verify([name], "login", answer).is_err());
                    if let Some(code) = &mut subject.code {
                        code.wrong += 1;
                        subject.wrong.push(now);
                        if code.wrong >= ATTEMPTS || counted(&subject.wrong, now) >= WRONG {
                            expected.push((code.generation, EndReason::TooManyAttempts));
                            subject.code = None;
                        }
                    }
                }
                Step::Cancel(name) => {
                    let code = subjects.get_mut(&name).and_then(|subject| subject.code.take());
                    prop_assert_eq!(codes.cancel([name], "login").is_some(), code.is_some());
                    expected.extend(code.map(|code| (code.generation, EndReason::Removed)));
                }
                Step::Time(Time::Pass(span)) => {
                    machine.pass(secs(span));
                    now += span;
                }
                Step::Time(Time::Restart { down, behind, margin, keeps_remaining }) => {
                    let snapshot = stored(&codes.snapshot_at(machine.anchor));
                    drop(codes);
                    ends.lock().unwrap().retain(|(_, reason)| *reason != EndReason::Shutdown);
                    let (next, options, elapsed) =
                        restart(&machine, down, behind, margin, keeps_remaining);
                    machine = next;
                    codes = start(&machine, &ends);
                    codes.restore(snapshot, &["login"], options).unwrap();
                    now += elapsed;
                }
            }
            for subject in subjects.values_mut() {
                if let Some(code) = subject.code.take_if(|code| code.deadline <= now) {
                    expected.push((code.generation, EndReason::Absolute));
                }
            }
            for name in 0..3u8 {
                let code = subjects.get(&name).and_then(|subject| subject.code.as_ref());
                let lives = code.and_then(|code| left(now, code.deadline));
                prop_assert_eq!(codes.time_to_live([name], "login"), lives);
            }
            let mut told = ends.lock().unwrap().clone();
            told.sort_by_key(|(generation, _)| *generation);
            expected.sort_by_key(|(generation, _)| *generation);
            prop_assert_eq!(&told, &expected);
        }
    }
}
