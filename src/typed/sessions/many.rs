//! How sessions under the caller's keys end, and what concerns many at a time: those of one principal, and all.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};

use super::owned::Aged;
use super::{Session, SessionGone, Sessions, seen};
use crate::typed::EndReason;
use crate::typed::deadline::Gone;

// === impl Sessions ===

impl<K, V, S> Sessions<K, V, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Puts what `f` makes of the value in its place; calls it again if somebody has changed the value
    /// meanwhile. `f` is called under no lock. Otherwise as [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if there is none, or none any more.
    pub fn modify<Q>(&self, key: &Q, f: impl FnMut(&V) -> V) -> Result<Session<V>, SessionGone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let update = |seen: &_, value| self.update(key, seen, value);
        seen::modify(|| self.look(key, false), update, f)
    }

    /// Ends a session, with [`EndReason::Removed`]: its owner is done with it. Returns its value.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if there is none.
    pub fn remove<Q>(&self, key: &Q) -> Result<Arc<V>, SessionGone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.end(key, EndReason::Removed)
    }

    /// Ends a session, with [`EndReason::Revoked`]: it is taken away. Returns its value.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if there is none.
    pub fn revoke<Q>(&self, key: &Q) -> Result<Arc<V>, SessionGone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.end(key, EndReason::Revoked)
    }

    fn end<Q>(&self, key: &Q, reason: EndReason) -> Result<Arc<V>, SessionGone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.registry.now();
        loop {
            let record = self.registry.find(key, now).map_err(|Gone| SessionGone)?;
            let mut value = None;
            let ended = self.registry.end(&record, now, reason, |payload| {
                value = Some(Arc::clone(payload));
                true
            });
            if let Some(value) = ended.ok().and(value) {
                return Ok(value);
            }
            // It has just ended otherwise: another one may have taken its place.
        }
    }

    /// The sessions of a principal, oldest first. No touch. O(n) in their number, and in that of what is due.
    #[must_use]
    pub fn list(&self, principal: &str) -> Vec<(K, Session<V>)> {
        let now = self.registry.now();
        let records = self.registry.of(principal, now);
        let live = records.iter().filter_map(|Aged { record, created }| {
            let session = seen::view(record, *created, &record.lock())?;
            record
                .word
                .is_live(now)
                .then(|| (record.key.clone(), session))
        });
        live.collect()
    }

    /// Ends all sessions of a principal, with [`EndReason::Revoked`], in one step: whoever looks after this
    /// has returned finds none of those there were. Says how many. O(n) in their number.
    pub fn revoke_all(&self, principal: &str) -> usize {
        let now = self.registry.now();
        self.registry
            .end_all_of(principal, now, None, || true)
            .unwrap_or(0)
    }

    /// Ends all sessions of this session's principal but this one, as [`revoke_all`](Self::revoke_all) does. 0 if it has no
    /// principal.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if there is no session under the key. Then none is ended.
    pub fn revoke_others<Q>(&self, key: &Q) -> Result<usize, SessionGone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.registry.now();
        let found = self.registry.visit(key, now, |entry, held| {
            Ok((Arc::clone(&entry.record), held.owner()))
        });
        let (record, owner) = found.map_err(|Gone| SessionGone)?;
        let Some(owner) = owner else { return Ok(0) };
        self.registry
            .end_all_of(&owner, now, Some(&record), || record.word.is_live(now))
            .map_err(|Gone| SessionGone)
    }

    /// Shows each session to `f`, in no particular order. No touch. Those that are started or ended meanwhile may be among
    /// them or not. `f` runs under no lock. O(n).
    pub fn for_each(&self, mut f: impl FnMut(&K, Session<V>)) {
        let now = self.registry.now();
        self.registry.for_each(now, |entry| {
            let record = &entry.record;
            let session = seen::view(record, entry.created, &record.lock());
            if let Some(session) = session {
                f(&record.key, session);
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

impl<K, V, S> Clone for Sessions<K, V, S> {
    fn clone(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
        }
    }
}

impl<K, V, S> fmt::Debug for Sessions<K, V, S> {
    /// Shows neither keys nor values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("policy", &self.registry.policy)
            .finish_non_exhaustive()
    }
}
