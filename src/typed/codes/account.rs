//! What is kept for one subject: its codes, and what has to be remembered when they are gone.
//!
//! A record is moved under its lock, one step at a time; no step reads a clock, arms a timer or calls anybody.
//! Time is an argument, and never goes back: the latest that a step was given counts.

use alloc::vec::Vec;

use super::error::{IssueError, RefusedCause};
use super::issued::CodeNonce;
use super::log::Log;
use super::policy::Policy;
use crate::typed::EndReason;
use crate::typed::secret::Digest;
use crate::{TimerKey, Timestamp};

/// The record of a subject.
#[derive(Default)]
pub(super) struct State {
    /// The latest time there was.
    seen: Timestamp,
    pub(super) slots: Vec<Slot>,
    /// Wrong answers.
    pub(super) attempts: Log,
    /// Codes issued.
    pub(super) issues: Log,
    /// The timer by which all of this may be forgotten, and for when it is armed.
    pub(super) forgets: Option<(TimerKey, Timestamp)>,
    /// Who is about to issue a code. Meanwhile the record stays.
    pub(super) drafts: u32,
    /// It was taken out of the table: whoever finds it so has to look again.
    pub(super) gone: bool,
}

/// One purpose.
pub(super) struct Slot {
    pub(super) purpose: &'static str,
    pub(super) code: Option<Code>,
    /// How the last code has ended.
    pub(super) last: Option<EndReason>,
    /// When the next may be issued.
    pub(super) cooled: Timestamp,
}

/// A code that lives.
pub(super) struct Code {
    pub(super) digest: Digest,
    pub(super) nonce: CodeNonce,
    pub(super) generation: u64,
    pub(super) deadline: Timestamp,
    /// Armed for the deadline, unless the code has none.
    pub(super) timer: TimerKey,
    /// Wrong answers so far.
    pub(super) wrong: u32,
}

/// A code that has ended, and of which nobody was told yet.
pub(super) struct Over {
    pub(super) purpose: &'static str,
    pub(super) code: Code,
    pub(super) reason: EndReason,
}

/// A timer that is kept.
pub(super) struct Kept {
    pub(super) timer: TimerKey,
    pub(super) move_to: Option<Timestamp>,
    /// The one that is not needed any more.
    pub(super) spare: Option<TimerKey>,
}

// === impl State ===

impl State {
    /// The time: now, or later if that was seen.
    pub(super) fn see(&mut self, now: Timestamp) -> Timestamp {
        self.seen = self.seen.max(now);
        self.seen
    }

    /// Ends what has expired.
    pub(super) fn expire(&mut self, now: Timestamp, over: &mut Vec<Over>) {
        for slot in &mut self.slots {
            if slot.code.as_ref().is_some_and(|code| code.deadline <= now) {
                slot.end(EndReason::Absolute, over);
            }
        }
    }

    /// Ends all codes. Says how many.
    pub(super) fn end_all(&mut self, reason: EndReason, over: &mut Vec<Over>) -> usize {
        let before = over.len();
        for slot in &mut self.slots {
            slot.end(reason, over);
        }
        over.len() - before
    }

    /// Whether a code may be issued.
    pub(super) fn may_issue(
        &mut self,
        policy: &Policy,
        now: Timestamp,
        purpose: &str,
    ) -> Result<(), IssueError> {
        self.attempts.forget(now);
        if let Some(until) = self.attempts.full_until(policy.subject_attempts) {
            return Err(IssueError::TooManyAttempts(until - now));
        }
        self.issues.forget(now);
        if let Some(until) = self.issues.full_until(policy.subject_issues) {
            return Err(IssueError::TooManyIssues(until - now));
        }
        match self.slot(purpose) {
            Some(slot) if now < slot.cooled => Err(IssueError::Cooldown(slot.cooled - now)),
            _ => Ok(()),
        }
    }

