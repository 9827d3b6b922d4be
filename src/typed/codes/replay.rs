//! Steps that are accepted once: what has to be remembered about time-based one-time passwords.

use alloc::sync::{Arc, Weak};
use alloc::task::Wake;
use core::fmt;
use core::hash::BuildHasherDefault;
use core::task::Waker;
use core::time::Duration;

use papaya::HashMap;

use super::error::{BuildCodesError, NoRandomness, ReplayError};
use super::hash::Uniform;
use super::is_subject;
use super::issued::SubjectId;
use super::table::locked;
use crate::sync::Mutex;
use crate::typed::secret::DigestKey;
use crate::{TimerKey, Timers, Timestamp};

/// Lets each step of a subject be accepted once, and none that is older than the newest that was.
///
/// A time-based one-time password (TOTP, RFC 6238) is good for as long as its verifier looks around for clocks that are
/// wrong, and has to be accepted but once in that time. The verifier says which step a password was right for; this
/// says whether that step may still be used.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{ManualClock, ReplayError, ReplayGuard, Timers};
///
/// let clock = ManualClock::new();
/// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
/// let guard = ReplayGuard::for_totp(&timers, Duration::from_secs(30), 1)?;
///
/// // The password of this user was right for that step:
/// assert_eq!(guard.accept("ada", 59_000_000), Ok(()));
/// assert_eq!(guard.accept("ada", 59_000_000), Err(ReplayError::Replayed));
/// assert_eq!(guard.accept("ada", 58_999_999), Err(ReplayError::Replayed)); // older
/// assert_eq!(guard.accept("ada", 59_000_001), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What was accepted is remembered until a window after that, and at exactly its end no more; by then the verifier must have come to
/// refuse the step itself. If the clock goes back, what was forgotten stays so.
///
/// A wrong password never gets here: limit attempts elsewhere. A verifier whose look around finds a password right
/// for more than one step should offer each of them, the oldest first, until one is accepted.
///
/// Subjects are any bytes, 1 to 512, and are kept by keyed digests only. A handle is cheap to clone; all
/// clones are the same guard. When the timers are shut down it forgets everything, and accepts nothing.
///
/// To accept takes O(1): one digest, one short lock of the subject, one timer. In memory a subject takes
/// some 200 bytes and a timer, for one window after its last step.
#[derive(Clone)]
pub struct ReplayGuard {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) timers: Timers,
    window: Duration,
    pub(super) key: DigestKey,
    pub(super) marks: HashMap<SubjectId, Arc<Mark>, BuildHasherDefault<Uniform>>,
}

/// What is remembered of a subject.
pub(super) struct Mark {
    pub(super) id: SubjectId,
    guard: Weak<Inner>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The latest time there was.
    seen: Timestamp,
    newest: Option<Newest>,
    /// It was taken out of the guard: whoever finds it so has to look again.
    gone: bool,
}

/// The newest step that was accepted.
#[derive(Clone, Copy)]
pub(super) struct Newest {
    pub(super) step: u64,
    pub(super) until: Timestamp,
    /// Armed for `until`.
    pub(super) timer: TimerKey,
}

// === impl ReplayGuard ===

impl ReplayGuard {
    /// A guard that remembers each step for that long.
    ///
    /// # Errors
    ///
    /// [`BuildCodesError::ZeroWindow`], and [`BuildCodesError::NoRandomness`].
    pub fn new(timers: &Timers, window: Duration) -> Result<Self, BuildCodesError> {
        let key = DigestKey::random().map_err(|_| NoRandomness)?;
        Self::of(timers, window, key)
    }

    /// As [`new`](Self::new), with a key for digests that was kept, so that a snapshot can be restored.
    ///
    /// # Errors
    ///
    /// [`BuildCodesError::ZeroWindow`].
    pub fn with_digest_key(
        timers: &Timers,
        window: Duration,
        key: [u8; 32],
    ) -> Result<Self, BuildCodesError> {
        Self::of(timers, window, DigestKey::from_bytes(key))
    }

