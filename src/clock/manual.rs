//! A clock that stands still until it is told to move.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::{Clock, reading};
use crate::Timestamp;
use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicU64;
use crate::timestamp::nanos;

/// A clock whose time is what it was last told: for tests, simulations and replays.
///
/// Clones show the same time, from any thread. Who reads a time also sees everything
/// that was done before the clock was moved to it. At the end of time the clock stands
/// still one nanosecond short of [`Timestamp::NEVER`], which it never reads.
///
/// It exists on targets with 64-bit atomics. Reading it is one load.
///
/// ```
/// use core::time::Duration;
/// use tickwheel::{Clock, ManualClock};
///
/// let clock = ManualClock::new();
/// let elsewhere = clock.clone();
/// clock.advance(Duration::from_millis(5));
/// assert_eq!(elsewhere.now().as_nanos(), 5_000_000);
/// ```
#[derive(Clone, Default)]
pub struct ManualClock {
    nanos: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that reads zero.
    ///
    /// ```
    /// use tickwheel::{Clock, ManualClock, Timestamp};
    ///
    /// assert_eq!(ManualClock::new().now(), Timestamp::ZERO);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A clock that reads `start`.
    ///
    /// ```
    /// use tickwheel::{Clock, ManualClock, Timestamp};
    ///
    /// let start = Timestamp::from_nanos(1 << 40);
    /// assert_eq!(ManualClock::starting_at(start).now(), start);
    /// assert!(ManualClock::starting_at(Timestamp::NEVER).now() < Timestamp::NEVER);
    /// ```
    #[must_use]
    pub fn starting_at(start: Timestamp) -> Self {
        Self {
            nanos: Arc::new(AtomicU64::new(reading(start.as_nanos()).as_nanos())),
        }
    }

    /// Moves the clock forward by `span` and returns the time it then shows.
    ///
    /// What several threads add at once adds up. Saturates at the end of time.
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwheel::{ManualClock, Timestamp};
    ///
    /// let clock = ManualClock::new();
    /// assert_eq!(clock.advance(Duration::from_nanos(3)), Timestamp::from_nanos(3));
    /// assert_eq!(clock.advance(Duration::MAX), Timestamp::from_nanos(u64::MAX - 1));
    /// ```
    pub fn advance(&self, span: Duration) -> Timestamp {
        // ORDERING: a guess, which the exchange below checks; it pairs with nothing.
        let mut before = self.nanos.load(Ordering::Relaxed);
        loop {
            let after = reading(before.saturating_add(nanos(span)));
            // ORDERING: the Release half pairs with the Acquire in `now`, so that who reads
            // `after` sees what this thread did before. The Acquire half makes this a reading
            // like `now`: it pairs with the Release of whoever set `before`. A failed exchange
            // yields another guess, and Relaxed will do as above.
            match self.nanos.compare_exchange_weak(
                before,
                after.as_nanos(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return after,
                Err(changed) => before = changed,
            }
        }
    }

    /// Moves the clock forward to `to`, never back, and returns the time it then shows:
    /// `to`, or what it showed before if that was later.
    ///
    /// ```
    /// use tickwheel::{ManualClock, Timestamp};
    ///
    /// let clock = ManualClock::new();
    /// let at = Timestamp::from_nanos;
    /// assert_eq!(clock.set(at(20)), at(20));
    /// assert_eq!(clock.set(at(10)), at(20));
    /// ```
    pub fn set(&self, to: Timestamp) -> Timestamp {
        let to = reading(to.as_nanos());
        // ORDERING: the Release half pairs with the Acquire in `now`, so that who reads `to`
        // sees what this thread did before. The Acquire half makes this a reading like `now`:
        // it pairs with the Release of whoever set what the clock showed.
        let before = self.nanos.fetch_max(to.as_nanos(), Ordering::AcqRel);
        to.max(Timestamp::from_nanos(before))
    }

    /// Makes the clock show `to`, be it later or earlier.
    ///
    /// To see how a program takes it when a clock goes back, as a faulty one may, or leaps
    /// ahead, as one does that counts suspended time.
    ///
    /// ```
    /// use tickwheel::{Clock, ManualClock, Timestamp};
    ///
    /// let clock = ManualClock::starting_at(Timestamp::from_nanos(20));
    /// clock.jump(Timestamp::from_nanos(10));
    /// assert_eq!(clock.now(), Timestamp::from_nanos(10));
    /// ```
    pub fn jump(&self, to: Timestamp) {
        // ORDERING: pairs with the Acquire in `now`, so that who reads `to` sees what this
        // thread did before.
        self.nanos
            .store(reading(to.as_nanos()).as_nanos(), Ordering::Release);
    }
}

impl Clock for ManualClock {
    #[inline]
    fn now(&self) -> Timestamp {
        // ORDERING: pairs with the Release in `advance`, `set` and `jump`, so that who reads
        // a time sees what was done before the clock was moved to it.
        Timestamp::from_nanos(self.nanos.load(Ordering::Acquire))
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualClock").field(&self.now()).finish()
    }
}
