//! Sessions under two keys.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tickwheel::{EndReason, Session, SessionPolicy, Sessions, Timers, Touched, UpdateError};

use crate::kind::{Kind, Model, Pick, nanos, time};
use crate::race::dawdle;

const IDLE: u64 = 10;
const ABSOLUTE: u64 = 25;

/// A key whose users dawdle when they look it up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(pub(crate) u8);

impl Hash for Key {
    fn hash<S: Hasher>(&self, state: &mut S) {
        dawdle();
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        dawdle();
        self.0 == other.0
    }
}

impl Eq for Key {}

/// A session as it was seen: generation, version, value.
pub(crate) type Seen = (u64, u64, u64);

/// An end that was told: generation, value, why, deadline.
pub(crate) type End = (u64, u64, EndReason, u64);

#[derive(Clone, Debug)]
pub(crate) enum Did {
    /// With the time at which it was started.
    Start(u8, Seen, u64),
    TouchOrStart {
        key: u8,
        started: bool,
        seen: Seen,
        created: u64,
    },
    Get(u8, Option<Seen>),
    Peek(u8, Option<Seen>),
    Contains(u8, bool),
    /// The deadline.
    Touch(u8, Option<u64>),
    /// What the caller had seen, and the value it has offered.
    Update(u8, Seen, u64, Updated),
    Remove(u8, Option<u64>),
    /// Whoever looks may find one expired, before another takes its place and is what is seen.
    Looked(u8),
    Turned,
    /// The ends under each key, in the order in which they were told.
    Told([Vec<End>; 2]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Updated {
    To(u64),
    Conflict(u64),
    Gone,
}

// --- the model ---

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Alive {
    seen: Seen,
    deadline: u64,
    absolute: u64,
}

/// A map, and what has left it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    alive: [Option<Alive>; 2],
    ends: [Vec<End>; 2],
}

impl Map {
    fn end(&mut self, key: u8, reason: EndReason) -> Option<u64> {
        let key = usize::from(key);
        let Alive { seen, deadline, .. } = self.alive[key].take()?;
        self.ends[key].push((seen.0, seen.2, reason, deadline));
        Some(seen.2)
    }

    fn expire(&mut self, key: u8, now: u64) {
        if let Some(alive) = &self.alive[usize::from(key)] {
            if alive.deadline <= now {
                let absolute = alive.deadline == alive.absolute;
                let reason = [EndReason::Idle, EndReason::Absolute][usize::from(absolute)];
                self.end(key, reason);
            }
        }
    }

    fn seen(&self, key: u8) -> Option<Seen> {
        Some(self.alive[usize::from(key)].as_ref()?.seen)
    }

    fn touch(&mut self, key: u8, now: u64) -> Option<u64> {
        let alive = self.alive[usize::from(key)].as_mut()?;
        let to = (now + IDLE).min(alive.absolute);
        alive.deadline = alive.deadline.max(to);
        Some(alive.deadline)
    }

    /// Whether that session may be the next under the key.
    fn start(&mut self, key: u8, now: u64, seen: Seen) -> bool {
        let before = self.ends[usize::from(key)].last().map_or(0, |end| end.0);
        self.alive[usize::from(key)] = Some(Alive {
            seen,
            deadline: now + IDLE.min(ABSOLUTE),
            absolute: now + ABSOLUTE,
        });
        seen.0 > before && seen.1 == 0
    }

    fn step(&mut self, now: u64, did: &Did) -> bool {
        match *did {
            Did::Start(key, seen, created) => {
                self.expire(key, now);
                self.end(key, EndReason::Replaced);
                created == now && self.start(key, now, seen)
            }
            Did::TouchOrStart {
                key,
                started,
                seen,
                created,
            } => {
                self.expire(key, now);
                if self.touch(key, now).is_some() {
                    !started && self.seen(key) == Some(seen)
                } else {
                    started && created == now && self.start(key, now, seen)
                }
            }
            Did::Get(key, seen) => {
                self.expire(key, now);
                let there = self.seen(key);
                self.touch(key, now);
                seen == there
            }
            Did::Peek(key, seen) => {
                self.expire(key, now);
                seen == self.seen(key)
            }
            Did::Contains(key, yes) => {
                self.expire(key, now);
                yes == self.seen(key).is_some()
            }
            Did::Touch(key, deadline) => {
                self.expire(key, now);
                deadline == self.touch(key, now)
            }
            Did::Update(key, seen, value, updated) => {
                self.expire(key, now);
                let there = self.seen(key).filter(|there| there.0 == seen.0);
                let answer = match there {
                    None => Updated::Gone,
                    Some((_, version, _)) if version != seen.1 => Updated::Conflict(version),
                    Some((generation, version, _)) => {
                        self.touch(key, now);
                        if let Some(alive) = &mut self.alive[usize::from(key)] {
                            alive.seen = (generation, version + 1, value);
                        }
                        Updated::To(version + 1)
                    }
                };
                updated == answer
            }
            Did::Remove(key, value) => {
                self.expire(key, now);
                value == self.end(key, EndReason::Removed)
            }
            Did::Looked(_) | Did::Turned => true,
            Did::Told(ref told) => {
                for key in [0, 1] {
                    self.expire(key, now);
                    self.end(key, EndReason::Shutdown);
                }
                *told == self.ends
            }
        }
    }
}

impl Model for Map {
    type Did = Did;