    /// Lets a code live in place of the one before it.
    pub(super) fn issue(
        &mut self,
        policy: &Policy,
        now: Timestamp,
        purpose: &'static str,
        code: Code,
        over: &mut Vec<Over>,
    ) {
        self.issues.add(now, policy.subject_issues);
        let cooled = now.saturating_add(policy.cooldown);
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.purpose == purpose) {
            slot.end(EndReason::Replaced, over);
            slot.code = Some(code);
            slot.cooled = cooled;
        } else {
            self.slots.push(Slot {
                purpose,
                code: Some(code),
                last: None,
                cooled,
            });
        }
    }

    /// Compares an answer with the code, or with a dummy if there is none, and consumes the code or charges
    /// the attempt.
    pub(super) fn verify(
        &mut self,
        policy: &Policy,
        now: Timestamp,
        answer: &Answer<'_>,
        over: &mut Vec<Over>,
    ) -> Result<(), RefusedCause> {
        let slot = self
            .slots
            .iter_mut()
            .find(|slot| slot.purpose == answer.purpose);
        let Some(slot) = slot else {
            return Err(answer.dummy_compare(RefusedCause::Unknown));
        };
        let Some(code) = &mut slot.code else {
            let cause = slot.last.map_or(RefusedCause::Unknown, RefusedCause::Ended);
            return Err(answer.dummy_compare(cause));
        };
        if answer.nonce.is_some_and(|nonce| nonce != code.nonce) {
            return Err(answer.dummy_compare(RefusedCause::OtherNonce));
        }
        if answer.digest.is(&code.digest) {
            slot.end(EndReason::Consumed, over);
            return Ok(());
        }
        code.wrong += 1;
        let code_left = policy.attempts.saturating_sub(code.wrong);
        if code_left == 0 {
            slot.end(EndReason::TooManyAttempts, over);
        }
        let limit = policy.subject_attempts;
        self.attempts.forget(now);
        self.attempts.add(now, limit);
        let subject_left = self.attempts.left(limit);
        if subject_left == 0 {
            self.end_all(EndReason::TooManyAttempts, over);
        }
        let left = code_left.min(subject_left);
        Err(RefusedCause::Mismatch { left })
    }

    /// Ends the code for a purpose. Says which it was.
    pub(super) fn cancel(&mut self, purpose: &str, over: &mut Vec<Over>) -> Option<CodeNonce> {
        let mut slots = self.slots.iter_mut();
        let slot = slots.find(|slot| slot.purpose == purpose)?;
        slot.end(EndReason::Removed, over)
    }

    /// The code for a purpose. After [`expire`](Self::expire).
    pub(super) fn code(&self, purpose: &str) -> Option<&Code> {
        self.slot(purpose)?.code.as_ref()
    }

    /// The next time at which there is something to end or to forget.
    pub(super) fn next(&self) -> Timestamp {
        let codes = self.slots.iter().filter_map(|slot| slot.code.as_ref());
        let first = codes.map(|code| code.deadline).min();
        first.unwrap_or_else(|| self.matters_until())
    }

    /// Whether there is nothing to keep. When nothing more will be issued, counts are nothing.
    pub(super) fn is_over(&self, shut_down: bool) -> bool {
        self.drafts == 0
            && self.slots.iter().all(|slot| slot.code.is_none())
            && (shut_down || self.matters_until() <= self.seen)
    }

    /// Keeps the timer of a code that has ended before its time, if the record has no other that comes when it may
    /// be forgotten. Says which, and where it has to be moved to if the code had no end.
    pub(super) fn keep_timer(&mut self, over: &[Over]) -> Option<Kept> {
        let until = self.matters_until();
        let last = over.last()?;
        let forgets = self.forgets.is_some_and(|(_, at)| until <= at);
        if forgets || self.slots.iter().any(|slot| slot.code.is_some()) {
            return None;
        }
        // If the code had an end, it is not before `until`: see `forgettable`.
        let Code {
            timer, deadline, ..
        } = last.code;
        let move_to = deadline.is_never().then_some(until);
        let before = self.forgets.replace((timer, move_to.unwrap_or(deadline)));
        Some(Kept {
            timer,
            move_to,
            spare: before.map(|(timer, _)| timer),
        })
    }

    /// If the record matters for longer than its timer is armed for, since a step came later than it was begun: the timer, and
    /// where it has to be moved to.
    pub(super) fn forget_later(&mut self) -> Option<(TimerKey, Timestamp)> {
        let until = self.matters_until();
        let (timer, at) = self.forgets?;
        if until <= at {
            return None;
        }
        self.forgets = Some((timer, until));
        self.forgets
    }

    /// Until when counts and cooldowns matter.
    pub(super) fn matters_until(&self) -> Timestamp {
        let cooled = self.slots.iter().map(|slot| slot.cooled).max();
        cooled
            .unwrap_or(Timestamp::ZERO)
            .max(self.attempts.until())
            .max(self.issues.until())
    }

    fn slot(&self, purpose: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.purpose == purpose)
    }
}

/// The latest time at which anything about a code that is issued at `now` can matter.
pub(super) fn forgettable(policy: &Policy, now: Timestamp, deadline: Timestamp) -> Timestamp {
    now.saturating_add(policy.cooldown)
        .max(now.saturating_add(policy.subject_issues.span))
        .max(deadline.saturating_add(policy.subject_attempts.span))
}

// === impl Slot ===

impl Slot {
    /// Ends the code, if there is one.
    fn end(&mut self, reason: EndReason, over: &mut Vec<Over>) -> Option<CodeNonce> {
        let code = self.code.take()?;
        let nonce = code.nonce;
        self.last = Some(reason);
        over.push(Over {
            purpose: self.purpose,
            code,
            reason,
        });
        Some(nonce)
    }
}

/// An answer, as it is compared.
pub(super) struct Answer<'a> {
    pub(super) purpose: &'a str,
    /// The code that is meant, if that is known.
    pub(super) nonce: Option<CodeNonce>,
    pub(super) digest: Digest,
    /// What it is compared with if there is no code: nothing has this digest.
    pub(super) dummy: &'a Digest,
}

// === impl Answer ===

impl Answer<'_> {
    /// Does the work of a comparison. The cause depends on its result, so that it is not left out.
    pub(super) fn dummy_compare(&self, cause: RefusedCause) -> RefusedCause {
        if self.digest.is(self.dummy) {
            return RefusedCause::Unknown;
        }
        cause
    }
}
