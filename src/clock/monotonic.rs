//! The monotonic clock of the operating system, as the standard library reads it.

use std::time::Instant;

use super::{Clock, reading};
use crate::Timestamp;
use crate::timestamp::nanos;

/// The system's monotonic clock: [`Instant`], counted from when this value was made.
///
/// It never goes back, and setting the wall clock does not move it. Copies share the
/// origin, so their readings may be compared and mixed; those of two values made by
/// [`new`](Self::new) may not.
///
/// Whether it counts the time the machine spends suspended depends on the platform:
/// Linux, Android and Apple's systems do not, Windows does, and the standard library
/// promises neither. What has to lapse while the machine sleeps, such as a lease or a
/// session, wants `BootClock` (feature `boot-clock`).
///
/// One reading costs what [`Instant::now`] costs.
///
/// ```
/// use tickwheel::{Clock, MonotonicClock};
///
/// let clock = MonotonicClock::new();
/// let copy = clock;
/// let earlier = clock.now();
/// assert!(earlier <= copy.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// A clock that reads zero now.
    ///
    /// # Panics
    ///
    /// Where the platform has no clock and [`Instant::now`] panics.
    ///
    /// ```
    /// use std::time::Instant;
    /// use tickwheel::{Clock, MonotonicClock};
    ///
    /// let before = Instant::now();
    /// let clock = MonotonicClock::new();
    /// let reading = clock.now();
    /// assert!(u128::from(reading.as_nanos()) <= before.elapsed().as_nanos());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Default for MonotonicClock {
    /// The same as [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Timestamp {
        reading(nanos(Instant::now().saturating_duration_since(self.origin)))
    }
}
