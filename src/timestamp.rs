//! A reading of a clock: nanoseconds, unrounded.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// A reading of a [`Clock`](crate::Clock): nanoseconds since that clock's own origin.
///
/// 64 bits reach 584 years. The largest value, [`Timestamp::NEVER`], means *never*,
/// and whatever would lie beyond it saturates to it. Readings of different clocks
/// must not be mixed; nothing can check that.
///
/// ```
/// use core::time::Duration;
/// use tickwheel::Timestamp;
///
/// let start = Timestamp::from_nanos(1_000);
/// assert_eq!((start + Duration::from_micros(1)).as_nanos(), 2_000);
/// assert_eq!(start + Duration::MAX, Timestamp::NEVER);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);

    /// Later than anything a clock will ever read.
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the origin.
    #[inline]
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment `since_origin` after the origin; [`Timestamp::NEVER`] if that is out of reach.
    #[inline]
    #[must_use]
    pub const fn from_duration(since_origin: Duration) -> Self {
        Self(nanos(since_origin))
    }

    /// Nanoseconds since the origin.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whether this is [`Timestamp::NEVER`].
    #[inline]
    #[must_use]
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }

    /// The moment `span` later, or [`Timestamp::NEVER`].
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    /// The time from `earlier` to this moment; zero if `earlier` is in fact later.
    #[inline]
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The nanoseconds of `span`, saturating.
#[inline]
pub(crate) const fn nanos(span: Duration) -> u64 {
    let nanos = span.as_nanos();
    if nanos > u64::MAX as u128 {
        u64::MAX
    } else {
        nanos as u64
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// Saturates at [`Timestamp::NEVER`].
    #[inline]
    fn add(self, span: Duration) -> Self {
        self.saturating_add(span)
    }
}

impl Sub for Timestamp {
    type Output = Duration;

    /// Saturates at zero.
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_since(earlier)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            f.write_str("Timestamp(NEVER)")
        } else {
            write!(f, "Timestamp({:?})", Duration::from_nanos(self.0))
        }
    }
}