    fn after(&self, now: u64, did: &Did) -> Vec<Self> {
        let mut then = self.clone();
        let may_expire: &[u8] = if let Did::Looked(key) = did {
            std::slice::from_ref(key)
        } else if matches!(did, Did::Turned) {
            &[0, 1]
        } else {
            return then.step(now, did).then_some(then).into_iter().collect();
        };
        // Or it was too early.
        let mut all = vec![then];
        for key in may_expire {
            let mut expired = all.clone();
            expired.iter_mut().for_each(|map| map.expire(*key, now));
            expired.retain(|map| !all.contains(map));
            all.extend(expired);
        }
        all
    }
}

// --- the real ones ---

pub(crate) struct Real {
    sessions: Sessions<Key, u64>,
    values: AtomicU64,
    /// What somebody has seen last, whom others may want to overtake.
    last: Mutex<[Option<Session<u64>>; 2]>,
    told: Arc<Mutex<[Vec<End>; 2]>>,
}

fn seen(session: &Session<u64>) -> Seen {
    (session.generation, session.version, *session.value)
}

impl Real {
    fn value(&self) -> u64 {
        self.values.fetch_add(1, Ordering::Relaxed)
    }

    fn keep(&self, key: u8, session: &Session<u64>) {
        self.last.lock().unwrap()[usize::from(key)] = Some(session.clone());
    }
}

impl Kind for Real {
    type Model = Map;

    fn new(timers: &Timers) -> Self {
        let told = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
        let log = Arc::clone(&told);
        let policy = SessionPolicy::new().idle(nanos(IDLE));
        let policy = policy.absolute(nanos(ABSOLUTE));
        let sessions =
            Sessions::with_events(timers, policy, move |end: tickwheel::Ended<Key, _>| {
                dawdle();
                let deadline = time(end.deadline);
                let key = usize::from(end.key.0);
                log.lock().unwrap()[key].push((end.generation, *end.value, end.reason, deadline));
            });
        Self {
            sessions,
            values: AtomicU64::new(0),
            last: Mutex::new([None, None]),
            told,
        }
    }

    fn act(&self, pick: Pick<'_>) -> Vec<Did> {
        let key = u8::from(pick(5) == 0);
        let at = Key(key);
        let did = match pick(12) {
            0 | 1 => {
                let session = self.sessions.start(at, self.value()).unwrap();
                self.keep(key, &session);
                Did::Start(key, seen(&session), time(session.created))
            }
            2 | 3 => {
                let touched = self.sessions.touch_or_start(at, || self.value()).unwrap();
                let started = touched.is_started();
                let (Touched::Existing(session) | Touched::Started(session)) = touched;
                self.keep(key, &session);
                Did::TouchOrStart {
                    key,
                    started,
                    seen: seen(&session),
                    created: time(session.created),
                }
            }
            4 | 5 => Did::Get(key, self.sessions.get(&at).as_ref().map(seen)),
            6 => Did::Peek(key, self.sessions.peek(&at).as_ref().map(seen)),
            7 => Did::Contains(key, self.sessions.contains(&at)),
            8 => {
                let touched = self.sessions.touch(&at);
                Did::Touch(key, touched.ok().map(|left| time(left.deadline)))
            }
            9 | 10 => {
                let last = self.last.lock().unwrap()[usize::from(key)].clone();
                let Some(last) = last else {
                    return vec![Did::Contains(key, self.sessions.contains(&at))];
                };
                let value = self.value();
                let updated = match self.sessions.update(&at, &last, value) {
                    Ok(session) => {
                        self.keep(key, &session);
                        Updated::To(session.version)
                    }
                    Err(UpdateError::Conflict { version }) => Updated::Conflict(version),
                    Err(_) => Updated::Gone,
                };
                Did::Update(key, seen(&last), value, updated)
            }
            _ => Did::Remove(key, self.sessions.remove(&at).ok().map(|value| *value)),
        };
        if let Did::Start(..) = did {
            return vec![did];
        }
        vec![Did::Looked(key), did]
    }

    fn turned() -> Did {
        Did::Turned
    }

    fn end(self) -> Did {
        drop(self.sessions);
        Did::Told(self.told.lock().unwrap().clone())
    }
}
