//! All records, and what happens around a step of one: counts before its lock is let go of, timers and hooks after.
//!
//! Each code has a timer for its deadline, armed before the code is there, so that there is none without.
//! Each record has one more, for the time from which on nothing about it can matter. Both wake the record
//! ([`Wake`]), which looks at all it has. Nothing is armed when a timer fires, so nothing can fail then.
//!
//! Locks are taken in this order, and nobody's code runs under any: the sweep, a record, the counts.

use alloc::sync::{Arc, Weak};
use alloc::task::Wake;
use alloc::vec::Vec;
use core::hash::BuildHasherDefault;
use core::mem;
use core::ops::DerefMut;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use papaya::HashMap;

use super::account::{Kept, Over, State};
use super::error::{IssueError, NoRandomness};
use super::hash::Uniform;
use super::issued::{CodeKey, CodeNonce, SubjectId};
use super::policy::{OnEnd, Policy};
use crate::sync::unmodelled::AtomicU64;
use crate::sync::{Mutex, Ordering};
use crate::typed::secret::{Digest, DigestKey, Secret};
use crate::typed::{EndReason, Ended};
use crate::{TimerKey, Timers, Timestamp};

/// All records.
pub(super) struct Table {
    pub(super) timers: Timers,
    pub(super) policy: Policy,
    pub(super) key: DigestKey,
    /// The digest of random bytes, with which answers are compared where there is no code.
    pub(super) dummy: Digest,
    accounts: HashMap<SubjectId, Arc<Account>, BuildHasherDefault<Uniform>>,
    counts: Mutex<Counts>,
    /// Held by who walks over all records.
    sweep: Mutex<()>,
    pub(super) generations: AtomicU64,
    on_end: Option<OnEnd>,
    pub(super) panics: AtomicU64,
}

/// The record of a subject, where it lives.
pub(super) struct Account {
    pub(super) id: SubjectId,
    table: Weak<Table>,
    state: Mutex<State>,
}

/// What there is in all records together.
struct Counts {
    /// Codes that live, and those that are about to.
    codes: usize,
    subjects: usize,
    /// There is nothing to end or to forget before that.
    due: Timestamp,
}

/// What a step changes besides the record.
#[derive(Default)]
pub(super) struct Change {
    pub(super) over: Vec<Over>,
    /// Whether there is a new code.
    pub(super) issued: bool,
    /// How many codes are new and were not counted yet.
    pub(super) added: usize,
    /// A timer that nobody needs any more.
    pub(super) spare: Option<TimerKey>,
}

/// What is left to do when the lock is let go of.
#[derive(Default)]
#[must_use = "somebody has to be told"]
pub(super) struct After {
    over: Vec<Over>,
    spare: Option<TimerKey>,
    kept: Option<Kept>,
    /// A timer that has to be moved.
    later: Option<(TimerKey, Timestamp)>,
    gone: bool,
}

// === impl Table ===

impl Table {
    pub(super) fn new(
        timers: Timers,
        policy: Policy,
        key: DigestKey,
        on_end: Option<OnEnd>,
    ) -> Result<Arc<Self>, NoRandomness> {
        let random = Secret::<32>::random().map_err(|_| NoRandomness)?;
        let dummy = key.digest(&[b"dummy", random.bytes()]);
        Ok(Arc::new(Self {
            timers,
            policy,
            key,
            dummy,
            accounts: HashMap::with_hasher(BuildHasherDefault::default()),
            counts: Mutex::new(Counts {
                codes: 0,
                subjects: 0,
                due: Timestamp::NEVER,
            }),
            sweep: Mutex::new(()),
            generations: AtomicU64::new(0),
            on_end,
            panics: AtomicU64::new(0),
        }))
    }

    // --- digests ---

    pub(super) fn id(&self, subject: &[u8]) -> SubjectId {
        SubjectId::new(&self.key.digest(&[b"subject", subject]))
    }

