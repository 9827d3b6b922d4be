//! Codes, written down.

use alloc::string::String;
use alloc::vec::Vec;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::account::{Slot, State};
use super::one_time::OneTimeCodes;
use super::table::Table;
use crate::WallAnchor;
use crate::sync::Ordering;
use crate::typed::EndReason;
use crate::typed::secret::Digest;
use crate::typed::snapshot::{Departure, RestoreError, VERSION, WallTime, check_version};

/// Numbers from here on were never reached by counting.
const UNREACHED: u64 = 1 << 63;

/// Codes as they were at one time, and what was to be remembered then: [`OneTimeCodes::snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodesSnapshot {
    /// The format.
    pub version: u32,
    /// When it was taken.
    pub taken_at: WallTime,
    /// A digest that shows which key all digests were made with, and nothing else of it.
    pub key_check: [u8; 32],
    /// All generations are smaller.
    pub next_generation: u64,
    /// By their digests.
    pub subjects: Vec<SubjectSnapshot>,
}

/// What was remembered of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubjectSnapshot {
    /// Its [id](super::SubjectId).
    pub subject: [u8; 32],
    /// Until when each wrong answer counts.
    pub attempts: Vec<Option<WallTime>>,
    /// Until when each code that was issued counts.
    pub issues: Vec<Option<WallTime>>,
    /// Each once.
    pub purposes: Vec<PurposeSnapshot>,
}

/// What was remembered of a subject for one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PurposeSnapshot {
    /// The word of the program.
    pub purpose: String,
    /// When the next code may be issued.
    pub cooled: Option<WallTime>,
    /// How the last code has ended.
    pub last: Option<EndReason>,
    /// The code that lives.
    pub code: Option<CodeSnapshot>,
}

/// A code that lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeSnapshot {
    /// Of the code, its subject and its purpose.
    pub digest: [u8; 32],
    /// Which code it is, as a number.
    pub nonce: u64,
    /// The generation of its event.
    pub generation: u64,
    /// When it expires.
    pub deadline: Option<WallTime>,
    /// Wrong answers so far.
    pub wrong: u32,
}

// === impl OneTimeCodes ===

impl OneTimeCodes {
    /// All codes that live now, by their digests, with wrong answers, cooldowns and counts; also those of subjects
    /// without a code. Neither codes nor subjects nor the key are in it. What has expired ends before.
    ///
    /// The key is that of [`digest_key`](super::OneTimeCodesBuilder::digest_key): with the random one that there is without it,
    /// nobody can restore the snapshot. To be taken before the runtime is shut down, which ends all codes. O(subjects).
    #[must_use]
    pub fn snapshot(&self) -> CodesSnapshot {
        self.take_snapshot(None)
    }

    /// As [`snapshot`](Self::snapshot), with the time of day from that anchor.
    #[must_use]
    pub fn snapshot_at(&self, anchor: WallAnchor) -> CodesSnapshot {
        self.take_snapshot(Some(anchor))
    }

    fn take_snapshot(&self, anchor: Option<WallAnchor>) -> CodesSnapshot {
        let table = &self.table;
        let departure = Departure::new(anchor, || table.timers.now());
        let mut subjects = Vec::new();
        for account in table.all() {
            // What has expired ends, and is told of. A record that is over comes to nothing.
            let kept = table.run(&account, departure.now, |state, _, _| {
                (!state.is_over(false)).then(|| state.written(*account.id.as_bytes(), &departure))
            });
            subjects.extend(kept.flatten());
        }
        subjects.sort_unstable_by_key(|entry: &SubjectSnapshot| entry.subject);
        CodesSnapshot {
            version: VERSION,
            taken_at: departure.taken_at,
            key_check: *table.key.check().bytes(),
            // ORDERING: Relaxed. Codes that were seen have smaller ones, since their locks were taken.
            next_generation: table.generations.load(Ordering::Relaxed),
            subjects,
        }
    }
}

// === impl State ===

impl State {
    fn written(&self, subject: [u8; 32], departure: &Departure) -> SubjectSnapshot {
        let now = departure.now;
        let count = |at| departure.deadline(at);
        let counts = self.attempts.counted().filter(|until| *until > now);
        let issues = self.issues.counted().filter(|until| *until > now);
        SubjectSnapshot {
            subject,
            attempts: counts.map(count).collect(),
            issues: issues.map(count).collect(),
            purposes: self
                .slots
                .iter()
                .map(|slot| slot.written(departure))
                .collect(),
        }
    }
}

// === impl Slot ===

impl Slot {
    fn written(&self, departure: &Departure) -> PurposeSnapshot {
        let code = self.code.as_ref().map(|code| CodeSnapshot {
            digest: *code.digest.bytes(),
            nonce: code.nonce.as_u64(),
            generation: code.generation,
            deadline: departure.deadline(code.deadline),
            wrong: code.wrong,
        });
        PurposeSnapshot {
            purpose: self.purpose.into(),
            cooled: departure.deadline(self.cooled),
            last: self.last,
            code,
        }
    }
}

// === impl CodesSnapshot ===

impl CodesSnapshot {
    /// Refuses what is no snapshot, or none of that table's key.
    pub(super) fn check(&self, table: &Table) -> Result<(), RestoreError> {
        check_version(self.version)?;
        if !table.key.check().is(&Digest::from_bytes(self.key_check)) {
            return Err(RestoreError::OtherKey);
        }
        if self.next_generation >= UNREACHED {
            let flaw = "a generation that was never reached";
            return Err(RestoreError::Malformed(flaw));
        }
        let mut subjects = HashSet::new();
        for entry in &self.subjects {
            if !subjects.insert(entry.subject) {
                return Err(RestoreError::Malformed("one subject twice"));
            }
            let mut purposes = HashSet::new();
            for slot in &entry.purposes {
                if !purposes.insert(&slot.purpose) {
                    return Err(RestoreError::Malformed("one purpose twice"));
                }
                let generation = slot.code.as_ref().map(|code| code.generation);
                if generation.is_some_and(|generation| generation >= self.next_generation) {
                    let flaw = "a generation that was not given yet";
                    return Err(RestoreError::Malformed(flaw));
                }
            }
        }
        Ok(())
    }
}
