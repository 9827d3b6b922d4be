//! Properties: random programs do what a map of deadlines does, step by step, and each session's end is told
//! once, with the reason and the deadline of the map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use tickwheel::{SessionLimits, StartError, UpdateError, WhenFull};

const NAMES: [Option<&str>; 3] = [None, Some("alice"), Some("bob")];

#[derive(Clone, Debug)]
enum Step {
    Start {
        key: u32,
        of: usize,
        idle: Option<u64>,
        absolute: Option<u64>,
    },
    TouchOrStart {
        key: u32,
        of: usize,
    },
    Get(u32),
    Peek(u32),
    Touch(u32),
    Update {
        key: u32,
        stale: bool,
    },
    Remove(u32),
    RevokeAll(usize),
    RevokeOthers(u32),
    Advance(u64),
    Drive,
}

#[derive(Clone, Debug)]
struct Rules {
    max: usize,
    per_principal: usize,
    when_full: WhenFull,
    touch: tickwheel::TouchPolicy,
}

#[derive(Clone, Debug)]
struct Alive {
    value: u64,
    version: u64,
    of: Option<&'static str>,
    idle: u64,
    absolute: u64,
    deadline: u64,
    born: (u64, u64),
}

/// A map of deadlines.
struct Oracle {
    now: u64,
    rules: Rules,
    alive: BTreeMap<u32, Alive>,
    ends: Vec<(u32, u64, EndReason, u64)>,
    started: u64,
}

impl Oracle {
    fn sweep(&mut self) {
        let dead = self.alive.iter().filter(|(_, a)| a.deadline <= self.now);
        for key in dead.map(|(key, _)| *key).collect::<Vec<_>>() {
            let a = &self.alive[&key];
            let reason = if a.deadline == a.absolute {
                EndReason::Absolute
            } else {
                EndReason::Idle
            };
            self.end(key, reason);
        }
    }

    fn end(&mut self, key: u32, reason: EndReason) {
        let a = self.alive.remove(&key).unwrap();
        self.ends.push((key, a.value, reason, a.deadline));
    }

    fn touch(&mut self, key: u32) {
        let now = self.now;
        if let Some(a) = self.alive.get_mut(&key) {
            a.deadline = a.deadline.max(now.saturating_add(a.idle).min(a.absolute));
        }
    }

    fn start(
        &mut self,
        key: u32,
        of: Option<&'static str>,
        idle: Option<u64>,
        absolute: Option<u64>,
    ) -> bool {
        let replaced = self.alive.get(&key).cloned();
        let zero = idle == Some(0) || absolute == Some(0);
        // What is dead at birth needs no room.
        loop {
            if zero {
                break;
            }
            let others = self.alive.iter().filter(|(other, _)| **other != key);
            let own = others
                .clone()
                .filter(|(_, a)| of.is_some() && a.of == of)
                .map(|(k, a)| (a.born, *k));
            let all = others.map(|(k, a)| (a.born, *k));
            let oldest = if of.is_some() && own.clone().count() >= self.rules.per_principal {
                own.min()
            } else if all.clone().count() >= self.rules.max {
                all.min()
            } else {
                break;
            };
            match oldest.filter(|_| self.rules.when_full == WhenFull::EndOldest) {
                Some((_, oldest)) => self.end(oldest, EndReason::Capacity),
                None => return false,
            }
        }
        if replaced.is_some() {
            self.end(key, EndReason::Replaced);
        }
        let absolute = absolute.map_or(u64::MAX, |span| self.now + span);
        let idle = idle.unwrap_or(u64::MAX);
        self.started += 1;
        let alive = Alive {
            value: self.started,
            version: 0,
            of,
            idle,
            absolute,
            deadline: self.now.saturating_add(idle).min(absolute),
            born: (self.now, self.started),
        };
        self.alive.insert(key, alive);
        self.sweep();
        true
    }
}

