//! Sessions under keys. The model: a map from keys to deadlines.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::snapshot::SessionsSnapshot;
use tickwheel::{
    EndReason, Ended, Session, Sessions, StartError, Timers, TouchPolicy, Touched, UpdateError,
    WhenFull,
};

use crate::ends::Ends;
use crate::program::THREADS;
use crate::world::{Config, Cx, MOST, MOST_OF_ONE, Passage, Value};

const KEYS: u8 = 4;
const NAMES: [&str; 2] = ["ada", "bob"];

#[derive(Clone, Debug)]
pub(crate) enum Do {
    Start(u8, Option<usize>),
    TouchOrStart(u8, Option<usize>),
    Get(u8),
    Peek(u8),
    Touch(u8),
    Left(u8),
    /// Of what the thread has seen last under the key.
    Update(u8),
    Remove(u8),
    RevokeAll(usize),
    RevokeOthers(u8),
    List(usize),
    Count,
}

impl Do {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let key = rng.random_range(0..KEYS);
        let name = rng.random_range(0..NAMES.len());
        let of = rng.random_ratio(2, 3).then_some(name);
        match rng.random_range(0..20) {
            0..=3 => Self::Start(key, of),
            4..=6 => Self::TouchOrStart(key, of),
            7..=9 => Self::Get(key),
            10 => Self::Peek(key),
            11 => Self::Touch(key),
            12 => Self::Left(key),
            13..=15 => Self::Update(key),
            16 => Self::Remove(key),
            17 if of.is_some() => Self::RevokeAll(name),
            17 => Self::RevokeOthers(key),
            18 => Self::List(name),
            _ => Self::Count,
        }
    }
}

#[derive(Clone, Debug)]
struct Alive {
    generation: u64,
    version: u64,
    value: u64,
    deadline: u64,
    absolute: u64,
    of: Option<usize>,
}

type Saved = SessionsSnapshot<u8, Value>;

#[derive(Default)]
pub(crate) struct Part {
    real: Option<Sessions<u8, Value>>,
    saved: Option<Saved>,
    hands: BTreeMap<(u8, u8), Session<Value>>,
    alive: BTreeMap<u8, Alive>,
    last: u64,
    values: u64,
    pub(crate) ends: Ends,
}

/// Generation, version and value.
fn seen(session: &Session<Value>) -> (u64, u64, u64) {
    (session.generation, session.version, session.value.0)
}

// --- the process ---

impl Part {
    pub(crate) fn start(
        &mut self,
        timers: &Timers,
        config: &Config,
        passage: &Passage,
    ) -> Result<(), String> {
        let log = self.ends.open();
        let hook = move |end: Ended<u8, std::sync::Arc<Value>>| {
            let told = (end.reason, end.deadline.as_nanos(), end.value.0);
            log.lock().unwrap().push((end.generation, told));
        };
        let real = Sessions::with_events(timers, config.policy(), hook);
        if let Some(saved) = self.saved.take() {
            let report = real
                .restore(saved, passage.options())
                .map_err(|error| error.to_string())?;
            if report.restored != self.alive.len() {
                return Err(format!("{report:?}, and should be {:?}", self.alive));
            }
        }
        self.real = Some(real);
        Ok(())
    }

    pub(crate) fn stop(&mut self, passage: &Passage) {
        let real = self.real.take().expect("it runs");
        self.saved = Some(real.snapshot_at(passage.anchor));
        drop(real);
        for alive in self.alive.values() {
            let end = (EndReason::Shutdown, alive.deadline, alive.value);
            self.ends.add(alive.generation, end);
        }
    }

    /// Lets go of all that threads hold.
    pub(crate) fn forget(&mut self) {
        self.hands.clear();
        self.saved = None;
    }
}

// --- the model ---

impl Part {
    pub(crate) fn settle(&mut self, now: u64) {
        for key in 0..KEYS {
            if let Some(alive) = self.alive.get(&key).filter(|alive| alive.deadline <= now) {
                let absolute = alive.deadline == alive.absolute;
                self.end(
                    key,
                    [EndReason::Idle, EndReason::Absolute][usize::from(absolute)],
                );
            }
        }
    }

