//! Leases, written down and taken up again.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::Hash;
use core::time::Duration;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::record::{Life, Record};
use super::registry::Registry;
use super::revive::{Revival, Revived};
use super::slot::Slot;
use super::{FencingToken, Leases};
use crate::typed::deadline::Deadline;
use crate::typed::panics::Panics;
use crate::typed::snapshot::{
    Departure, Left, Passage, RestoreError, RestoreOptions, RestoreReport, VERSION, WallTime,
    check_version,
};
use crate::typed::{EndReason, Ended};
use crate::{Timestamp, WallAnchor};

/// Leases as they were at one time: [`Leases::snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeasesSnapshot<K, H = String> {
    /// The format.
    pub version: u32,
    /// When it was taken.
    pub taken_at: WallTime,
    /// No token that was handed out before is larger.
    pub high_water: u64,
    /// What was held, by token.
    pub grants: Vec<LeaseSnapshot<K, H>>,
    /// What nobody held and nobody might have yet.
    pub delays: Vec<DelaySnapshot<K>>,
}

/// A lease that was held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeaseSnapshot<K, H> {
    /// What is leased.
    pub resource: K,
    /// To whom.
    pub holder: H,
    /// The number of the grant.
    pub token: u64,
    /// How long it lives from each renewal; `None` without end.
    pub time_to_live: Option<Duration>,
    /// When it expires unless it is renewed.
    pub deadline: Option<WallTime>,
    /// Beyond which no renewal goes.
    pub cap: Option<WallTime>,
}

/// A resource whose last holder has lost it a short while ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DelaySnapshot<K> {
    /// Which.
    pub resource: K,
    /// Until when nobody may have it.
    pub until: Option<WallTime>,
}

// === impl Leases ===

impl<K, H> Leases<K, H>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    H: Clone + Send + Sync + 'static,
{
    /// All leases that are held now, what is in a [lock delay](super::LeasesBuilder::lock_delay), and the largest token that was
    /// handed out. Who waits is not in it, nor is a [start delay](super::LeasesBuilder::start_delay). O(resources).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::snapshot::{LeasesSnapshot, RestoreOptions};
    /// use tickwheel::{Leases, ManualClock, Timers};
    ///
    /// let start = || -> Result<Leases<String>, tickwheel::BuildError> {
    ///     let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    ///     Ok(Leases::new(&timers))
    /// };
    /// let ttl = Duration::from_secs(3600);
    /// let before = start()?;
    /// let token = before.try_acquire("report", "worker 1", ttl)?.token();
    /// let stored = serde_json::to_string(&before.snapshot())?;
    /// drop(before);
    ///
    /// let after = start()?;
    /// let snapshot: LeasesSnapshot<String> = serde_json::from_str(&stored)?;
    /// after.restore(snapshot, RestoreOptions::new())?;
    /// assert!(after.try_acquire("report", "worker 2", ttl).unwrap_err().is_held());
    /// let grant = after.resume("report", token).unwrap(); // worker 1 is back
    /// after.renew(&grant)?;
    /// after.release(&grant)?;
    /// assert!(after.try_acquire("report", "worker 2", ttl)?.token() > token);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> LeasesSnapshot<K, H> {
        self.take_snapshot(None)
    }

    /// As [`snapshot`](Self::snapshot), with the time of day from that anchor.
    #[must_use]
    pub fn snapshot_at(&self, anchor: WallAnchor) -> LeasesSnapshot<K, H> {
        self.take_snapshot(Some(anchor))
    }

    fn take_snapshot(&self, anchor: Option<WallAnchor>) -> LeasesSnapshot<K, H> {
        let registry = self.registry();
        let departure = Departure::new(anchor, || registry.now());
        // All of them first: then of two slots for one resource the earlier is dead when it is looked at.
        let mut slots = Vec::new();
        registry.for_each(|slot| slots.push(Arc::clone(slot)));
        let (mut grants, mut delays) = (Vec::new(), Vec::new());
        for slot in &slots {
            let (held, quiet) = look(registry, slot, departure.now);
            let life = held.as_ref().and_then(|(record, _)| record.life.get());
            if let (Some((record, until)), Some(life)) = (&held, life) {
                grants.push(LeaseSnapshot {
                    resource: slot.resource.clone(),
                    holder: record.holder.clone(),
                    token: life.token.get(),
                    time_to_live: (record.ttl != Duration::MAX).then_some(record.ttl),
                    deadline: departure.deadline(*until),
                    cap: departure.deadline(life.cap),
                });
            } else if let Some(quiet) = quiet {
                delays.push(DelaySnapshot {
                    resource: slot.resource.clone(),
                    until: departure.deadline(quiet),
                });
            }
        }
        grants.sort_by_key(|grant| grant.token);
        LeasesSnapshot {
            version: VERSION,
            taken_at: departure.taken_at,
            // After the grants, so that none of them is larger.
            high_water: self.high_water().get(),
            grants,
            delays,
        }
    }

    /// Takes leases up again that other ones, mostly of an earlier process, have had. Each lives on under its token, until its
    /// deadline by the [options](RestoreOptions), and nobody else gets the resource before that. Its holder takes
    /// it up with [`resume`](Leases::resume), and may renew and release it as ever.
    ///
    /// A runtime that has no room for their timers does not keep leases from being restored: those without one are
    /// [counted](RestoreReport::untimed). What has expired meanwhile is told of, and its lock delay is that of these leases, counted from the deadline. O(grants).
    ///
    /// # Tokens
    ///
    /// All that are handed out from now on are larger than those of the snapshot, and than [`tokens_from`](super::LeasesBuilder::tokens_from):
    /// whichever is larger. A snapshot that was not taken last does not know of tokens that were handed
    /// out after it. So a service that may crash keeps the mark of [`persist_tokens`](super::LeasesBuilder::persist_tokens) besides: with both, no
    /// number is used twice, however stale the snapshot. The mark is moved by its hook before the first token is handed out, as ever.
    ///
    /// Nor does a stale snapshot know of grants that were made after it: whoever holds one may believe in it while somebody else
    /// has the resource. After a crash there should be a [start delay](super::LeasesBuilder::start_delay) too, and what the leases protect has
    /// to check tokens, as it has to anyway.
    ///
    /// # Errors
    ///
    /// [`RestoreError`], and then nothing has changed: [`InUse`](RestoreError::InUse) if a token was handed
    /// out here before, or something restored, and all but [`OtherKey`](RestoreError::OtherKey). Two entries for one resource, or with one token, are
    /// [`Malformed`](RestoreError::Malformed), and so is a largest token after which there is no other.
    ///
    /// # Panics
    ///
    /// If a hook has panicked, when all is restored.
    pub fn restore(
        &self,
        snapshot: LeasesSnapshot<K, H>,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        let registry = self.registry();
        check(&snapshot)?;
        if registry.timers.is_shut_down() {
            return Err(RestoreError::ShutDown);
        }
        let passage = Passage::new(snapshot.taken_at, &options, || registry.now());
        let high = FencingToken::new(snapshot.high_water);
        registry.tokens.continue_above(high)?;

        let mut report = RestoreReport {
            elapsed: passage.elapsed,
            ..RestoreReport::default()
        };
        for DelaySnapshot { resource, until } in snapshot.delays {
            if let Left::Until(until) = passage.left(until) {
                registry.keep_quiet(resource, passage.now, until);
            }
        }
        let mut ends = Vec::new();
        for lease in snapshot.grants {
            let left = passage.left(lease.deadline);
            let (resource, holder, token) = (lease.resource, lease.holder, lease.token);
            let deadline = match left {
                Left::Until(until) => {
                    let revived = Revived {
                        holder: holder.clone(),
                        ttl: lease.time_to_live.unwrap_or(Duration::MAX),
                        life: Life {
                            token: FencingToken::new(token),
                            deadline: Deadline::new(until),
                            cap: passage.left(lease.cap).deadline().max(until),
                        },
                        until,
                    };
                    let revival = registry.revive(resource.clone(), passage.now, revived);
                    if revival != Revival::Occupied {
                        report.restored += 1;
                        report.untimed += usize::from(revival == Revival::Untimed);
                        continue;
                    }
                    report.occupied += 1;
                    until
                }
                Left::Over { deadline, since } => {
                    report.expired += 1;
                    let quiet = registry.lock_delay.saturating_sub(since);
                    if !quiet.is_zero() {
                        let until = passage.now.saturating_add(quiet);
                        registry.keep_quiet(resource.clone(), passage.now, until);
                    }
                    deadline
                }
            };
            let reason = if left.lives() {
                EndReason::Revoked
            } else {
                EndReason::Absolute
            };
            ends.push((resource, holder, reason, deadline, token));
        }
        let mut panics = Panics::default();
        if let Some(on_end) = &registry.on_end {
            for (key, value, reason, deadline, generation) in &ends {
                panics.run(|| {
                    on_end(Ended {
                        key,
                        value,
                        reason: *reason,
                        deadline: *deadline,
                        generation: *generation,
                    });
                });
            }
        }
        panics.end();
        Ok(report)
    }
}

