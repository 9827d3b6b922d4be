//! What codes do, with maps and lists, and without locks, digests or timers.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwheel::{CodeNonce, EndReason, IssueError, RefusedCause};

pub(crate) const SUBJECTS: [&str; 3] = ["ada", "bob", "eve"];
pub(crate) const PURPOSES: [&str; 2] = ["login", "reset"];

/// Not a multiple of a tick.
pub(crate) const UNIT: u64 = 400_007;

pub(crate) type Slot = (usize, usize);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) ttl: u64,
    pub(crate) attempts: u32,
    pub(crate) subject_attempts: (u16, u64),
    pub(crate) cooldown: u64,
    pub(crate) issues: (u16, u64),
    pub(crate) capacity: usize,
}

pub(crate) struct Code {
    pub(crate) answer: String,
    pub(crate) nonce: CodeNonce,
    pub(crate) generation: u64,
    pub(crate) deadline: u64,
    pub(crate) wrong: u32,
}

/// What was issued for a slot.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) live: Option<Code>,
    pub(crate) last: Option<EndReason>,
    /// Since then there was a time when nothing about the subject mattered, so that it may be forgotten.
    pub(crate) doubtful: bool,
    pub(crate) cooled: u64,
    /// All answers and nonces, the newest last.
    pub(crate) all: Vec<(String, CodeNonce)>,
}

#[derive(Default)]
pub(crate) struct Subject {
    pub(crate) attempts: Vec<u64>,
    pub(crate) issues: Vec<u64>,
    pub(crate) slots: [History; PURPOSES.len()],
}

pub(crate) struct Oracle {
    pub(crate) rules: Rules,
    pub(crate) now: u64,
    pub(crate) subjects: [Subject; SUBJECTS.len()],
    pub(crate) ended: BTreeMap<u64, EndReason>,
}

pub(crate) fn span(units: u64) -> u64 {
    units.saturating_mul(UNIT)
}

pub(crate) fn duration(units: u64) -> Duration {
    Duration::from_nanos(span(units))
}

impl History {
    pub(crate) fn end(&mut self, reason: EndReason, ended: &mut BTreeMap<u64, EndReason>) -> bool {
        let Some(code) = self.live.take() else {
            return false;
        };
        self.last = Some(reason);
        assert_eq!(ended.insert(code.generation, reason), None);
        true
    }
}

impl Oracle {
    pub(crate) fn advance(&mut self, by: u64) {
        self.now += by;
        let (now, rules) = (self.now, self.rules);
        for subject in &mut self.subjects {
            for slot in &mut subject.slots {
                if slot.live.as_ref().is_some_and(|code| code.deadline <= now) {
                    slot.end(EndReason::Absolute, &mut self.ended);
                }
            }
            subject.forget(&rules, now);
        }
    }

    pub(crate) fn living(&self) -> usize {
        let slots = self.subjects.iter().flat_map(|subject| &subject.slots);
        slots.filter(|slot| slot.live.is_some()).count()
    }

    pub(crate) fn remembered(&self) -> usize {
        let matters = |subject: &&Subject| subject.matters(self.now);
        self.subjects.iter().filter(matters).count()
    }

    pub(crate) fn may_issue(&self, (subject, purpose): Slot) -> Result<(), IssueError> {
        let (rules, subject) = (&self.rules, &self.subjects[subject]);
        let wait = |times: &[u64], (limit, window): (u16, u64)| {
            let full = times.len() >= usize::from(limit);
            full.then(|| Duration::from_nanos(times[0] + span(window) - self.now))
        };
        if let Some(wait) = wait(&subject.attempts, rules.subject_attempts) {
            return Err(IssueError::TooManyAttempts(wait));
        }
        if let Some(wait) = wait(&subject.issues, rules.issues) {
            return Err(IssueError::TooManyIssues(wait));
        }
        let slot = &subject.slots[purpose];
        if self.now < slot.cooled {
            let wait = Duration::from_nanos(slot.cooled - self.now);
            return Err(IssueError::Cooldown(wait));
        }
        if slot.live.is_none() && self.living() >= rules.capacity {
            return Err(IssueError::Full);
        }
        Ok(())
    }

    pub(crate) fn issued(&mut self, (subject, purpose): Slot, code: Code) {
        let (rules, now) = (self.rules, self.now);
        let subject = &mut self.subjects[subject];
        subject.issues.push(now);
        let slot = &mut subject.slots[purpose];
        slot.end(EndReason::Replaced, &mut self.ended);
        slot.all.push((code.answer.clone(), code.nonce));
        slot.cooled = now + span(rules.cooldown);
        slot.live = Some(code);
        slot.doubtful = false;
        self.advance(0);
    }

    pub(crate) fn verify(
        &mut self,
        (subject, purpose): Slot,
        answer: &str,
        nonce: Option<CodeNonce>,
    ) -> Result<(), RefusedCause> {
        let (rules, now) = (self.rules, self.now);
        if answer.len() != 6 {
            return Err(RefusedCause::Malformed);
        }
        let subject = &mut self.subjects[subject];
        let slot = &mut subject.slots[purpose];
        let Some(code) = &mut slot.live else {
            let ended = slot.last.map(RefusedCause::Ended);
            return Err(ended.unwrap_or(RefusedCause::Unknown));
        };
        if nonce.is_some_and(|nonce| nonce != code.nonce) {
            return Err(RefusedCause::OtherNonce);
        }
        if code.answer == answer {
            slot.end(EndReason::Consumed, &mut self.ended);
            self.advance(0);
            return Ok(());
        }
        code.wrong += 1;
        let mut left = rules.attempts - code.wrong;
        if left == 0 {
            slot.end(EndReason::TooManyAttempts, &mut self.ended);
        }
        let (limit, window) = rules.subject_attempts;
        if window > 0 {
            subject.attempts.push(now);
            let subject_left = u32::from(limit) - subject.attempts.len() as u32;
            left = left.min(subject_left);
            if subject_left == 0 {
                for slot in &mut subject.slots {
                    slot.end(EndReason::TooManyAttempts, &mut self.ended);
                }
            }
        }
        self.advance(0);
        Err(RefusedCause::Mismatch { left })
    }
}

impl Subject {
    pub(crate) fn matters(&self, now: u64) -> bool {
        let slot = |slot: &History| slot.live.is_some() || now < slot.cooled;
        self.slots.iter().any(slot) || !self.attempts.is_empty() || !self.issues.is_empty()
    }

    pub(crate) fn forget(&mut self, rules: &Rules, now: u64) {
        let (_, window) = rules.subject_attempts;
        self.attempts.retain(|at| now < at + span(window));
        let (_, window) = rules.issues;
        self.issues.retain(|at| now < at + span(window));
        if !self.matters(now) {
            // Nor does how the last code has ended.
            self.slots.iter_mut().for_each(|slot| slot.doubtful = true);
        }
    }
}