    fn end(&mut self, key: u8, reason: EndReason) -> Option<u64> {
        let gone = self.alive.remove(&key)?;
        self.ends
            .add(gone.generation, (reason, gone.deadline, gone.value));
        Some(gone.value)
    }

    fn touch(&mut self, key: u8, cx: &Cx<'_>) -> Option<u64> {
        let alive = self.alive.get_mut(&key)?;
        let idle = cx.config.idle.saturating_add(cx.config.flaw);
        let to = cx.now.saturating_add(idle).min(alive.absolute);
        alive.deadline = alive.deadline.max(to);
        Some(alive.deadline)
    }

    fn seen(&self, key: u8) -> Option<(u64, u64, u64)> {
        let alive = self.alive.get(&key)?;
        Some((alive.generation, alive.version, alive.value))
    }

    fn of(&self, name: usize) -> Vec<u8> {
        let mine = self
            .alive
            .iter()
            .filter(|(_, alive)| alive.of == Some(name));
        let mut mine: Vec<u8> = mine.map(|(key, _)| *key).collect();
        mine.sort_by_key(|key| self.alive[key].generation);
        mine
    }

    /// Makes room for one more under that key.
    fn admit(&mut self, key: u8, of: Option<usize>, config: &Config) -> bool {
        loop {
            let others = self.alive.iter().filter(|(other, _)| **other != key);
            let mine = others
                .clone()
                .filter(|(_, alive)| of.is_some() && alive.of == of);
            let oldest = if mine.clone().count() >= MOST_OF_ONE {
                mine.min_by_key(|(_, alive)| alive.generation)
            } else if others.clone().count() >= MOST {
                others.min_by_key(|(_, alive)| alive.generation)
            } else {
                return true;
            };
            match oldest.map(|(key, _)| *key) {
                Some(oldest) if config.when_full == WhenFull::EndOldest => {
                    self.end(oldest, EndReason::Capacity);
                }
                _ => return false,
            }
        }
    }

    fn begin(
        &mut self,
        key: u8,
        of: Option<usize>,
        real: &Session<Value>,
        cx: &Cx<'_>,
    ) -> Result<(), String> {
        self.end(key, EndReason::Replaced);
        if real.generation <= self.last {
            return Err(format!(
                "generation {} after {}",
                real.generation, self.last
            ));
        }
        self.last = real.generation;
        let absolute = cx.now.saturating_add(cx.config.absolute);
        let alive = Alive {
            generation: real.generation,
            version: 0,
            value: self.values,
            deadline: cx.now,
            absolute,
            of,
        };
        self.alive.insert(key, alive);
        self.touch(key, cx);
        Ok(())
    }
}

// --- both ---

