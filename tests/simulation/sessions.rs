//! Sessions under keys. The model: a map from keys to deadlines.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::snapshot::SessionsSnapshot;
use tickwheel::{EndReason, Session, Sessions, StartError, TouchPolicy, Touched, UpdateError};

use crate::cx::{Cx, Value};
use crate::ends::Ends;
use crate::program::THREADS;

pub(crate) const KEYS: u8 = 4;
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
pub(crate) struct Alive {
    pub(crate) generation: u64,
    pub(crate) version: u64,
    pub(crate) value: u64,
    pub(crate) deadline: u64,
    pub(crate) absolute: u64,
    pub(crate) of: Option<usize>,
}

type Saved = SessionsSnapshot<u8, Value>;

#[derive(Default)]
pub(crate) struct Part {
    pub(crate) real: Option<Sessions<u8, Value>>,
    pub(crate) saved: Option<Saved>,
    pub(crate) hands: BTreeMap<(u8, u8), Session<Value>>,
    pub(crate) alive: BTreeMap<u8, Alive>,
    pub(crate) last: u64,
    pub(crate) values: u64,
    /// Its time does not go back behind what was acted on.
    pub(crate) floor: u64,
    pub(crate) ends: Ends,
}

/// Generation, version and value.
fn seen(session: &Session<Value>) -> (u64, u64, u64) {
    (session.generation, session.version, session.value.0)
}

// --- both ---

impl Part {
    pub(crate) fn act(&mut self, what: &Do, cx: &Cx<'_>) -> Result<String, String> {
        let real = self.real.clone().expect("it runs");
        let cx = &cx.not_before(self.floor);
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
                if matches!(started, Err(StartError::Full)) && self.alive.is_empty() {
                    return cx.full();
                }
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
                if matches!(touched, Err(StartError::Full)) && self.alive.is_empty() {
                    return cx.full();
                }
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
