//! Sessions, written down.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::by_key::ByKey;
use super::guarded::Guarded;
use super::owned::Aged;
use super::payload::Payload;
use super::registry::Registry;
use super::{SessionStore, Sessions};
use crate::WallAnchor;
use crate::sync::Ordering;
use crate::typed::snapshot::{Departure, RestoreError, VERSION, WallTime, check_version};

/// Numbers from here on were never reached by counting.
const UNREACHED: u64 = 1 << 63;

/// Sessions as they were at one time: [`Sessions::snapshot`].
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionsSnapshot<K, V> {
    /// The format.
    pub version: u32,
    /// When it was taken.
    pub taken_at: WallTime,
    /// No generation that was given before is larger.
    pub last_generation: u64,
    /// Those that live, by generation.
    pub sessions: Vec<SessionSnapshot<K, V>>,
}

/// Sessions of a store as they were at one time: [`SessionStore::snapshot`].
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionStoreSnapshot<V> {
    /// The format.
    pub version: u32,
    /// When it was taken.
    pub taken_at: WallTime,
    /// A digest that shows which key all digests were made with, and nothing else of it.
    pub key_check: [u8; 32],
    /// No generation that was given before is larger.
    pub last_generation: u64,
    /// Those that live, by generation.
    pub sessions: Vec<SessionSnapshot<HashedId, V>>,
}

/// A session that lives.
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSnapshot<K, V> {
    /// Under what it is kept.
    pub key: K,
    /// What it holds.
    pub value: Arc<V>,
    /// Whose it is.
    pub principal: Option<String>,
    /// How often the value was replaced.
    pub version: u32,
    /// Which session of its store it is.
    pub generation: u64,
    /// When it was started.
    pub created: WallTime,
    /// For how long it may be idle.
    pub idle: Option<Duration>,
    /// When it ends, used or not.
    pub absolute: Option<WallTime>,
    /// When it ends if nobody uses it.
    pub deadline: Option<WallTime>,
}

/// What is kept of a session id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HashedId {
    /// The part of the id that tells the sessions of a store apart. It is random, and no secret.
    pub selector: u64,
    /// The keyed digest of the id.
    pub digest: [u8; 32],
    /// The id before this one, while that will do.
    pub former: Option<FormerId>,
}

/// An id that was cycled a short while ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FormerId {
    /// Its keyed digest.
    pub digest: [u8; 32],
    /// Until when it leads to the session.
    pub until: Option<WallTime>,
}

// === impl Sessions ===

impl<K, V, S> Sessions<K, V, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
{
    /// All sessions that live now. Not a touch. What has expired ends. O(n log n), and no lock is held for longer than one
    /// session takes.
    ///
    /// The values are those of the store, not copies. While others go on, a session is in it as it was at some moment of the call.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::snapshot::{RestoreOptions, SessionsSnapshot};
    /// use tickwheel::{ManualClock, SessionPolicy, Sessions, Timers};
    ///
    /// let start = || -> Result<Sessions<u32, String>, tickwheel::BuildError> {
    ///     let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    ///     Ok(Sessions::new(&timers, SessionPolicy::new().idle(Duration::from_secs(1800))))
    /// };
    /// let visits = start()?;
    /// visits.start(7, "first page".into())?;
    /// let stored = serde_json::to_string(&visits.snapshot())?;
    /// drop(visits);
    ///
    /// let visits = start()?;
    /// let snapshot: SessionsSnapshot<u32, String> = serde_json::from_str(&stored)?;
    /// assert_eq!(visits.restore(snapshot, RestoreOptions::new())?.restored, 1);
    /// assert_eq!(*visits.get(&7).unwrap().value, "first page");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> SessionsSnapshot<K, V> {
        self.take_snapshot(None)
    }

    /// As [`snapshot`](Self::snapshot), with the time of day from that anchor.
    #[must_use]
    pub fn snapshot_at(&self, anchor: WallAnchor) -> SessionsSnapshot<K, V> {
        self.take_snapshot(Some(anchor))
    }

    fn take_snapshot(&self, anchor: Option<WallAnchor>) -> SessionsSnapshot<K, V> {
        let peek = |value: &Arc<V>, _: &Departure| ((), Arc::clone(value));
        self.registry.written(anchor, peek, |key, ()| key.clone())
    }
}

// === impl SessionStore ===