impl Part {
    pub(crate) fn act(&mut self, what: &Do, cx: &Cx<'_>) -> Result<String, String> {
        let real = self.real.clone().expect("it runs");
        let on_access = cx.config.touch == TouchPolicy::OnAccess;
        let on_write = cx.config.touch != TouchPolicy::Manual;
        Ok(match *what {
            Do::Start(key, of) => {
                self.values += 1;
                let started = match of {
                    Some(of) => {
                        let limits = cx.config.policy().limits();
                        let value = Value::new(self.values, cx);
                        real.start_with(key, value, Some(NAMES[of]), limits)
                    }
                    None => real.start(key, Value::new(self.values, cx)),
                };
                let full = (!self.admit(key, of, cx.config)).then_some(StartError::Full);
                let line = cx.same(
                    &format!("starts {key}"),
                    &started.as_ref().err(),
                    &full.as_ref(),
                )?;
                if let Ok(session) = started {
                    self.begin(key, of, &session, cx)?;
                    cx.same("seen", &Some(seen(&session)), &self.seen(key))?;
                    self.keep(cx.thread, key, session);
                }
                line
            }
            Do::TouchOrStart(key, of) => {
                self.values += 1;
                let limits = cx.config.policy().limits();
                let make = || Value::new(self.values, cx);
                let touched = real.touch_or_start_with(key, of.map(|of| NAMES[of]), limits, make);
                let there = self.touch(key, cx).is_some();
                let full = (!there && !self.admit(key, of, cx.config)).then_some(StartError::Full);
                let line = cx.same(
                    &format!("uses {key}"),
                    &touched.as_ref().err(),
                    &full.as_ref(),
                )?;
                if let Ok(touched) = touched {
                    cx.same("started", &touched.is_started(), &!there)?;
                    let (Touched::Existing(session) | Touched::Started(session)) = touched;
                    if !there {
                        self.begin(key, of, &session, cx)?;
                    }
                    cx.same("seen", &Some(seen(&session)), &self.seen(key))?;
                    self.keep(cx.thread, key, session);
                }
                line
            }
            Do::Get(key) => {
                let got = real.get(&key);
                if on_access {
                    self.touch(key, cx);
                }
                let line = cx.same(
                    &format!("gets {key}"),
                    &got.as_ref().map(seen),
                    &self.seen(key),
                )?;
                if let Some(session) = got {
                    self.keep(cx.thread, key, session);
                }
                line
            }
            Do::Peek(key) => {
                cx.same(
                    "contains",
                    &real.contains(&key),
                    &self.alive.contains_key(&key),
                )?;
                cx.same(
                    &format!("peeks {key}"),
                    &real.peek(&key).as_ref().map(seen),
                    &self.seen(key),
                )?
            }
            Do::Touch(key) => {
                let touched = real.touch(&key).ok().map(|left| left.deadline.as_nanos());
                cx.same(&format!("touches {key}"), &touched, &self.touch(key, cx))?
            }
            Do::Left(key) => {
                let left = real
                    .time_to_live(&key)
                    .ok()
                    .map(|left| left.deadline.as_nanos());
                let deadline = self.alive.get(&key).map(|alive| alive.deadline);
                cx.same(&format!("left of {key}"), &left, &deadline)?
            }
            Do::Update(key) => {
                let Some(hand) = self.hands.get(&(cx.thread, key)).cloned() else {
                    return Ok(String::new());
                };
                self.values += 1;
                let updated = real.update(&key, &hand, Value::new(self.values, cx));
                let there = self.seen(key).filter(|there| there.0 == hand.generation);
                let expected = match there {
                    None => Err(UpdateError::Gone),
                    Some((_, version, _)) if version != hand.version => {
                        Err(UpdateError::Conflict { version })
                    }
                    Some((_, version, _)) => {
                        let alive = self.alive.get_mut(&key).expect("it is there");
                        (alive.version, alive.value) = (version + 1, self.values);
                        if on_write {
                            self.touch(key, cx);
                        }
                        Ok(self.seen(key).expect("it is there"))
                    }
                };
                let is = updated.as_ref().map(seen).map_err(|error| *error);
                let line = cx.same(&format!("updates {key}"), &is, &expected)?;
                if let Ok(session) = updated {
                    self.keep(cx.thread, key, session);
                }
                line
            }
            Do::Remove(key) => {
                let removed = real.remove(&key).ok().map(|value| value.0);
                cx.same(
                    &format!("removes {key}"),
                    &removed,
                    &self.end(key, EndReason::Removed),
                )?
            }
            Do::RevokeAll(name) => {
                let mine = self.of(name);
                for key in &mine {
                    self.end(*key, EndReason::Revoked);
                }
                cx.same(NAMES[name], &real.revoke_all(NAMES[name]), &mine.len())?
            }
            Do::RevokeOthers(key) => {
                let mut expected = None;
                if let Some(alive) = self.alive.get(&key) {
                    let mut others = alive.of.map_or(Vec::new(), |name| self.of(name));
                    others.retain(|other| *other != key);
                    for other in &others {
                        self.end(*other, EndReason::Revoked);
                    }
                    expected = Some(others.len());
                }
                cx.same(
                    &format!("others than {key}"),
                    &real.revoke_others(&key).ok(),
                    &expected,
                )?
            }
            Do::List(name) => {
                let list: Vec<u8> = real.list(NAMES[name]).iter().map(|(key, _)| *key).collect();
                cx.same(NAMES[name], &list, &self.of(name))?
            }
            Do::Count => {
                let names = (0..NAMES.len()).filter(|name| !self.of(*name).is_empty());
                let counts = (real.len(), real.principals());
                cx.same("counts", &counts, &(self.alive.len(), names.count()))?
            }
        })
    }

    fn keep(&mut self, thread: u8, key: u8, session: Session<Value>) {
        debug_assert!(thread < THREADS);
        self.hands.insert((thread, key), session);
    }
}
