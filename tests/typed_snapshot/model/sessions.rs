//! Sessions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tickwheel::{EndReason, SessionLimits, SessionPolicy, Sessions};

use super::{Time, left, restart, time};
use crate::{Machine, secs, stored};

#[derive(Clone, Debug)]
enum Step {
    Start(u8, Option<u64>, Option<u64>),
    Touch(u8),
    Update(u8, u16),
    Remove(u8),
    Time(Time),
}

fn step() -> impl Strategy<Value = Step> {
    let limit = || prop::option::weighted(0.8, 0..80u64);
    prop_oneof![
        4 => (0..4u8, limit(), limit()).prop_map(|(key, idle, end)| Step::Start(key, idle, end)),
        2 => (0..4u8).prop_map(Step::Touch),
        1 => (0..4u8, any::<u16>()).prop_map(|(key, value)| Step::Update(key, value)),
        1 => (0..4u8).prop_map(Step::Remove),
        4 => time().prop_map(Step::Time),
    ]
}

/// The generation, how it has ended.
type Ends = Arc<Mutex<Vec<(u64, EndReason)>>>;

fn start(machine: &Machine, ends: &Ends) -> Sessions<u8, u16> {
    let ends = Arc::clone(ends);
    Sessions::with_events(&machine.timers, SessionPolicy::new(), move |ended| {
        ends.lock().unwrap().push((ended.generation, ended.reason));
    })
}

/// A session, as the map has it. No end is at the end of time.
struct Session {
    generation: u64,
    value: u16,
    version: u64,
    idle: u64,
    until: u64,
    absolute: u64,
}

const NEVER: u64 = u64::MAX;

impl Session {
    fn touch(&mut self, now: u64) {
        self.until = self.until.max(now.saturating_add(self.idle));
    }

    fn deadline(&self) -> u64 {
        self.until.min(self.absolute)
    }

    fn reason(&self) -> EndReason {
        if self.absolute <= self.until {
            EndReason::Absolute
        } else {
            EndReason::Idle
        }
    }
}

proptest! {
    #[test]
    fn sessions_do_what_a_map_does(steps in prop::collection::vec(step(), 0..40)) {
        let ends = Ends::default();
        let mut machine = Machine::noon();
        let mut sessions = start(&machine, &ends);
        let (mut now, mut map, mut expected) = (0u64, BTreeMap::<u8, Session>::new(), Vec::new());
        let mut largest = 0;
        for step in steps {
            match step {
                Step::Start(key, idle, absolute) => {
                    let limits = SessionLimits { idle: idle.map(secs), absolute: absolute.map(secs) };
                    let started = sessions.start_with(key, 7, None, limits).unwrap();
                    prop_assert!(started.generation > largest);
                    largest = started.generation;
                    let end = |limit: Option<u64>| limit.map_or(NEVER, |limit| now + limit);
                    let before = map.insert(key, Session {
                        generation: largest,
                        value: 7,
                        version: 0,
                        idle: idle.unwrap_or(NEVER),
                        until: end(idle),
                        absolute: end(absolute),
                    });
                    expected.extend(before.map(|ended| (ended.generation, EndReason::Replaced)));
                }
                Step::Touch(key) => {
                    prop_assert_eq!(sessions.touch(&key).is_ok(), map.contains_key(&key));
                    if let Some(session) = map.get_mut(&key) {
                        session.touch(now);
                    }
                }
                Step::Update(key, value) => {
                    let seen = sessions.peek(&key);
                    prop_assert_eq!(seen.is_some(), map.contains_key(&key));
                    if let (Some(seen), Some(session)) = (seen, map.get_mut(&key)) {
                        prop_assert!(sessions.update(&key, &seen, value).is_ok());
                        (session.value, session.version) = (value, session.version + 1);
                        session.touch(now);
                    }
                }
                Step::Remove(key) => {
                    let removed = map.remove(&key);
                    prop_assert_eq!(sessions.remove(&key).is_ok(), removed.is_some());
                    expected.extend(removed.map(|ended| (ended.generation, EndReason::Removed)));
                }
                Step::Time(Time::Pass(span)) => {
                    machine.pass(secs(span));
                    now += span;
                }
                Step::Time(Time::Restart { down, behind, margin, keeps_remaining }) => {
                    let snapshot = stored(&sessions.snapshot_at(machine.anchor));
                    prop_assert_eq!(snapshot.sessions.len(), map.len());
                    drop(sessions);
                    ends.lock().unwrap().retain(|(_, reason)| *reason != EndReason::Shutdown);
                    let (next, options, elapsed) =
                        restart(&machine, down, behind, margin, keeps_remaining);
                    machine = next;
                    sessions = start(&machine, &ends);
                    let report = sessions.restore(snapshot, options).unwrap();
                    now += elapsed;
                    prop_assert_eq!(report.restored + report.expired, map.len());
                }
            }
            map.retain(|_, session| {
                if session.deadline() <= now {
                    expected.push((session.generation, session.reason()));
                }
                session.deadline() > now
            });
            for key in 0..4u8 {
                let lives = map.get(&key);
                let deadline = lives.map(Session::deadline);
                let found = sessions.time_to_live(&key).ok();
                prop_assert_eq!(found.is_some(), lives.is_some());
                let of = |deadline: u64| (deadline != NEVER).then(|| left(now, deadline)).flatten();
                prop_assert_eq!(found.and_then(|found| found.effective), deadline.and_then(of));
                let seen = sessions.peek(&key).map(|seen| (*seen.value, seen.version));
                prop_assert_eq!(seen, lives.map(|session| (session.value, session.version)));
            }
            let mut told = ends.lock().unwrap().clone();
            told.sort_by_key(|(generation, _)| *generation);
            expected.sort_by_key(|(generation, _)| *generation);
            prop_assert_eq!(&told, &expected);
        }
    }
}