fn step() -> impl Strategy<Value = Step> {
    let limit = || prop_oneof![1 => Just(None), 1 => Just(Some(0)), 8 => (1u64..30).prop_map(Some)];
    let key = || 0u32..6;
    prop_oneof![
        4 => (key(), 0..3usize, limit(), limit())
            .prop_map(|(key, of, idle, absolute)| Step::Start { key, of, idle, absolute }),
        3 => (key(), 0..3usize).prop_map(|(key, of)| Step::TouchOrStart { key, of }),
        3 => key().prop_map(Step::Get),
        2 => key().prop_map(Step::Peek),
        2 => key().prop_map(Step::Touch),
        3 => (key(), any::<bool>()).prop_map(|(key, stale)| Step::Update { key, stale }),
        2 => key().prop_map(Step::Remove),
        1 => (0..3usize).prop_map(Step::RevokeAll),
        1 => key().prop_map(Step::RevokeOthers),
        4 => (0u64..12).prop_map(Step::Advance),
        2 => Just(Step::Drive),
    ]
}

fn rules() -> impl Strategy<Value = Rules> {
    use tickwheel::TouchPolicy::{Manual, OnAccess, OnWrite};
    let when_full = prop_oneof![Just(WhenFull::Refuse), Just(WhenFull::EndOldest)];
    let touch = prop_oneof![Just(OnAccess), Just(OnWrite), Just(Manual)];
    let caps = (
        prop_oneof![1usize..5, Just(usize::MAX)],
        prop_oneof![1usize..3, Just(usize::MAX)],
    );
    (caps, when_full, touch).prop_map(|((max, per_principal), when_full, touch)| Rules {
        max,
        per_principal,
        when_full,
        touch,
    })
}

