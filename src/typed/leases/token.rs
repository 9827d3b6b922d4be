//! Fencing tokens: what they are, how they are handed out, and how they survive a restart.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
#[cfg(not(loom))]
use std::thread::{self, ThreadId};

#[cfg(loom)]
use loom::thread::{self, ThreadId};

use super::{AcquireError, locked};
use crate::shared::mutant::{mutant, ordering};
#[cfg(feature = "serde")]
use crate::sync::AtomicBool;
use crate::sync::{AtomicU64, Condvar, Mutex, Ordering};
use crate::typed::panics::forgotten;
#[cfg(feature = "serde")]
use crate::typed::snapshot::RestoreError;

/// The number of a grant: a later grant of the same [`Leases`](super::Leases) has a larger one.
///
/// A renewal keeps it. It goes with each request to what the lease protects, where a
/// [`FenceGate`](super::FenceGate) refuses the smaller of two.
///
/// ```
/// use tickwheel::FencingToken;
///
/// assert!(FencingToken::new(41) < FencingToken::new(42));
/// assert_eq!(FencingToken::new(42).get(), 42);
/// ```
///
/// With the feature `serde` it is written as its number:
///
/// ```
/// # #[cfg(feature = "serde")] {
/// # use tickwheel::FencingToken;
/// let sent = serde_json::to_string(&FencingToken::new(42)).unwrap();
/// assert_eq!(sent, "42");
/// let token: FencingToken = serde_json::from_str(&sent).unwrap();
/// assert_eq!(token, FencingToken::new(42));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct FencingToken(u64);

/// What makes a mark durable.
pub(super) type Persist =
    Box<dyn Fn(FencingToken) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync>;

/// Where tokens come from.
pub(super) struct Tokens {
    /// The last that was handed out before these.
    #[cfg(feature = "serde")]
    from: u64,
    /// They go on above those of a snapshot: once at most.
    #[cfg(feature = "serde")]
    continued: AtomicBool,
    /// The last that was handed out.
    last: AtomicU64,
    /// Up to where they may be handed out.
    mark: AtomicU64,
    block: u64,
    persist: Option<Persist>,
    /// Who is moving the mark. Not locked meanwhile: others wait, and who comes back from the hook is told.
    mover: Mutex<Option<ThreadId>>,
    moved: Condvar,
}

/// No token was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoToken {
    /// The mark has to be moved first.
    AtTheMark,
    /// There are no more numbers.
    Exhausted,
}

// === impl FencingToken ===

impl FencingToken {
    /// The token with that number: one that was sent or stored.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl Tokens ===

impl Tokens {
    /// Those above `high`. Without a hook there is no mark.
    pub(super) fn new(high: FencingToken, block: u64, persist: Option<Persist>) -> Self {
        let mark = if persist.is_some() { high.0 } else { u64::MAX };
        Self {
            #[cfg(feature = "serde")]
            from: high.0,
            #[cfg(feature = "serde")]
            continued: AtomicBool::new(false),
            last: AtomicU64::new(high.0),
            mark: AtomicU64::new(mark),
            block: block.max(1),
            persist,
            mover: Mutex::new(None),
            moved: Condvar::new(),
        }
    }

    pub(super) fn last(&self) -> FencingToken {
        // ORDERING: Acquire pairs with the Release in `take`: whoever is shown a token by this sees what
        // was done before it was handed out.
        FencingToken(self.last.load(Ordering::Acquire))
    }

    /// The next one. Runs nobody's code.
    pub(super) fn take(&self) -> Result<FencingToken, NoToken> {
        // ORDERING: Acquire, as in `last`.
        let mut last = self.last.load(Ordering::Acquire);
        loop {
            let next = last.checked_add(1).ok_or(NoToken::Exhausted)?;
            // ORDERING: Acquire pairs with the Release in `reserve`: what the hook has done is done
            // before any of its tokens is used.
            if next > self.mark.load(Ordering::Acquire) {
                return Err(NoToken::AtTheMark);
            }
            if mutant!(TokenBlind) {
                // ORDERING: Release, as below: it is the blindness that is to be noticed.
                self.last.store(next, Ordering::Release);
                return Ok(FencingToken(next));
            }
            // ORDERING: AcqRel. Release pairs with the Acquire of whoever looks.
            match self
                .last
                .compare_exchange(last, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Ok(FencingToken(next)),
                Err(changed) => last = changed,
            }
        }
    }

