//! Accepted steps, written down and remembered again.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;
use core::time::Duration;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::issued::SubjectId;
use super::replay::{Accepted, Inner, Newest, ReplayGuard};
use crate::typed::secret::Digest;
use crate::typed::snapshot::{
    Departure, Left, Passage, RestoreError, RestoreOptions, RestoreReport, VERSION, WallTime,
    check_version,
};
use crate::{Timestamp, WallAnchor};

/// What a guard remembered at one time: [`ReplayGuard::snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReplaySnapshot {
    /// The format.
    pub version: u32,
    /// When it was taken.
    pub taken_at: WallTime,
    /// A digest that shows which key all digests were made with, and nothing else of it.
    pub key_check: [u8; 32],
    /// By their digests.
    pub subjects: Vec<StepSnapshot>,
}

/// The newest step of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepSnapshot {
    /// The digest of the subject.
    pub subject: [u8; 32],
    /// The newest that was accepted.
    pub step: u64,
    /// Until when it is remembered.
    pub until: Option<WallTime>,
}

// === impl ReplayGuard ===

impl ReplayGuard {
    /// The newest step of each subject that is remembered now, under its digest. To be taken before the runtime is shut down. O(subjects).
    ///
    /// ```
    /// use tickwheel::snapshot::RestoreOptions;
    /// use tickwheel::{ManualClock, ReplayError, ReplayGuard, Timers};
    ///
    /// let start = || -> Result<ReplayGuard, Box<dyn std::error::Error>> {
    ///     let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    ///     let window = ReplayGuard::window(std::time::Duration::from_secs(30), 1);
    ///     Ok(ReplayGuard::with_digest_key(&timers, window, [7; 32])?)
    /// };
    /// let before = start()?;
    /// before.accept("ada", 59_000_000)?;
    /// let after = start()?;
    /// after.restore(before.snapshot(), RestoreOptions::new())?;
    /// assert_eq!(after.accept("ada", 59_000_000), Err(ReplayError::Replayed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> ReplaySnapshot {
        self.take_snapshot(None)
    }

    /// As [`snapshot`](Self::snapshot), with the time of day from that anchor.
    #[must_use]
    pub fn snapshot_at(&self, anchor: WallAnchor) -> ReplaySnapshot {
        self.take_snapshot(Some(anchor))
    }

    fn take_snapshot(&self, anchor: Option<WallAnchor>) -> ReplaySnapshot {
        let inner = &self.inner;
        let departure = Departure::new(anchor, || inner.timers.now());
        let mut subjects = Vec::new();
        let marks: Vec<_> = inner.marks.pin().values().cloned().collect();
        for mark in marks {
            let newest = mark.newest(departure.now);
            subjects.extend(newest.map(|newest| StepSnapshot {
                subject: *mark.id.as_bytes(),
                step: newest.step,
                until: departure.deadline(newest.until),
            }));
        }
        // Of two marks of one subject the earlier is gone; what it knew the other one need not.
        subjects.sort_unstable_by_key(|entry: &StepSnapshot| (entry.subject, entry.step));
        subjects.reverse();
        subjects.dedup_by_key(|entry| entry.subject);
        subjects.reverse();
        ReplaySnapshot {
            version: VERSION,
            taken_at: departure.taken_at,
            key_check: *inner.key.check().bytes(),
            subjects,
        }
    }

    /// Remembers what another guard did, mostly one of an earlier process, for as long as that would have, by the
    /// [options](RestoreOptions). What there is no timer for counts as refused, and may be accepted once more. O(subjects).
    ///
    /// # Errors
    ///
    /// [`RestoreError`], and then nothing has changed. [`OtherKey`](RestoreError::OtherKey) unless the
    /// [key](Self::with_digest_key) is the same; [`InUse`](RestoreError::InUse) if something is remembered already;
    /// [`Malformed`](RestoreError::Malformed) if a subject is in it twice.
    pub fn restore(
        &self,
        snapshot: ReplaySnapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        let inner = &self.inner;
        check_version(snapshot.version)?;
        if !inner
            .key
            .check()
            .is(&Digest::from_bytes(snapshot.key_check))
        {
            return Err(RestoreError::OtherKey);
        }
        let mut subjects = HashSet::new();
        if !snapshot
            .subjects
            .iter()
            .all(|entry| subjects.insert(entry.subject))
        {
            return Err(RestoreError::Malformed("one subject twice"));
        }
        if inner.timers.is_shut_down() {
            return Err(RestoreError::ShutDown);
        }
        if !inner.marks.is_empty() {
            return Err(RestoreError::InUse);
        }
        let passage = Passage::new(snapshot.taken_at, &options, || inner.timers.now());
        let mut report = RestoreReport {
            elapsed: passage.elapsed,
            ..RestoreReport::default()
        };
        for entry in snapshot.subjects {
            let count = match passage.left(entry.until) {
                Left::Over { .. } => &mut report.expired,
                Left::Until(until) => match inner.remember(&entry, passage.now, until) {
                    Some(Accepted::Yes(_)) => &mut report.restored,
                    Some(Accepted::Not) => &mut report.occupied,
                    // Its timer has fired meanwhile.
                    Some(Accepted::Gone) => &mut report.expired,
                    None => &mut report.refused,
                },
            };
            *count += 1;
        }
        Ok(report)
    }
}

// === impl Inner ===

impl Inner {
    /// Remembers a step, unless something is remembered; nothing, if there is no timer.
    fn remember(
        self: &Arc<Self>,
        entry: &StepSnapshot,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<Accepted> {
        let mark = self.mark(SubjectId::from_bytes(entry.subject));
        let waker = Waker::from(Arc::clone(&mark));
        let timer = self.timers.arm_waker(until, Duration::ZERO, waker).ok()?;
        let newest = Newest {
            step: entry.step,
            until,
            timer,
        };
        let accepted = if self.is_in_place(&mark) {
            mark.accept(now, newest)
        } else {
            Accepted::Not
        };
        if !matches!(accepted, Accepted::Yes(_)) {
            let _ = self.timers.cancel(timer);
        }
        self.forget(&mark);
        Some(accepted)
    }
}
