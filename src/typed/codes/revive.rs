//! Codes that live again.
//!
//! A subject is restored as a code is issued: its record is kept meanwhile, timers are armed while no lock is held, and then all
//! that there is comes to be in one step, unless somebody was faster.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::task::Waker;
use core::time::Duration;

use super::account::{Code, Slot, State};
use super::issued::{CodeKey, CodeNonce, SubjectId};
use super::log::{Limit, Log};
use super::one_time::OneTimeCodes;
use super::snapshot::{CodeSnapshot, CodesSnapshot, PurposeSnapshot, SubjectSnapshot};
use super::table::{Account, Table};
use crate::sync::Ordering;
use crate::typed::secret::Digest;
use crate::typed::snapshot::{
    Left, Passage, RestoreError, RestoreOptions, RestoreReport, WallTime,
};
use crate::typed::{EndReason, Ended};
use crate::{TimerKey, Timers, Timestamp};

/// A subject on its way in.
struct Revival<'a> {
    table: &'a Arc<Table>,
    id: SubjectId,
    now: Timestamp,
    attempts: Log,
    issues: Log,
    slots: Vec<Cooled>,
    /// Codes that do not come to live, and why.
    ends: Vec<(EndReason, Ending)>,
}

/// A purpose without its code.
struct Cooled {
    purpose: &'static str,
    cooled: Timestamp,
    last: Option<EndReason>,
    code: Option<CodeSnapshot>,
    deadline: Timestamp,
}

/// What is told of a code.
struct Ending {
    purpose: &'static str,
    nonce: u64,
    generation: u64,
    deadline: Timestamp,
}

/// Timers that are cancelled, unless they are taken.
struct Armed<'a>(&'a Timers, Vec<TimerKey>);

// === impl OneTimeCodes ===