impl<V: Send + Sync + 'static> SessionStore<V> {
    /// All sessions that live now, by the digests of their ids: as [`Sessions::snapshot`](super::Sessions::snapshot).
    ///
    /// It holds no id, so that whoever reads it can use none. But for what sessions hold: that is
    /// in it, as the caller's `Serialize` writes it. The key of the digests is that of [`digest_key`](super::SessionStoreBuilder::digest_key): with the
    /// random one that there is without it, nobody can restore the snapshot.
    #[must_use]
    pub fn snapshot(&self) -> SessionStoreSnapshot<V> {
        self.take_snapshot(None)
    }

    /// As [`snapshot`](Self::snapshot), with the time of day from that anchor.
    #[must_use]
    pub fn snapshot_at(&self, anchor: WallAnchor) -> SessionStoreSnapshot<V> {
        self.take_snapshot(Some(anchor))
    }

    fn take_snapshot(&self, anchor: Option<WallAnchor>) -> SessionStoreSnapshot<V> {
        let peek = |payload: &Guarded<V>, departure: &Departure| {
            (payload.written(departure), Arc::clone(&payload.value))
        };
        let name = |selector: &u64, mut id: HashedId| {
            id.selector = *selector;
            id
        };
        let written = self.registry.written(anchor, peek, name);
        SessionStoreSnapshot {
            version: written.version,
            taken_at: written.taken_at,
            key_check: *self.key.check().bytes(),
            last_generation: written.last_generation,
            sessions: written.sessions,
        }
    }
}

// === impl Registry ===

impl<K, P, S> Registry<K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    /// A snapshot. `peek` looks at what a session holds, under its lock, and `name` then makes the key.
    fn written<N, X, V>(
        &self,
        anchor: Option<WallAnchor>,
        peek: impl Fn(&P, &Departure) -> (X, Arc<V>),
        name: impl Fn(&K, X) -> N,
    ) -> SessionsSnapshot<N, V> {
        let departure = Departure::new(anchor, || self.now());
        // All of them first: then of two under one key the earlier has ended when it is looked at.
        let map = self.map.pin();
        let keys = map.keys().map(|entry: &ByKey<K, P>| entry.aged());
        let mut records: Vec<Aged<K, P>> = keys.collect();
        drop(map);
        records.sort_unstable_by_key(|aged| aged.record.generation);
        records.dedup_by_key(|aged| aged.record.generation);
        let mut sessions = Vec::with_capacity(records.len());
        for Aged { record, created } in &records {
            let seen = {
                let held = record.lock();
                // What is read of the word now is not before what is read of the rest.
                let deadline = record.word.get().filter(|until| *until > departure.now);
                let payload = held.payload.as_ref().zip(deadline);
                payload.map(|(payload, deadline)| {
                    let (extra, value) = peek(payload, &departure);
                    (extra, value, held.owner(), held.version, deadline)
                })
            };
            let Some((extra, value, owner, version, deadline)) = seen else {
                self.expire(record, departure.now);
                continue;
            };
            let (idle, absolute) = record.spans();
            sessions.push(SessionSnapshot {
                key: name(&record.key, extra),
                value,
                principal: owner.map(|owner| String::from(&*owner)),
                version,
                generation: record.generation,
                created: departure.past(*created),
                idle,
                absolute: departure.deadline(absolute),
                deadline: departure.deadline(deadline),
            });
        }
        SessionsSnapshot {
            version: VERSION,
            taken_at: departure.taken_at,
            // ORDERING: Relaxed, as in `generation`. None of the sessions has a larger one: they were published since.
            last_generation: self.generations.0.load(Ordering::Relaxed),
            sessions,
        }
    }
}

// === impl SessionsSnapshot ===

impl<K, V> SessionsSnapshot<K, V> {
    /// Refuses what is no snapshot.
    pub(super) fn check<'a, Q: Hash + Eq>(
        &'a self,
        key: impl Fn(&'a K) -> Q,
    ) -> Result<(), RestoreError> {
        check_version(self.version)?;
        if self.last_generation >= UNREACHED {
            let flaw = "a generation that was never reached";
            return Err(RestoreError::Malformed(flaw));
        }
        let (mut keys, mut generations) = (HashSet::new(), HashSet::new());
        for session in &self.sessions {
            if !(1..=self.last_generation).contains(&session.generation) {
                let flaw = "a generation that was not given yet";
                return Err(RestoreError::Malformed(flaw));
            }
            if !generations.insert(session.generation) {
                return Err(RestoreError::Malformed("one generation twice"));
            }
            if !keys.insert(key(&session.key)) {
                return Err(RestoreError::Malformed("one key twice"));
            }
            if session.principal.as_deref() == Some("") {
                return Err(RestoreError::Malformed("a principal without a name"));
            }
        }
        Ok(())
    }
}

// === clones: of the handles, not of the values ===

impl<K: Clone, V> Clone for SessionsSnapshot<K, V> {
    fn clone(&self) -> Self {
        Self {
            version: self.version,
            taken_at: self.taken_at,
            last_generation: self.last_generation,
            sessions: self.sessions.clone(),
        }
    }
}

impl<V> Clone for SessionStoreSnapshot<V> {
    fn clone(&self) -> Self {
        Self {
            version: self.version,
            taken_at: self.taken_at,
            key_check: self.key_check,
            last_generation: self.last_generation,
            sessions: self.sessions.clone(),
        }
    }
}

impl<K: Clone, V> Clone for SessionSnapshot<K, V> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            value: Arc::clone(&self.value),
            principal: self.principal.clone(),
            version: self.version,
            generation: self.generation,
            created: self.created,
            idle: self.idle,
            absolute: self.absolute,
            deadline: self.deadline,
        }
    }
}
