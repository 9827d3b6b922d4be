//! How a store's sessions end, and what concerns many of them at a time.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::owned::Aged;
use super::{Session, SessionGone, SessionId, SessionStore, TimeToLive, seen};
use crate::typed::EndReason;
use crate::typed::deadline::Gone;

// === impl SessionStore ===

impl<V: Send + Sync + 'static> SessionStore<V> {
    /// Ends a session, with [`EndReason::Removed`]: a logout. Returns its value.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if the id leads to none.
    pub fn remove(&self, id: &SessionId) -> Result<Arc<V>, SessionGone> {
        self.end(id, EndReason::Removed)
    }

    /// Ends a session, with [`EndReason::Revoked`]: it is taken away. Returns its value.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if the id leads to none.
    pub fn revoke(&self, id: &SessionId) -> Result<Arc<V>, SessionGone> {
        self.end(id, EndReason::Revoked)
    }

    fn end(&self, id: &SessionId, reason: EndReason) -> Result<Arc<V>, SessionGone> {
        let digest = self.digest(id);
        let now = self.registry.now();
        let found = self.registry.find(&id.selector(), now);
        let record = found.map_err(|Gone| SessionGone)?;
        let mut value = None;
        let ended = self.registry.end(&record, now, reason, |payload| {
            let admitted = payload.admits(&digest, now);
            value = admitted.then(|| Arc::clone(&payload.value));
            admitted
        });
        ended.ok().and(value).ok_or(SessionGone)
    }

    /// Ends the session of a principal that has that [generation](Session::generation), with [`EndReason::Revoked`]: for whoever
    /// looks through a [list](Self::list) and has no ids. Returns its value. O(n) in the sessions of the principal.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if the principal has none such.
    pub fn revoke_listed(&self, principal: &str, generation: u64) -> Result<Arc<V>, SessionGone> {
        let now = self.registry.now();
        let records = self.registry.of(principal, now);
        let mut records = records.iter().map(|aged| &aged.record);
        let record = records.find(|record| record.generation == generation);
        let record = record.ok_or(SessionGone)?;
        let mut value = None;
        let ended = self
            .registry
            .end(record, now, EndReason::Revoked, |payload| {
                value = Some(Arc::clone(&payload.value));
                true
            });
        ended.ok().and(value).ok_or(SessionGone)
    }

    /// Ends all sessions of a principal, with [`EndReason::Revoked`], in one step: whoever looks after this has returned
    /// finds none of those there were. Says how many. O(n) in their number.
    pub fn revoke_all(&self, principal: &str) -> usize {
        let now = self.registry.now();
        self.registry
            .end_all_of(principal, now, None, || true)
            .unwrap_or(0)
    }

    /// Ends all sessions of this session's principal but this one, as [`revoke_all`](Self::revoke_all) does. 0 if it
    /// has no principal. An id before this one that has a [grace](super::SessionPolicy::cycle_grace) leads nowhere from then on.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if this is not the present id of a session. Then none is ended.
    pub fn revoke_others(&self, id: &SessionId) -> Result<usize, SessionGone> {
        let digest = self.digest(id);
        let now = self.registry.now();
        let found = self.visit(id, |entry, held, _| {
            Ok((Arc::clone(&entry.record), held.owner()))
        });
        let (record, owner) = found.map_err(|Gone| SessionGone)?;
        let is_present = || {
            let mut held = record.lock();
            let payload = held.payload.as_mut();
            payload.is_some_and(|payload| payload.keep_only(&digest))
        };
        let Some(owner) = owner else {
            return if is_present() {
                Ok(0)
            } else {
                Err(SessionGone)
            };
        };
        self.registry
            .end_all_of(&owner, now, Some(&record), is_present)
            .map_err(|Gone| SessionGone)
    }

    /// Whose the session of an id is; `None` if it is nobody's, or there is none. No touch. O(1).
    ///
    /// ```
    /// use tickwheel::{ManualClock, SessionPolicy, SessionStore, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let store = SessionStore::new(&timers, SessionPolicy::new())?;
    /// let (visitor, _) = store.create_anonymous("a basket")?;
    /// assert!(store.principal(&visitor).is_none());
    /// let hers = store.cycle_id_as(&visitor, "alice")?;
    /// assert_eq!(store.principal(&hers).as_deref(), Some("alice"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn principal(&self, id: &SessionId) -> Option<Arc<str>> {
        self.visit(id, |_, held, _| Ok(held.owner())).ok()?
    }

    /// The sessions of a principal, oldest first, and what is left to each. No touch. O(n) in their number, and in that of
    /// what is due.
    #[must_use]
    pub fn list(&self, principal: &str) -> Vec<(Session<V>, TimeToLive)> {
        let now = self.registry.now();
        let records = self.registry.of(principal, now);
        let live = records.iter().filter_map(|Aged { record, created }| {
            let session = seen::view(record, *created, &record.lock())?;
            let deadline = record.word.get().filter(|deadline| *deadline > now)?;
            Some((session, record.time_to_live(deadline, now)))
        });
        live.collect()
    }

    /// Shows each session to `f`, in no particular order. No touch. Those that are started or ended meanwhile may be among
    /// them or not. `f` runs under no lock. O(n).
    pub fn for_each(&self, mut f: impl FnMut(Session<V>)) {
        let now = self.registry.now();
        self.registry.for_each(now, |entry| {
            let record = &entry.record;
            let session = seen::view(record, entry.created, &record.lock());
            if let Some(session) = session {
                f(session);
            }
        });
    }

    /// How many sessions live now. What is due and was not reclaimed is, first: O(n) in that.
    #[must_use]
    pub fn len(&self) -> usize {
        self.registry.count(self.registry.now()).0
    }

    /// Whether no session lives now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many principals have a session that lives now. As [`len`](Self::len).
    #[must_use]
    pub fn principals(&self) -> usize {
        self.registry.count(self.registry.now()).1
    }

    /// How many sessions are held, those included that have expired and are not reclaimed yet. O(1).
    #[must_use]
    pub fn resident(&self) -> usize {
        self.registry.map.len()
    }
}
