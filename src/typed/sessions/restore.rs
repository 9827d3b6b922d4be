//! Sessions that live on.

use alloc::sync::Arc;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use super::guarded::Guarded;
use super::owned::Aged;
use super::payload::Payload;
use super::record::Record;
use super::registry::Registry;
use super::snapshot::{HashedId, SessionSnapshot, SessionStoreSnapshot, SessionsSnapshot};
use super::start::Placed;
use super::tell::{Event, Telling};
use super::{SessionStore, Sessions};
use crate::Timestamp;
use crate::sync::Ordering;
use crate::typed::EndReason;
use crate::typed::secret::Digest;
use crate::typed::snapshot::{
    Left, Passage, RestoreError, RestoreOptions, RestoreReport, WallTime, check_version,
};

/// What is known of the times of a session.
pub(super) struct Life {
    pub(super) created: Timestamp,
    pub(super) idle: Option<Duration>,
    pub(super) absolute: Timestamp,
    pub(super) deadline: Timestamp,
}

// === impl Sessions ===

impl<K, V, S> Sessions<K, V, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Lets sessions live on that others, mostly of an earlier process, have had: with values, versions, principals,
    /// generations and limits. Both deadlines are by the [options](RestoreOptions). O(1) for each session, and what it takes to hash
    /// and to compare keys.
    ///
    /// The limits of the policy hold for how many there may be: in the order in which they were started, sessions are restored or
    /// refused; or the oldest end, if that is the [policy](super::WhenFull). How long a session lives was said when it was started,
    /// and stays so.
    ///
    /// # Errors
    ///
    /// [`RestoreError`], and then nothing has changed. [`InUse`](RestoreError::InUse) if a session was started here before;
    /// [`Malformed`](RestoreError::Malformed) if two have one key or one generation, and for generations that were never given. All
    /// but [`OtherKey`](RestoreError::OtherKey).
    ///
    /// # Panics
    ///
    /// If the hook has panicked, when all is restored.
    pub fn restore(
        &self,
        snapshot: SessionsSnapshot<K, V>,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        snapshot.check(|key| key)?;
        let payload = |key, value, _: &Passage| (key, value);
        self.registry.restore(snapshot, &options, payload)
    }
}

// === impl SessionStore ===

impl<V: Send + Sync + 'static> SessionStore<V> {
    /// As [`Sessions::restore`](super::Sessions::restore): whoever has an id has the session again.
    ///
    /// # Errors
    ///
    /// As that; and [`OtherKey`](RestoreError::OtherKey) unless the [key](super::SessionStoreBuilder::digest_key) is the same.
    ///
    /// # Panics
    ///
    /// As that.
    pub fn restore(
        &self,
        snapshot: SessionStoreSnapshot<V>,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        check_version(snapshot.version)?;
        if !self.key.check().is(&Digest::from_bytes(snapshot.key_check)) {
            return Err(RestoreError::OtherKey);
        }
        let sessions = SessionsSnapshot {
            version: snapshot.version,
            taken_at: snapshot.taken_at,
            last_generation: snapshot.last_generation,
            sessions: snapshot.sessions,
        };
        sessions.check(|id| id.selector)?;
        let payload = |id: HashedId, value, passage: &Passage| {
            (id.selector, Guarded::restored(&id, value, passage))
        };
        self.registry.restore(sessions, &options, payload)
    }
}

// === impl Registry ===

impl<K, P, S> Registry<K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    fn restore<N, V>(
        &self,
        snapshot: SessionsSnapshot<N, V>,
        options: &RestoreOptions,
        payload: impl Fn(N, Arc<V>, &Passage) -> (K, P),
    ) -> Result<RestoreReport, RestoreError> {
        if self.timers.is_shut_down() {
            return Err(RestoreError::ShutDown);
        }
        let passage = Passage::new(snapshot.taken_at, options, || self.now());
        let (fresh, last) = (0, snapshot.last_generation);
        // ORDERING: Relaxed, as in `generation`.
        let (generations, relaxed) = (&self.generations.0, Ordering::Relaxed);
        let unused = generations.compare_exchange(fresh, last, relaxed, relaxed);
        unused.map_err(|_| RestoreError::InUse)?;
        let mut report = RestoreReport {
            elapsed: passage.elapsed,
            ..RestoreReport::default()
        };
        // Dropped last: all is told when all is restored.
        let mut telling = Telling::new(self);
        let mut sessions = snapshot.sessions;
        sessions.sort_by_key(|session| session.generation);
        for session in sessions {
            let (effective, reason) = end(&session);
            let left = passage.left(effective);
            let life = Life {
                created: passage.past(session.created),
                idle: session.idle,
                absolute: passage.left(session.absolute).deadline(),
                deadline: left.deadline(),
            };
            let (key, payload) = payload(session.key, session.value, &passage);
            let numbers = (session.generation, session.version);
            let owner = session.principal.map(Arc::from);
            let record = Record::restored(key, payload, owner, &life, numbers);
            let aged = Aged {
                record: Arc::new(record),
                created: life.created,
            };
            let reason = if let Left::Over { .. } = left {
                report.expired += 1;
                reason
            } else {
                match self.place(&aged, passage.now, &mut telling.events) {
                    Placed::There { ended } => {
                        report.restored += 1;
                        report.restored -= ended;
                        report.refused += ended;
                        continue;
                    }
                    Placed::NoRoom => {
                        report.refused += 1;
                        EndReason::Capacity
                    }
                    Placed::Occupied => {
                        report.occupied += 1;
                        EndReason::Replaced
                    }
                }
            };
            telling
                .events
                .extend(ended(&aged.record, reason, left.deadline()));
        }
        Ok(report)
    }
}

/// When a session ends if nobody uses it, and why.
fn end<K, V>(session: &SessionSnapshot<K, V>) -> (Option<WallTime>, EndReason) {
    match (session.deadline, session.absolute) {
        (Some(deadline), Some(absolute)) if deadline < absolute => {
            (Some(deadline), EndReason::Idle)
        }
        (_, Some(absolute)) => (Some(absolute), EndReason::Absolute),
        (deadline, None) => (deadline, EndReason::Idle),
    }
}

/// The end of a record to which nothing has ever led.
fn ended<K, P>(
    record: &Arc<Record<K, P>>,
    reason: EndReason,
    deadline: Timestamp,
) -> Option<Event<K, P>> {
    let _ended = record.word.end(Timestamp::ZERO);
    let mut held = record.lock();
    held.place.set_published();
    Some(Event {
        record: Arc::clone(record),
        payload: held.payload.take()?,
        owner: held.take_owner(),
        reason,
        deadline,
    })
}
