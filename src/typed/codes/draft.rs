//! A code that is about to be issued.
//!
//! Its timers are armed while no lock is held, since that may call the owner of the runtime. Meanwhile
//! the draft keeps its record, and its place among the codes; if it comes to nothing it gives
//! all of it back.

use alloc::sync::Arc;
use core::task::Waker;
use core::time::Duration;

use super::account::{Code, forgettable};
use super::error::IssueError;
use super::issued::{CodeNonce, Issued, SecretCode, SubjectId};
use super::table::{Account, Table};
use crate::{TimerKey, Timers, Timestamp};

/// A code that is about to be issued.
pub(super) struct Draft<'a> {
    table: &'a Table,
    account: Arc<Account>,
    id: SubjectId,
    purpose: &'static str,
    /// When it is issued, and until when it will live.
    now: Timestamp,
    deadline: Timestamp,
    /// Whether it is counted already. If not, there is a code whose place it takes.
    counted: bool,
    timers: Armed<'a>,
}

/// Timers that are cancelled, unless they are taken.
struct Armed<'a> {
    timers: &'a Timers,
    /// For the deadline.
    expires: Option<TimerKey>,
    /// For the time from which on nothing matters, if that is later.
    forgets: Option<(TimerKey, Timestamp)>,
}

// === impl Draft ===

impl<'a> Draft<'a> {
    /// Begins, if a code may be issued.
    pub(super) fn begin(
        table: &'a Arc<Table>,
        id: SubjectId,
        purpose: &'static str,
        now: Timestamp,
    ) -> Result<Self, IssueError> {
        loop {
            let account = table.find_or_make(id)?;
            let step = table.step(&account, now, |state, now, _| {
                state.may_issue(&table.policy, now, purpose)?;
                let counted = state.code(purpose).is_none();
                if counted && !table.reserve() {
                    return Err(IssueError::Full);
                }
                state.drafts += 1;
                Ok((now, counted))
            });
            let Some((begun, after)) = step else {
                // Somebody is about to remove it.
                table.remove(&account);
                continue;
            };
            let draft = begun.map(|(now, counted)| Self {
                table,
                account: Arc::clone(&account),
                id,
                purpose,
                now,
                deadline: now.saturating_add(table.policy.time_to_live),
                counted,
                timers: Armed {
                    timers: &table.timers,
                    expires: None,
                    forgets: None,
                },
            });
            table.finish(&account, after);
            return draft;
        }
    }

    /// Draws a code and lets it live.
    pub(super) fn issue(mut self) -> Result<Issued, IssueError> {
        let (table, policy, purpose) = (self.table, &self.table.policy, self.purpose);
        let secret = SecretCode::draw(policy.alphabet, policy.length)?;
        let nonce = CodeNonce::random()?;
        let digest = table.digest(&self.id, purpose, secret.expose());
        let timer = self.arm()?;
        let deadline = self.deadline;

        let account = Arc::clone(&self.account);
        let issued = table.run(&account, self.now, |state, now, change| {
            if table.timers.is_shut_down() {
                return Err(IssueError::ShutDown);
            }
            state.may_issue(policy, now, purpose)?;
            if !self.counted && state.code(purpose).is_none() {
                // The one whose place it was to take has ended.
                if !table.reserve() {
                    return Err(IssueError::Full);
                }
                self.counted = true;
            }
            change.issued = true;
            change.added = usize::from(!self.counted);
            self.counted = false;
            let generation = table.next_generation();
            let code = Code {
                digest,
                nonce,
                generation,
                deadline,
                timer,
                wrong: 0,
            };
            self.timers.expires = None;
            state.issue(policy, now, purpose, code, &mut change.over);
            if let Some((timer, at)) = self.timers.forgets {
                if state.forgets.is_none_or(|(_, before)| before < at) {
                    self.timers.forgets = None;
                    change.spare = state.forgets.replace((timer, at)).map(|(timer, _)| timer);
                }
            }
            Ok(generation)
        });
        // The draft keeps the record.
        let generation = issued.unwrap_or(Err(IssueError::Full))?;
        Ok(Issued {
            code: secret,
            nonce,
            deadline,
            expires_in: if deadline.is_never() {
                Duration::MAX
            } else {
                deadline.saturating_since(self.now)
            },
            generation,
        })
    }

    /// Arms both timers. Says which one is for the deadline.
    fn arm(&mut self) -> Result<TimerKey, IssueError> {
        let arm = |at| {
            let waker = Waker::from(Arc::clone(&self.account));
            self.table.timers.arm_waker(at, Duration::ZERO, waker)
        };
        let expires = arm(self.deadline)?;
        self.timers.expires = Some(expires);
        let forgets = forgettable(&self.table.policy, self.now, self.deadline);
        if forgets > self.deadline {
            self.timers.forgets = Some((arm(forgets)?, forgets));
        }
        Ok(expires)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.counted {
            self.table.release();
        }
        let (table, account) = (self.table, &self.account);
        // This step ends a code that is there and whose time is over: also if its timer has fired before it
        // was there, since that has moved the time of the record on.
        table.run(account, Timestamp::ZERO, |state, _, _| state.drafts -= 1);
    }
}

// === impl Armed ===

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        let forgets = self.forgets.map(|(timer, _)| timer);
        for timer in self.expires.into_iter().chain(forgets) {
            let _ = self.timers.cancel(timer);
        }
    }
}
