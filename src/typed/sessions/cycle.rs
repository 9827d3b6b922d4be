//! Another id for a session: when privileges change.

use core::time::Duration;

use super::by_key::ByKey;
use super::guarded::Guarded;
use super::index::Assign;
use super::record::Record;
use super::{CycleError, SessionId, SessionStore, TouchPolicy, principal};
use crate::Timestamp;
use crate::typed::deadline::Gone;
use crate::typed::secret::Digest;

// === impl SessionStore ===

impl<V: Send + Sync + 'static> SessionStore<V> {
    /// Gives a session another id, as is due when privileges change, in one step: of many who do so with the same id
    /// one succeeds. Value, version, generation and deadlines stay. A touch, unless that is manual.
    ///
    /// The old id leads nowhere from then on. With a [grace](super::SessionPolicy::cycle_grace) it still leads to the session for
    /// that long, so that requests on their way are served, but it can neither be cycled nor revoke others. Of ids before
    /// that one none does.
    ///
    /// # Errors
    ///
    /// [`CycleError::Gone`] if this is not the session's present id, [`CycleError::Random`].
    pub fn cycle_id(&self, id: &SessionId) -> Result<SessionId, CycleError> {
        let (fresh, digest) = self.cycled(id)?;
        let old = self.digest(id);
        let now = self.registry.now();
        let record = self.registry.find(&id.selector(), now);
        let record = record.map_err(|Gone| CycleError::Gone)?;
        // Under the lock of the index, so that nothing comes between what `cycle_id_as` finds and what it does.
        let cycled = self.registry.alter(&record, now, |payload, now| {
            if !payload.is_present(&old) {
                return Err(Gone);
            }
            self.touch_for_write(&record, now)?;
            payload.cycle(digest, now, self.registry.policy.grace);
            Ok(())
        });
        cycled.map_err(|Gone| CycleError::Gone)?;
        Ok(fresh)
    }

    /// As [`cycle_id`](Self::cycle_id), and from then on the session is that principal's: for a login. It counts
    /// among the principal's sessions, and if there are too many the policy holds. There is no grace: whoever has
    /// brought about the old id is not to be logged in by it.
    ///
    /// # Errors
    ///
    /// [`CycleError`] says which; then nothing has changed, and no other session has ended unless it was due.
    pub fn cycle_id_as(&self, id: &SessionId, of: &str) -> Result<SessionId, CycleError> {
        let owner = principal(Some(of)).map_err(|_| CycleError::EmptyPrincipal)?;
        let (fresh, digest) = self.cycled(id)?;
        let old = self.digest(id);
        let now = self.registry.now();
        let aged = |entry: &ByKey<_, _>, _: &mut _| Ok(entry.aged());
        let aged = self.registry.visit(&id.selector(), now, aged);
        let (aged, owner) = aged.ok().zip(owner).ok_or(CycleError::Gone)?;
        let record = &aged.record;
        let assigned = self.registry.assign(
            &aged,
            &owner,
            now,
            |payload| payload.is_present(&old),
            |payload, now| {
                let cycles = payload.is_present(&old) && self.touch_for_write(record, now).is_ok();
                if cycles {
                    payload.cycle(digest, now, Duration::ZERO);
                }
                cycles
            },
        );
        assigned.map_err(|error| match error {
            Assign::Gone => CycleError::Gone,
            Assign::Full => CycleError::Full,
        })?;
        Ok(fresh)
    }

    fn cycled(&self, id: &SessionId) -> Result<(SessionId, Digest), CycleError> {
        let fresh = id.cycled().map_err(|_| CycleError::Random)?;
        let digest = self.digest(&fresh);
        Ok((fresh, digest))
    }

    fn touch_for_write(
        &self,
        record: &Record<u64, Guarded<V>>,
        now: Timestamp,
    ) -> Result<(), Gone> {
        if self.registry.policy.touch != TouchPolicy::Manual {
            record.touch(now)?;
        }
        record.word.is_live(now).then_some(()).ok_or(Gone)
    }
}
