//! The resource's side: a gate that lets no earlier holder pass once a later one has.

use core::fmt;

use super::FencingToken;
use crate::sync::{AtomicU64, Ordering};

/// Lets a token pass unless a larger one has passed before.
///
/// It stands at what the lease protects: a store, a queue, a file server. A lease alone cannot keep
/// out a holder that believes in it for too long; this can.
///
/// Each resource has a gate of its own: tokens are numbered through all resources of a [`Leases`](super::Leases), so that with one gate
/// for two the rightful holder of one would be refused for that of the other.
///
/// It has to be checked in the same step in which the protected thing is changed, or under the same lock.
/// A check before an unprotected write leaves a gap in which a later holder passes.
///
/// ```
/// use tickwheel::{FenceGate, FencingToken, Stale};
///
/// let gate = FenceGate::new();
/// assert_eq!(gate.check(FencingToken::new(41)), Ok(()));
/// assert_eq!(gate.check(FencingToken::new(42)), Ok(()));
/// assert_eq!(gate.check(FencingToken::new(42)), Ok(())); // the same holder again
/// let highest = FencingToken::new(42);
/// assert_eq!(gate.check(FencingToken::new(41)), Err(Stale { highest }));
/// ```
#[derive(Debug)]
pub struct FenceGate(AtomicU64);

/// A token was refused: a larger one has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stale {
    /// The largest that has passed.
    pub highest: FencingToken,
}

// === impl FenceGate ===

impl FenceGate {
    /// A gate that nobody has passed.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(FencingToken::new(0))
    }

    /// A gate that this token has passed: [`highest`](Self::highest), as it was stored with what the
    /// gate protects.
    #[must_use]
    pub fn starting_at(highest: FencingToken) -> Self {
        Self(AtomicU64::new(highest.get()))
    }

    /// Lets a token pass that is not smaller than all before. O(1), lock-free.
    ///
    /// # Errors
    ///
    /// [`Stale`], with the largest that has passed.
    pub fn check(&self, token: FencingToken) -> Result<(), Stale> {
        // ORDERING: Acquire pairs with the Release below: who passes, or is refused, sees what was
        // done before the token that stands here.
        let mut highest = self.0.load(Ordering::Acquire);
        loop {
            if token.get() < highest {
                let highest = FencingToken::new(highest);
                return Err(Stale { highest });
            }
            // ORDERING: AcqRel. Release pairs with the Acquire of whoever comes next. Also for a token
            // that stands here already: it passes only if no larger one has come in between.
            match self
                .0
                .compare_exchange(highest, token.get(), Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Ok(()),
                Err(changed) => highest = changed,
            }
        }
    }

    /// The largest token that has passed; 0 if none has.
    #[must_use]
    pub fn highest(&self) -> FencingToken {
        // ORDERING: Acquire, as in `check`.
        FencingToken::new(self.0.load(Ordering::Acquire))
    }
}

impl Default for FenceGate {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a later holder has token {}", self.highest)
    }
}

impl core::error::Error for Stale {}