/// Who holds a resource, and until when.
type Held<K, H> = (Arc<Record<K, H>>, Timestamp);

/// Who holds a resource at `now`, and until when; and until when nobody may have it because it was lost. What has expired
/// has ended before. All of it at one time: what ends afterwards is not taken for what was never held.
fn look<K, H>(
    registry: &Arc<Registry<K, H>>,
    slot: &Arc<Slot<K, H>>,
    now: Timestamp,
) -> (Option<Held<K, H>>, Option<Timestamp>)
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    let held = slot.lock().current.clone();
    if held.is_some_and(|record| !record.is_live(now)) {
        registry.settle(slot, now);
    }
    let state = slot.lock();
    let held = state.current.as_ref().and_then(|record| {
        let until = record.life.get()?.deadline.get()?;
        (until > now).then(|| (Arc::clone(record), until))
    });
    let delayed = state.delayed_until;
    (held, (delayed > now).then_some(delayed))
}

/// Refuses what is no snapshot, or none that can be read.
fn check<K: Hash + Eq, H>(snapshot: &LeasesSnapshot<K, H>) -> Result<(), RestoreError> {
    check_version(snapshot.version)?;
    if snapshot.high_water == u64::MAX {
        return Err(RestoreError::Malformed("there is no token after its own"));
    }
    let (mut resources, mut tokens) = (HashSet::new(), HashSet::new());
    for grant in &snapshot.grants {
        if !(1..=snapshot.high_water).contains(&grant.token) {
            return Err(RestoreError::Malformed("a token that was never handed out"));
        }
        if !tokens.insert(grant.token) {
            return Err(RestoreError::Malformed("two grants with one token"));
        }
        if !resources.insert(&grant.resource) {
            return Err(RestoreError::Malformed("two grants of one resource"));
        }
    }
    let delays = snapshot.delays.iter();
    for delay in delays {
        if !resources.insert(&delay.resource) {
            return Err(RestoreError::Malformed("two entries for one resource"));
        }
    }
    Ok(())
}
