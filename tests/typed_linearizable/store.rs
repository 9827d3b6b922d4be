//! A store of sessions of one principal, and the ids that lead to them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tickwheel::{EndReason, SessionId, SessionPolicy, SessionStore, Timers};

use crate::kind::{Kind, Model, Pick, nanos, time};
use crate::race::dawdle;

const IDLE: u64 = 10;
const GRACE: u64 = 4;
const NAME: &str = "alice";

/// Ids by number, in the order in which they were handed out.
type Id = usize;

/// An end that was told: generation, value, why, deadline.
pub(crate) type End = (u64, u64, EndReason, u64);

#[derive(Clone, Debug)]
pub(crate) enum Did {
    /// The id, the generation, the value, and when it was started.
    Create(Id, u64, u64, u64),
    /// The value.
    Get(Id, Option<u64>),
    /// The deadline.
    Touch(Id, Option<u64>),
    /// The new id.
    Cycle(Id, Option<Id>),
    /// The value.
    Revoke(Id, Option<u64>),
    RevokeAll(usize),
    Count(usize),
    Turned,
    /// All ends, by generation.
    Told(Vec<End>),
}

// --- the model ---

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Alive {
    generation: u64,
    value: u64,
    deadline: u64,
    present: Id,
    /// The id before this one, and until when it will do.
    before: Option<(Id, u64)>,
}

/// A list, and what has left it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct List {
    alive: Vec<Alive>,
    /// By generation.
    ends: Vec<End>,
}

impl List {
    fn end(&mut self, at: usize, reason: EndReason) -> u64 {
        let gone = self.alive.remove(at);
        let end = (gone.generation, gone.value, reason, gone.deadline);
        self.ends.push(end);
        self.ends.sort_unstable_by_key(|end| end.0);
        gone.value
    }

    fn expire_at(&mut self, at: usize, now: u64) -> bool {
        let expired = self.alive[at].deadline <= now;
        if expired {
            self.end(at, EndReason::Idle);
        }
        expired
    }

    fn expire_all(&mut self, now: u64) {
        while let Some(at) = self.alive.iter().position(|alive| alive.deadline <= now) {
            self.end(at, EndReason::Idle);
        }
    }

    /// The session of an id, once it has ended if its time is over.
    fn find(&mut self, id: Id, now: u64) -> Option<usize> {
        let leads = |alive: &Alive| {
            let before = alive.before;
            alive.present == id || before.is_some_and(|(old, until)| old == id && now < until)
        };
        let at = self.alive.iter().position(leads)?;
        (!self.expire_at(at, now)).then_some(at)
    }

    fn touch(&mut self, at: usize, now: u64) -> u64 {
        let alive = &mut self.alive[at];
        alive.deadline = alive.deadline.max(now + IDLE);
        alive.deadline
    }

    fn step(&mut self, now: u64, did: &Did) -> bool {
        match *did {
            Did::Create(id, generation, value, created) => {
                self.alive.push(Alive {
                    generation,
                    value,
                    deadline: now + IDLE,
                    present: id,
                    before: None,
                });
                created == now
            }
            Did::Get(id, value) => {
                let found = self.find(id, now);
                value
                    == found.map(|at| {
                        self.touch(at, now);
                        self.alive[at].value
                    })
            }
            Did::Touch(id, deadline) => {
                let found = self.find(id, now);
                deadline == found.map(|at| self.touch(at, now))
            }
            Did::Cycle(id, fresh) => {
                let found = self.find(id, now);
                let found = found.filter(|at| self.alive[*at].present == id);
                if let (Some(at), Some(fresh)) = (found, fresh) {
                    self.touch(at, now);
                    self.alive[at].present = fresh;
                    self.alive[at].before = Some((id, now + GRACE));
                }
                found.is_some() == fresh.is_some()
            }
            Did::Revoke(id, value) => {
                let found = self.find(id, now);
                value == found.map(|at| self.end(at, EndReason::Revoked))
            }
            Did::RevokeAll(count) => {
                self.expire_all(now);
                let all = self.alive.len();
                for _ in 0..all {
                    self.end(0, EndReason::Revoked);
                }
                count == all
            }
            Did::Count(count) => {
                self.expire_all(now);
                count == self.alive.len()
            }
            Did::Turned => true,
            Did::Told(ref told) => {
                self.expire_all(now);
                while !self.alive.is_empty() {
                    self.end(0, EndReason::Shutdown);
                }
                *told == self.ends
            }
        }
    }
}