    /// The digest of a code for a subject and a purpose: the same code for another has another.
    pub(super) fn digest(&self, id: &SubjectId, purpose: &str, code: &str) -> Digest {
        let (purpose, code) = (purpose.as_bytes(), code.as_bytes());
        self.key.digest(&[b"code", id.as_bytes(), purpose, code])
    }

    // --- records ---

    pub(super) fn find(&self, id: &SubjectId) -> Option<Arc<Account>> {
        self.accounts.pin().get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Account>> {
        self.accounts.pin().values().cloned().collect()
    }

    /// The record of a subject, made if there is none.
    pub(super) fn find_or_make(
        self: &Arc<Self>,
        id: SubjectId,
    ) -> Result<Arc<Account>, IssueError> {
        if let Some(account) = self.find(&id) {
            return Ok(account);
        }
        {
            let mut counts = locked(&self.counts);
            if counts.subjects >= self.policy.subjects {
                return Err(IssueError::Full);
            }
            counts.subjects += 1;
        }
        let account = Arc::new(Account {
            id,
            table: Arc::downgrade(self),
            state: Mutex::default(),
        });
        let accounts = self.accounts.pin();
        match accounts.try_insert(id, Arc::clone(&account)) {
            Ok(_) => Ok(account),
            Err(occupied) => {
                locked(&self.counts).subjects -= 1;
                Ok(Arc::clone(occupied.current))
            }
        }
    }

    /// Takes a record out that is gone.
    pub(super) fn remove(&self, account: &Arc<Account>) {
        let is_it = |_: &SubjectId, other: &Arc<Account>| Arc::ptr_eq(account, other);
        // Another one may have taken its place, which stays.
        let _ = self.accounts.pin().remove_if(&account.id, is_it);
    }

    /// Moves a record by one step. What has expired ends before it, and all does if the timers are shut
    /// down; and if nothing is left to keep after it, the record is gone. `None` if it was gone before.
    pub(super) fn step<R>(
        &self,
        account: &Account,
        now: Timestamp,
        act: impl FnOnce(&mut State, Timestamp, &mut Change) -> R,
    ) -> Option<(R, After)> {
        let mut change = Change::default();
        let mut state = locked(&account.state);
        if state.gone {
            return None;
        }
        let now = state.see(now);
        state.expire(now, &mut change.over);
        let shut_down = self.timers.is_shut_down();
        if shut_down {
            state.end_all(EndReason::Shutdown, &mut change.over);
        }
        let result = act(&mut state, now, &mut change);
        let Change {
            over,
            issued,
            added,
            mut spare,
        } = change;
        let gone = state.is_over(shut_down);
        if gone {
            state.gone = true;
            // A step that leaves a timer behind leaves a code too.
            spare = spare.or(state.forgets.take().map(|(timer, _)| timer));
        }
        let (mut kept, mut later) = (None, None);
        if !gone {
            kept = state.keep_timer(&over);
            later = state.forget_later();
        }
        if gone || issued || !over.is_empty() {
            let next = state.next();
            let mut counts = locked(&self.counts);
            counts.codes = counts.codes + added - over.len();
            if gone {
                counts.subjects -= 1;
            } else {
                counts.due = counts.due.min(next);
            }
        }
        let after = After {
            over,
            spare,
            kept,
            later,
            gone,
        };
        Some((result, after))
    }

    /// Does what is left to do after a step.
    pub(super) fn finish(&self, account: &Arc<Account>, after: After) {
        if after.gone {
            self.remove(account);
        }
        let codes = after.over.iter().map(|over| over.code.timer);
        let spares = after.kept.iter().filter_map(|kept| kept.spare);
        let kept = after.kept.as_ref().map(|kept| kept.timer);
        for timer in codes.chain(after.spare).chain(spares) {
            if kept != Some(timer) {
                let _ = self.timers.cancel(timer);
            }
        }
        if let Some(Kept {
            timer,
            move_to: Some(at),
            ..
        }) = after.kept
        {
            // Stale only if the timers are shut down.
            let _ = self.timers.rearm_at(timer, at);
        }
        if let Some((timer, at)) = after.later {
            // As above.
            let _ = self.timers.rearm_at(timer, at);
        }
        self.tell(account.id, after.over);
    }

    /// A step and all that follows.
    pub(super) fn run<R>(
        &self,
        account: &Arc<Account>,
        now: Timestamp,
        act: impl FnOnce(&mut State, Timestamp, &mut Change) -> R,
    ) -> Option<R> {
        let (result, after) = self.step(account, now, act)?;
        self.finish(account, after);
        Some(result)
    }

    fn tell(&self, subject: SubjectId, over: Vec<Over>) {
        for Over {
            purpose,
            code,
            reason,
        } in over
        {
            self.tell_of(Ended {
                key: CodeKey { subject, purpose },
                value: code.nonce,
                reason,
                deadline: code.deadline,
                generation: code.generation,
            });
        }
    }

    pub(super) fn tell_of(&self, ended: Ended<CodeKey, CodeNonce>) {
        let Some(hook) = &self.on_end else { return };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(ended))) {
            // ORDERING: Relaxed. A count, read by itself.
            self.panics.fetch_add(1, Ordering::Relaxed);
            // What it panicked with may panic when it is dropped.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                mem::forget(again);
            }
        }
    }

    // --- counts ---

    /// Counts a code that is about to live, if there is room for one.
    pub(super) fn reserve(&self) -> bool {
        let mut counts = locked(&self.counts);
        let room = counts.codes < self.policy.capacity;
        counts.codes += usize::from(room);
        room
    }

    /// It will not live.
    pub(super) fn release(&self) {
        locked(&self.counts).codes -= 1;
    }

    pub(super) fn next_generation(&self) -> u64 {
        // ORDERING: Relaxed. For one subject the lock of its record orders the calls.
        self.generations.fetch_add(1, Ordering::Relaxed)
    }

    /// Codes that live, and subjects that are remembered.
    pub(super) fn count(&self) -> (usize, usize) {
        let counts = locked(&self.counts);
        (counts.codes, counts.subjects)
    }

    /// Ends and forgets all that is due. One comparison if nothing is, and a walk over all records otherwise.
    pub(super) fn sweep(&self, now: Timestamp) {
        let mut swept = Vec::new();
        {
            let _alone = locked(&self.sweep);
            {
                let mut counts = locked(&self.counts);
                if now < counts.due {
                    return;
                }
                // What comes from now on lowers it again. What came before is found by the walk.
                counts.due = Timestamp::NEVER;
            }
            let accounts = self.all();
            let mut due = Timestamp::NEVER;
            for account in accounts {
                let step = self.step(&account, now, |state, _, _| state.next());
                let Some((next, after)) = step else { continue };
                if !after.gone {
                    due = due.min(next);
                }
                swept.push((account, after));
            }
            let mut counts = locked(&self.counts);
            counts.due = counts.due.min(due);
        }
        for (account, after) in swept {
            self.finish(&account, after);
        }
    }
}

impl Drop for Table {
    /// What lives ends, and is told of.
    fn drop(&mut self) {
        // A clock is somebody's code. Without one, what lives is shut down, expired or not.
        let now = catch_unwind(AssertUnwindSafe(|| self.timers.now())).unwrap_or_default();
        for account in self.all() {
            let mut after = After::default();
            {
                let mut state = locked(&account.state);
                let now = state.see(now);
                state.expire(now, &mut after.over);
                state.end_all(EndReason::Shutdown, &mut after.over);
                after.spare = state.forgets.take().map(|(timer, _)| timer);
                state.gone = true;
            }
            self.finish(&account, after);
        }
    }
}

// === impl Account ===

impl Wake for Account {
    /// A timer of the record has fired, or the timers are shut down.
    fn wake(self: Arc<Self>) {
        // Without a table its records have ended.
        let Some(table) = self.table.upgrade() else {
            return;
        };
        // Not earlier than what the driver was told, even if the clock went back since: a timer that fires
        // finds that its time has come.
        let now = table.timers.now();
        table.run(&self, now, |_, _, _| ());
    }
}

/// Locks what nobody's code runs under: it is not left half done.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> impl DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