    fn of(timers: &Timers, window: Duration, key: DigestKey) -> Result<Self, BuildCodesError> {
        if window.is_zero() {
            return Err(BuildCodesError::ZeroWindow);
        }
        let inner = Inner {
            timers: timers.clone(),
            window,
            key,
            marks: HashMap::with_hasher(BuildHasherDefault::default()),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// A guard for a verifier that accepts passwords of the current step, and of `skew` steps before and after
    /// it: it remembers a step for `2 * skew + 1` steps, which is how long its password may be right.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn for_totp(timers: &Timers, step: Duration, skew: u32) -> Result<Self, BuildCodesError> {
        Self::new(timers, Self::window(step, skew))
    }

    /// How long the password of a step may be right for such a verifier: the window of [`for_totp`](Self::for_totp).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::ReplayGuard;
    ///
    /// let step = Duration::from_secs(30);
    /// assert_eq!(ReplayGuard::window(step, 1), Duration::from_secs(90));
    /// ```
    #[must_use]
    pub fn window(step: Duration, skew: u32) -> Duration {
        step.saturating_mul(skew.saturating_mul(2).saturating_add(1))
    }

    /// Accepts a step, unless it, or a later one, was accepted before and that is remembered. Of any number of calls
    /// for the same step at the same time one is accepted.
    ///
    /// # Errors
    ///
    /// [`ReplayError`]; the step was not accepted.
    pub fn accept(&self, subject: impl AsRef<[u8]>, step: u64) -> Result<(), ReplayError> {
        let (inner, subject) = (&self.inner, subject.as_ref());
        if !is_subject(subject) {
            return Err(ReplayError::BadSubject);
        }
        let id = SubjectId::new(&inner.key.digest(&[b"replay", subject]));
        let now = inner.timers.now();
        loop {
            let found = inner.marks.pin().get(&id).cloned();
            let mark = if let Some(mark) = found {
                if !mark.may_accept(now, step) {
                    return Err(ReplayError::Replayed);
                }
                mark
            } else {
                inner.mark(id)
            };
            // No lock is held: this may call the owner of the runtime.
            let until = now.saturating_add(inner.window);
            let waker = Waker::from(Arc::clone(&mark));
            let timer = inner.timers.arm_waker(until, Duration::ZERO, waker)?;
            let newest = Newest { step, until, timer };
            let accepted = inner.is_in_place(&mark).then(|| mark.accept(now, newest));
            let (spare, result) = match accepted {
                Some(Accepted::Yes(spare)) => (spare, Some(Ok(()))),
                Some(Accepted::Not) => (Some(timer), Some(Err(ReplayError::Replayed))),
                // Somebody has made another, or is about to remove this one.
                Some(Accepted::Gone) | None => (Some(timer), None),
            };
            if let Some(spare) = spare {
                let _ = inner.timers.cancel(spare);
            }
            inner.forget(&mark);
            if let Some(result) = result {
                return result;
            }
        }
    }

    /// How many subjects are remembered, those included whose time is over but whose timer was not yet served. O(1).
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.inner.marks.len()
    }
}

impl fmt::Debug for ReplayGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayGuard")
            .field("window", &self.inner.window)
            .field("remembered", &self.remembered())
            .finish_non_exhaustive()
    }
}

// === impl Inner ===

impl Inner {
    /// A mark that is nowhere yet.
    pub(super) fn mark(self: &Arc<Self>, id: SubjectId) -> Arc<Mark> {
        Arc::new(Mark {
            id,
            guard: Arc::downgrade(self),
            state: Mutex::default(),
        })
    }

    /// Whether that is the mark of its subject. It is, if there was none.
    pub(super) fn is_in_place(&self, mark: &Arc<Mark>) -> bool {
        let marks = self.marks.pin();
        match marks.try_insert(mark.id, Arc::clone(mark)) {
            Ok(_) => true,
            Err(occupied) => Arc::ptr_eq(occupied.current, mark),
        }
    }

    /// Takes out a mark of which there is nothing to remember.
    pub(super) fn forget(&self, mark: &Arc<Mark>) {
        // Not earlier than what the driver was told, even if the clock went back since.
        let now = self.timers.now();
        let shut_down = self.timers.is_shut_down();
        let over = {
            let mut state = locked(&mark.state);
            let now = state.see(now);
            if shut_down || state.newest.is_none_or(|newest| newest.until <= now) {
                state.gone = true;
            }
            state.gone.then(|| state.newest.take())
        };
        if let Some(newest) = over {
            let is_it = |_: &SubjectId, other: &Arc<Mark>| Arc::ptr_eq(mark, other);
            // Another one may have taken its place, which stays.
            let _ = self.marks.pin().remove_if(&mark.id, is_it);
            if let Some(newest) = newest {
                let _ = self.timers.cancel(newest.timer);
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for mark in self.marks.pin().values() {
            let newest = locked(&mark.state).newest.take();
            if let Some(newest) = newest {
                let _ = self.timers.cancel(newest.timer);
            }
        }
    }
}

// === impl Mark ===

/// Whether a step was accepted.
#[must_use]
pub(super) enum Accepted {
    /// It was. That timer is not needed any more.
    Yes(Option<TimerKey>),
    Not,
    /// The mark was taken out.
    Gone,
}

impl Mark {
    /// The newest step, if it is still remembered.
    #[cfg(feature = "serde")]
    pub(super) fn newest(&self, now: Timestamp) -> Option<Newest> {
        let mut state = locked(&self.state);
        let now = state.see(now);
        state.newest.filter(|newest| now < newest.until)
    }

    fn may_accept(&self, now: Timestamp, step: u64) -> bool {
        let mut state = locked(&self.state);
        let now = state.see(now);
        state.may_accept(now, step)
    }

    pub(super) fn accept(&self, now: Timestamp, mut newest: Newest) -> Accepted {
        let mut state = locked(&self.state);
        if state.gone {
            return Accepted::Gone;
        }
        let now = state.see(now);
        if !state.may_accept(now, newest.step) {
            return Accepted::Not;
        }
        let mut spare = state.newest.map(|before| before.timer);
        if let Some(before) = state.newest.filter(|before| newest.until < before.until) {
            // It has read the clock earlier, or that went back: what is remembered stays so as long.
            spare = Some(newest.timer);
            (newest.until, newest.timer) = (before.until, before.timer);
        }
        state.newest = Some(newest);
        Accepted::Yes(spare)
    }
}

impl State {
    fn see(&mut self, now: Timestamp) -> Timestamp {
        self.seen = self.seen.max(now);
        self.seen
    }

    fn may_accept(&self, now: Timestamp, step: u64) -> bool {
        self.newest
            .is_none_or(|newest| newest.until <= now || newest.step < step)
    }
}

impl Wake for Mark {
    /// A timer of the mark has fired, or the timers are shut down.
    fn wake(self: Arc<Self>) {
        if let Some(guard) = self.guard.upgrade() {
            guard.forget(&self);
        }
    }
}