impl Model for List {
    type Did = Did;

    fn after(&self, now: u64, did: &Did) -> Vec<Self> {
        let mut then = self.clone();
        if !matches!(did, Did::Turned) {
            return then.step(now, did).then_some(then).into_iter().collect();
        }
        // It may have been too early for any.
        let mut all = vec![then];
        for alive in &self.alive {
            for mut expired in all.clone() {
                let of_it = |other: &Alive| other.generation == alive.generation;
                let at = expired.alive.iter().position(of_it);
                if at.is_some_and(|at| expired.expire_at(at, now)) {
                    all.push(expired);
                }
            }
        }
        all
    }
}

// --- the real one ---

pub(crate) struct Real {
    store: SessionStore<u64>,
    values: AtomicU64,
    ids: Mutex<Vec<SessionId>>,
    told: Arc<Mutex<Vec<End>>>,
}

impl Real {
    fn keep(&self, id: SessionId) -> Id {
        let mut ids = self.ids.lock().unwrap();
        ids.push(id);
        ids.len() - 1
    }

    /// One of the ids, mostly one of the last.
    fn pick(&self, pick: Pick<'_>) -> Option<(Id, SessionId)> {
        let ids = self.ids.lock().unwrap();
        let back = 1 + pick(3).min(pick(3)) as usize;
        let at = ids.len().checked_sub(back)?;
        Some((at, ids[at].clone()))
    }
}

impl Kind for Real {
    type Model = List;

    fn new(timers: &Timers) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let policy = SessionPolicy::new().idle(nanos(IDLE));
        let policy = policy.cycle_grace(nanos(GRACE));
        let store = SessionStore::with_events(timers, policy, move |end| {
            dawdle();
            let end: End = (end.generation, *end.value, end.reason, time(end.deadline));
            log.lock().unwrap().push(end);
        });
        Self {
            store: store.unwrap(),
            values: AtomicU64::new(0),
            ids: Mutex::default(),
            told,
        }
    }

    fn act(&self, pick: Pick<'_>) -> Vec<Did> {
        let store = &self.store;
        let what = pick(12);
        let Some((at, id)) = self.pick(pick).filter(|_| what > 1) else {
            let value = self.values.fetch_add(1, Ordering::Relaxed);
            let (id, session) = store.create(NAME, value).unwrap();
            let (generation, created) = (session.generation, time(session.created));
            return vec![Did::Create(self.keep(id), generation, value, created)];
        };
        let did = match what {
            2..5 => Did::Get(at, store.get(&id).map(|seen| *seen.value)),
            5 | 6 => {
                let touched = store.touch(&id);
                Did::Touch(at, touched.ok().map(|left| time(left.deadline)))
            }
            7 | 8 => {
                let fresh = store.cycle_id(&id);
                Did::Cycle(at, fresh.ok().map(|fresh| self.keep(fresh)))
            }
            9 => Did::Revoke(at, store.revoke(&id).ok().map(|value| *value)),
            10 => Did::RevokeAll(store.revoke_all(NAME)),
            _ => Did::Count(store.len()),
        };
        vec![did]
    }

    fn turned() -> Did {
        Did::Turned
    }

    fn end(self) -> Did {
        drop(self.store);
        let mut told = self.told.lock().unwrap().clone();
        told.sort_unstable_by_key(|end| end.0);
        Did::Told(told)
    }
}