impl OneTimeCodes {
    /// Lets codes live again that other ones, mostly of an earlier process, had issued; with wrong answers, cooldowns and
    /// counts. Deadlines are by the [options](RestoreOptions). `purposes` are those that the program knows; codes for others are
    /// refused, and nothing is told of them, but what counts against their subjects still does. O(subjects).
    ///
    /// Limits are those of these codes. A code that had as many wrong answers as there may be here, or whose subject had, ends with
    /// [`TooManyAttempts`](EndReason::TooManyAttempts), and counts as refused. If there is no room for a subject, its counts are lost
    /// with its codes. Length, alphabet and time to live may be others than before: what was issued stays good for as
    /// long as it was, but an answer of another form is never right.
    ///
    /// # Errors
    ///
    /// [`RestoreError`], and then nothing has changed. [`OtherKey`](RestoreError::OtherKey) unless the
    /// [key](super::OneTimeCodesBuilder::digest_key) is the same; [`InUse`](RestoreError::InUse) if a code was issued before;
    /// [`Malformed`](RestoreError::Malformed) if a subject, or a purpose of one, is in it twice, or generations that were never given.
    pub fn restore(
        &self,
        snapshot: CodesSnapshot,
        purposes: &[&'static str],
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        let table = &self.table;
        snapshot.check(table)?;
        if table.timers.is_shut_down() {
            return Err(RestoreError::ShutDown);
        }
        let passage = Passage::new(snapshot.taken_at, &options, || table.timers.now());
        // ORDERING: Relaxed, as in `next_generation`.
        let (fresh, next, relaxed) = (0, snapshot.next_generation, Ordering::Relaxed);
        let unused = table
            .generations
            .compare_exchange(fresh, next, relaxed, relaxed);
        unused.map_err(|_| RestoreError::InUse)?;

        let mut report = RestoreReport {
            elapsed: passage.elapsed,
            ..RestoreReport::default()
        };
        for subject in snapshot.subjects {
            let revival = Revival::new(table, subject, purposes, &passage, &mut report);
            revival.run(&mut report);
        }
        Ok(report)
    }
}

// === impl Revival ===

impl<'a> Revival<'a> {
    fn new(
        table: &'a Arc<Table>,
        subject: SubjectSnapshot,
        purposes: &[&'static str],
        passage: &Passage,
        report: &mut RestoreReport,
    ) -> Self {
        let policy = &table.policy;
        let log = |counted: Vec<Option<WallTime>>, limit: Limit| {
            let left = counted.into_iter().map(|until| passage.left(until));
            let counted = left.filter(|left| left.lives()).map(Left::deadline);
            Log::of(counted.collect(), limit)
        };
        let mut revival = Self {
            table,
            id: SubjectId::from_bytes(subject.subject),
            now: passage.now,
            attempts: log(subject.attempts, policy.subject_attempts),
            issues: log(subject.issues, policy.subject_issues),
            slots: Vec::new(),
            ends: Vec::new(),
        };
        for entry in subject.purposes {
            let known = purposes.iter().find(|known| **known == entry.purpose);
            let Some(known) = known else {
                report.refused += usize::from(entry.code.is_some());
                continue;
            };
            revival.add(known, entry, passage);
        }
        revival
    }

    fn add(&mut self, purpose: &'static str, entry: PurposeSnapshot, passage: &Passage) {
        let mut slot = Cooled {
            purpose,
            cooled: match passage.left(entry.cooled) {
                Left::Until(cooled) => cooled,
                Left::Over { .. } => Timestamp::ZERO,
            },
            last: entry.last,
            deadline: Timestamp::ZERO,
            code: None,
        };
        if let Some(code) = entry.code {
            let left = passage.left(code.deadline);
            let policy = &self.table.policy;
            slot.deadline = left.deadline();
            let tried = code.wrong >= policy.attempts;
            slot.code = Some(code);
            if !left.lives() {
                self.end(&mut slot, EndReason::Absolute);
            } else if tried || self.attempts.left(policy.subject_attempts) == 0 {
                self.end(&mut slot, EndReason::TooManyAttempts);
            }
        }
        self.slots.push(slot);
    }

    /// The code of a slot does not come to live.
    fn end(&mut self, slot: &mut Cooled, reason: EndReason) {
        let Some(code) = slot.code.take() else { return };
        slot.last = Some(reason);
        let ending = Ending {
            purpose: slot.purpose,
            nonce: code.nonce,
            generation: code.generation,
            deadline: slot.deadline,
        };
        self.ends.push((reason, ending));
    }

    fn end_all(&mut self, reason: EndReason) {
        let mut slots = mem::take(&mut self.slots);
        for slot in &mut slots {
            self.end(slot, reason);
        }
        self.slots = slots;
    }

    /// Does it, and tells of what does not live.
    fn run(mut self, report: &mut RestoreReport) {
        self.take_rooms();
        match self.settle() {
            Ok(restored) => report.restored += restored,
            Err(reason) => {
                for slot in &self.slots {
                    if slot.code.is_some() {
                        self.table.release();
                    }
                }
                self.end_all(reason);
            }
        }
        for (reason, ending) in self.ends {
            let count = if reason.is_expiry() {
                &mut report.expired
            } else if reason == EndReason::Replaced {
                &mut report.occupied
            } else {
                &mut report.refused
            };
            *count += 1;
            self.table.tell_of(Ended {
                key: CodeKey {
                    subject: self.id,
                    purpose: ending.purpose,
                },
                value: CodeNonce::from_u64(ending.nonce),
                reason,
                deadline: ending.deadline,
                generation: ending.generation,
            });
        }
    }

    /// Counts the codes, as far as there is room.
    fn take_rooms(&mut self) {
        let mut slots = mem::take(&mut self.slots);
        for slot in &mut slots {
            if slot.code.is_some() && !self.table.reserve() {
                self.end(slot, EndReason::Capacity);
            }
        }
        self.slots = slots;
    }

    /// Lets all of it be. Says how many codes live, or why none does.
    fn settle(&mut self) -> Result<usize, EndReason> {
        let (table, now) = (self.table, self.now);
        let spans = table.policy.subject_attempts.span;
        let codes = self.slots.iter().filter(|slot| slot.code.is_some());
        let cooled = self.slots.iter().map(|slot| slot.cooled);
        // As in a draft: until then something may matter, whatever becomes of the codes.
        let forgets = codes
            .map(|slot| slot.deadline.saturating_add(spans))
            .chain(cooled)
            .chain([self.attempts.until(), self.issues.until()])
            .max()
            .filter(|forgets| *forgets > now);
        let Some(forgets) = forgets else { return Ok(0) };

        let account = self.account()?;
        let result = self.fill(&account, forgets);
        // The record was kept for this. The step ends a code whose timer has fired before it was there.
        let now = table.timers.now();
        table.run(&account, now, |state, _, _| state.drafts -= 1);
        result
    }

    /// The record of the subject, which stays for now. It has to be a new one.
    fn account(&self) -> Result<Arc<Account>, EndReason> {
        let table = self.table;
        loop {
            let account = table.find_or_make(self.id);
            let account = account.map_err(|_| EndReason::Capacity)?;
            let begun = table.run(&account, self.now, |state, _, _| {
                let blank = state.is_blank();
                state.drafts += u32::from(blank);
                blank
            });
            match begun {
                Some(true) => return Ok(account),
                Some(false) => return Err(EndReason::Replaced),
                // Somebody is about to remove it.
                None => table.remove(&account),
            }
        }
    }

    fn fill(&mut self, account: &Arc<Account>, forgets: Timestamp) -> Result<usize, EndReason> {
        let table = self.table;
        let mut armed = Armed(&table.timers, Vec::new());
        for slot in &self.slots {
            if slot.code.is_some() {
                armed.arm(account, slot.deadline)?;
            }
        }
        armed.arm(account, forgets)?;
        table
            .run(account, self.now, |state, _, change| {
                if table.timers.is_shut_down() {
                    return Err(EndReason::Shutdown);
                }
                if !state.is_blank() {
                    return Err(EndReason::Replaced);
                }
                let mut timers = mem::take(&mut armed.1).into_iter();
                for slot in mem::take(&mut self.slots) {
                    let timer = slot.code.is_some().then(|| timers.next()).flatten();
                    state.slots.push(slot.warmed(timer));
                }
                let forgets = timers.next().map(|timer| (timer, forgets));
                change.spare = mem::replace(&mut state.forgets, forgets).map(|(timer, _)| timer);
                state.attempts = mem::take(&mut self.attempts);
                state.issues = mem::take(&mut self.issues);
                change.issued = true;
                let live = state.slots.iter().filter(|slot| slot.code.is_some());
                Ok(live.count())
            })
            .unwrap_or(Err(EndReason::Replaced))
    }
}

// === impl Cooled ===

impl Cooled {
    fn warmed(self, timer: Option<TimerKey>) -> Slot {
        let code = self.code.zip(timer).map(|(code, timer)| Code {
            digest: Digest::from_bytes(code.digest),
            nonce: CodeNonce::from_u64(code.nonce),
            generation: code.generation,
            deadline: self.deadline,
            timer,
            wrong: code.wrong,
        });
        Slot {
            purpose: self.purpose,
            code,
            last: self.last,
            cooled: self.cooled,
        }
    }
}

// === impl State ===

impl State {
    /// Whether nothing was ever kept in it.
    fn is_blank(&self) -> bool {
        self.slots.is_empty()
            && self.attempts.until() == Timestamp::ZERO
            && self.issues.until() == Timestamp::ZERO
    }
}

// === impl Armed ===

impl Armed<'_> {
    fn arm(&mut self, account: &Arc<Account>, at: Timestamp) -> Result<(), EndReason> {
        let waker = Waker::from(Arc::clone(account));
        let armed = self.0.arm_waker(at, Duration::ZERO, waker);
        self.1.push(armed.map_err(|_| EndReason::Capacity)?);
        Ok(())
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        for timer in self.1.drain(..) {
            let _ = self.0.cancel(timer);
        }
    }
}
