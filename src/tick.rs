//! Ticks: the unit a wheel counts in. No clock, no duration, no rounding here;
//! that is [`Resolution`](crate::Resolution)'s job.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time as a wheel counts it: whole ticks since an origin of the caller's.
///
/// Any `u64` is a valid tick. The largest, [`Tick::NEVER`], means *never*.
///
/// ```
/// use tickwheel::{Tick, Ticks};
///
/// let now = Tick::new(100);
/// assert_eq!(now + Ticks::new(28), Tick::new(128));
/// assert_eq!(now + Ticks::new(u64::MAX), Tick::NEVER); // saturates, never wraps
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(u64);

/// A span of time in whole ticks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ticks(u64);

// === impl Tick ===

impl Tick {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// The deadline that never comes: held, never fired, by no `advance` whatever.
    pub const NEVER: Self = Self(u64::MAX);

    /// The tick `count` ticks after the origin.
    #[inline]
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// How many ticks after the origin this is.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether this is [`Tick::NEVER`].
    #[inline]
    #[must_use]
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }

    /// The tick `span` later, or [`Tick::NEVER`] if there is none.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, span: Ticks) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span from `earlier` to this tick; zero if `earlier` is in fact later.
    #[inline]
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }

    /// The tick at which a timer armed for this deadline with `tolerance` is due.
    ///
    /// Among all ticks from the deadline to `tolerance` later it is the one with the
    /// most trailing zero bits. So deadlines that lie close together share a tick, and
    /// one wake-up serves them all. A tolerance never turns a tick into
    /// [`Tick::NEVER`], and `NEVER` stays `NEVER`. Constant time.
    ///
    /// ```
    /// use tickwheel::{Tick, Ticks};
    ///
    /// let soon = |deadline| Tick::new(deadline).coalesce(Ticks::new(50));
    /// assert_eq!(soon(1000), Tick::new(1024));
    /// assert_eq!(soon(1001), Tick::new(1024));
    /// assert_eq!(Tick::new(1000).coalesce(Ticks::ZERO), Tick::new(1000));
    /// ```
    #[must_use]
    pub const fn coalesce(self, tolerance: Ticks) -> Self {
        if self.is_never() || self.0 == 0 {
            return self; // zero has more trailing zeros than anything after it
        }
        let mut last = self.0.saturating_add(tolerance.0);
        if last == u64::MAX {
            last = u64::MAX - 1;
        }
        // `last` and the tick before the deadline first differ in a bit that `last` has
        // and the other lacks; clearing everything below it stays within the range, and
        // clearing that bit too would leave it.
        let bit = u64::BITS - 1 - ((self.0 - 1) ^ last).leading_zeros();
        Self(last >> bit << bit)
    }
}

impl From<u64> for Tick {
    #[inline]
    fn from(count: u64) -> Self {
        Self(count)
    }
}

impl Add<Ticks> for Tick {
    type Output = Self;

    /// Saturates at [`Tick::NEVER`].
    #[inline]
    fn add(self, span: Ticks) -> Self {
        self.saturating_add(span)
    }
}

impl AddAssign<Ticks> for Tick {
    #[inline]
    fn add_assign(&mut self, span: Ticks) {
        *self = *self + span;
    }
}

impl Sub for Tick {
    type Output = Ticks;

    /// Saturates at zero.
    #[inline]
    fn sub(self, earlier: Self) -> Ticks {
        self.saturating_since(earlier)
    }
}

impl fmt::Debug for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            f.write_str("Tick(NEVER)")
        } else {
            write!(f, "Tick({})", self.0)
        }
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            f.pad("never")
        } else {
            fmt::Display::fmt(&self.0, f)
        }
    }
}

// === impl Ticks ===

impl Ticks {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// The longest span; added to any tick it gives [`Tick::NEVER`].
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `count` ticks.
    #[inline]
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of ticks in the span.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Ticks {
    type Output = Self;

    /// Saturates at [`Ticks::MAX`].
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<u64> for Ticks {
    #[inline]
    fn from(count: u64) -> Self {
        Self(count)
    }
}

impl fmt::Debug for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticks({})", self.0)
    }
}

impl fmt::Display for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    //! Properties: `coalesce` picks what a scan over the whole range would pick.

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn coalescing_picks_the_tick_with_the_most_trailing_zeros(
            bit in 0u32..64, off in -70i64..70, tolerance in 0u64..600,
        ) {
            let deadline = (1u64 << bit).wrapping_add_signed(off).min(u64::MAX - 1);
            let last = deadline.saturating_add(tolerance).min(u64::MAX - 1);
            let best = (deadline..=last).map(u64::trailing_zeros).max().unwrap();
            let due = Tick::new(deadline).coalesce(Ticks::new(tolerance)).get();
            prop_assert!(deadline <= due && due <= last, "{deadline} +{tolerance} -> {due}");
            prop_assert_eq!(due.trailing_zeros(), best, "{} +{} -> {}", deadline, tolerance, due);
        }
    }

    #[test]
    fn a_tolerance_neither_makes_nor_unmakes_never() {
        assert_eq!(Tick::NEVER.coalesce(Ticks::MAX), Tick::NEVER);
        assert!(!Tick::new(u64::MAX - 1).coalesce(Ticks::MAX).is_never());
        assert_eq!(Tick::new(1).coalesce(Ticks::MAX), Tick::new(1 << 63));
    }
}