    /// Goes on above `high` too, if none was handed out, nor this done before.
    #[cfg(feature = "serde")]
    pub(super) fn continue_above(&self, high: FencingToken) -> Result<(), RestoreError> {
        // ORDERING: Relaxed: of all who come one is the first, and nothing else hangs on it.
        if self.continued.swap(true, Ordering::Relaxed) {
            return Err(RestoreError::InUse);
        }
        let to = self.from.max(high.0);
        // ORDERING: AcqRel, as in `take`.
        self.last
            .compare_exchange(self.from, to, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(|_| RestoreError::InUse)
    }

    /// Has the mark moved, by the hook, unless somebody else has done so meanwhile.
    pub(super) fn reserve(&self) -> Result<(), AcquireError> {
        let Some(persist) = &self.persist else {
            return Ok(());
        };
        let last = self.become_mover()?;
        let Some(last) = last else {
            return Ok(());
        };
        let to = last.saturating_add(self.block);
        if mutant!(ReserveFirst) {
            // ORDERING: Release, as below: it is the haste that is to be noticed.
            self.mark.store(to, Ordering::Release);
        }
        let result = catch_unwind(AssertUnwindSafe(|| persist(FencingToken(to))));
        if let Ok(Ok(())) = &result {
            // ORDERING: Release pairs with the Acquire in `take`.
            let order = ordering!(Release unless ReserveRelaxed);
            self.mark.store(to, order);
        }
        *locked(&self.mover) = None;
        if !mutant!(MoverUntold) {
            self.moved.notify_all();
        }
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(AcquireError::Unpersisted(Arc::from(error))),
            Err(panic) => {
                forgotten(panic);
                Err(unpersisted("the hook panicked"))
            }
        }
    }

    /// Waits until nobody moves the mark, and says from where it still has to be moved, if so.
    fn become_mover(&self) -> Result<Option<u64>, AcquireError> {
        let me = thread::current().id();
        let mut mover = self
            .mover
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        loop {
            // ORDERING: Acquire for both, as in `take`. It is but a hint: `take` decides.
            let mark = self.mark.load(Ordering::Acquire);
            let last = self.last.load(Ordering::Acquire);
            if last < mark {
                return Ok(None);
            }
            match *mover {
                None => {
                    *mover = Some(me);
                    // The last may be beyond the mark, if it was restored.
                    return Ok(Some(last));
                }
                Some(thread) if thread == me => {
                    return Err(unpersisted("the hook asked for a lease itself"));
                }
                Some(_) => {
                    mover = self
                        .moved
                        .wait(mover)
                        .unwrap_or_else(|poison| poison.into_inner());
                }
            }
        }
    }
}

fn unpersisted(why: &str) -> AcquireError {
    AcquireError::Unpersisted(Arc::from(Box::<dyn Error + Send + Sync>::from(why)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: tokens strictly increase whoever takes them; none is beyond the mark; the last
    //! number is handed out, and none after it.

    use alloc::vec::Vec;
    use core::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn no_token_is_beyond_the_mark_that_was_made_durable() {
        let durable = Arc::new(AtomicU64::new(7));
        let store = Arc::clone(&durable);
        let persist: Persist = Box::new(move |to| {
            // ORDERING: Relaxed: one thread at a time, and the test joins them.
            store.store(to.get(), Ordering::Relaxed);
            Ok(())
        });
        let tokens = Tokens::new(FencingToken(7), 3, Some(persist));
        assert_eq!(tokens.take(), Err(NoToken::AtTheMark));
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut mine = Vec::new();
                        while mine.len() < 100 {
                            match tokens.take() {
                                Ok(token) => {
                                    // ORDERING: Relaxed: `take` has synchronised with the hook.
                                    assert!(token.get() <= durable.load(Ordering::Relaxed));
                                    mine.push(token.get());
                                }
                                Err(_) => tokens.reserve().unwrap(),
                            }
                        }
                        assert!(mine.is_sorted_by(|a, b| a < b));
                        mine
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        all.sort_unstable();
        assert_eq!(all, (8..408).collect::<Vec<_>>());
    }

    #[test]
    fn the_last_number_is_the_last() {
        let tokens = Tokens::new(FencingToken(u64::MAX - 1), 1, None);
        assert_eq!(tokens.take(), Ok(FencingToken(u64::MAX)));
        assert_eq!(tokens.take(), Err(NoToken::Exhausted));
        assert_eq!(tokens.last(), FencingToken(u64::MAX));
    }
}