fn nanos(limit: Option<u64>) -> Option<Duration> {
    limit.map(Duration::from_nanos)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn sessions_do_what_a_map_of_deadlines_does(
        rules in rules(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        run(rules, &steps)?;
    }
}

fn run(rules: Rules, steps: &[Step]) -> Result<(), TestCaseError> {
    let rig: Rig<u32, u64> = Rig::new();
    let policy = SessionPolicy::new()
        .idle(Duration::from_nanos(9))
        .absolute(Duration::from_nanos(40))
        .touch(rules.touch)
        .max_sessions(rules.max)
        .max_per_principal(rules.per_principal)
        .when_full(rules.when_full);
    let sessions = Sessions::with_events(&rig.timers, policy, rig.hook());
    let mut oracle = Oracle {
        now: 0,
        rules: rules.clone(),
        alive: BTreeMap::new(),
        ends: Vec::new(),
        started: 0,
    };
    let reads = rules.touch == tickwheel::TouchPolicy::OnAccess;
    let writes = rules.touch != tickwheel::TouchPolicy::Manual;
    let mut told = Vec::new();
    for step in steps {
        oracle.sweep();
        match step.clone() {
            Step::Start {
                key,
                of,
                idle,
                absolute,
            } => {
                let limits = SessionLimits {
                    idle: nanos(idle),
                    absolute: nanos(absolute),
                };
                let started = sessions.start_with(key, oracle.started + 1, NAMES[of], limits);
                let fits = oracle.start(key, NAMES[of], idle, absolute);
                prop_assert_eq!(
                    started.map(|_| ()),
                    fits.then_some(()).ok_or(StartError::Full)
                );
            }
            Step::TouchOrStart { key, of } => {
                let value = oracle.started + 1;
                let touched =
                    sessions.touch_or_start_with(key, NAMES[of], policy.limits(), || value);
                let touched = touched.map(|touched| touched.is_started());
                let expected = if oracle.alive.contains_key(&key) {
                    oracle.touch(key);
                    Ok(false)
                } else {
                    let fits = oracle.start(key, NAMES[of], Some(9), Some(40));
                    fits.then_some(true).ok_or(StartError::Full)
                };
                prop_assert_eq!(touched, expected);
            }
            Step::Get(key) => {
                let seen = sessions.get(&key).map(|seen| (*seen.value, seen.version));
                prop_assert_eq!(seen, oracle.alive.get(&key).map(|a| (a.value, a.version)));
                if reads {
                    oracle.touch(key);
                }
            }
            Step::Peek(key) => {
                let seen = sessions.peek(&key).map(|seen| (*seen.value, seen.version));
                prop_assert_eq!(seen, oracle.alive.get(&key).map(|a| (a.value, a.version)));
            }
            Step::Touch(key) => {
                let left = sessions
                    .touch(&key)
                    .ok()
                    .map(|left| left.deadline.as_nanos());
                oracle.touch(key);
                prop_assert_eq!(left, oracle.alive.get(&key).map(|a| a.deadline));
            }
            Step::Update { key, stale } => {
                let Some(mut seen) = sessions.peek(&key) else {
                    prop_assert!(!oracle.alive.contains_key(&key));
                    continue;
                };
                seen.version += u64::from(stale);
                let updated = sessions.update(&key, &seen, seen.value.wrapping_add(1000));
                let a = oracle.alive.get_mut(&key).unwrap();
                if stale {
                    let conflict = UpdateError::Conflict { version: a.version };
                    prop_assert_eq!(updated.unwrap_err(), conflict);
                } else {
                    a.version += 1;
                    a.value += 1000;
                    prop_assert_eq!(updated.unwrap().version, a.version);
                    if writes {
                        oracle.touch(key);
                    }
                }
            }
            Step::Remove(key) => {
                let removed = sessions.remove(&key).ok().map(|value| *value);
                prop_assert_eq!(removed, oracle.alive.get(&key).map(|a| a.value));
                if removed.is_some() {
                    oracle.end(key, EndReason::Removed);
                }
            }
            Step::RevokeAll(of) => {
                let Some(name) = NAMES[of] else { continue };
                let keys = oracle.alive.iter().filter(|(_, a)| a.of == Some(name));
                let keys: Vec<_> = keys.into_iter().map(|(key, _)| *key).collect();
                prop_assert_eq!(sessions.revoke_all(name), keys.len());
                keys.into_iter()
                    .for_each(|key| oracle.end(key, EndReason::Revoked));
            }
            Step::RevokeOthers(key) => {
                let revoked = sessions.revoke_others(&key).ok();
                let of = oracle.alive.get(&key).map(|a| a.of);
                let others = oracle
                    .alive
                    .iter()
                    .filter(|(other, a)| **other != key && Some(a.of) == of && a.of.is_some());
                let others: Vec<_> = others.map(|(other, _)| *other).collect();
                prop_assert_eq!(revoked, of.map(|_| others.len()));
                others
                    .into_iter()
                    .for_each(|key| oracle.end(key, EndReason::Revoked));
            }
            Step::Advance(by) => {
                oracle.now += by;
                rig.go(Duration::from_nanos(by));
            }
            Step::Drive => {
                rig.drive();
            }
        }
        oracle.sweep();
        if matches!(step, Step::Advance(_)) {
            continue; // what is due stays due until somebody looks
        }
        prop_assert_eq!(sessions.len(), oracle.alive.len());
        prop_assert_eq!(sessions.resident(), oracle.alive.len());
        for name in NAMES.into_iter().flatten() {
            let mut own: Vec<_> = oracle
                .alive
                .iter()
                .filter(|(_, a)| a.of == Some(name))
                .collect();
            own.sort_by_key(|(_, a)| a.born);
            let births: Vec<_> = own.iter().map(|(_, a)| a.born.0).collect();
            let keys: Vec<_> = own.iter().map(|(key, _)| **key).collect();
            let list = sessions.list(name);
            let listed: Vec<_> = list.iter().map(|(_, s)| s.created.as_nanos()).collect();
            prop_assert_eq!(listed, births);
            let listed: Vec<_> = list.iter().map(|(key, _)| *key).collect();
            prop_assert_eq!(listed, keys);
        }
        for key in 0..6 {
            let left = sessions
                .time_to_live(&key)
                .ok()
                .map(|left| left.deadline.as_nanos());
            prop_assert_eq!(left, oracle.alive.get(&key).map(|a| a.deadline));
        }
        told.extend(rig.ends());
        compare(&told, &oracle.ends)?;
    }
    let mut rest: Vec<_> = oracle.alive.keys().copied().collect();
    oracle.sweep();
    rest.retain(|key| oracle.alive.contains_key(key));
    rest.into_iter()
        .for_each(|key| oracle.end(key, EndReason::Shutdown));
    drop(sessions);
    told.extend(rig.ends());
    compare(&told, &oracle.ends)
}

/// The same ends, and along each key in the same order.
fn compare(
    told: &[Ended<u32, Arc<u64>>],
    expected: &[(u32, u64, EndReason, u64)],
) -> Result<(), TestCaseError> {
    for key in 0..6 {
        let told: Vec<_> = told
            .iter()
            .filter(|end| end.key == key)
            .map(|end| (*end.value, end.reason, end.deadline.as_nanos()))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .filter(|(of, ..)| *of == key)
            .map(|(_, value, reason, deadline)| (*value, *reason, *deadline))
            .collect();
        prop_assert_eq!(told, expected, "key {}", key);
    }
    Ok(())
}
