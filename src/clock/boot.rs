//! A monotonic clock that keeps counting while the machine is suspended.

use super::{Clock, reading};
use crate::Timestamp;
use crate::timestamp::nanos;

/// A monotonic clock that counts suspended time, from when this value was made.
///
/// For what has to lapse while the machine sleeps: after a night with the lid closed, a
/// lease of five minutes is over. It never goes back, and setting the wall clock does
/// not move it. Copies share the origin, so their readings may be compared and mixed;
/// those of two values made by [`new`](Self::new) may not.
///
/// On Linux and Android it reads `CLOCK_BOOTTIME`, at the cost of a reading of
/// [`Instant`](std::time::Instant). On all other platforms it *is* `Instant`, like
/// [`MonotonicClock`](crate::MonotonicClock), and counts what that counts:
///
/// | platform | suspended time |
/// |---|---|
/// | Linux, Android | counted |
/// | Windows | counted: `Instant` does so there |
/// | Apple's systems | **not** counted: `Instant` stands still |
/// | other Unixes | **not** counted on most; that system's `CLOCK_MONOTONIC` decides |
///
/// Where it is not counted, deadlines are late by the time spent suspended, never early.
///
/// ```
/// use tickwheel::{BootClock, Clock};
///
/// let clock = BootClock::new();
/// let copy = clock;
/// let earlier = clock.now();
/// assert!(earlier <= copy.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BootClock {
    origin: system::Moment,
}

impl BootClock {
    /// A clock that reads zero now.
    ///
    /// # Panics
    ///
    /// Where the system refuses to read its clock: no reading is made up. Linux has this
    /// clock since 2.6.39 and gives it to every process. A refusal, by a filter of system
    /// calls, would show here and not first when time is needed.
    ///
    /// ```
    /// use core::time::Duration;
    /// use tickwheel::{BootClock, Clock};
    ///
    /// let clock = BootClock::new();
    /// assert!(clock.now().as_nanos() < Duration::from_secs(3600).as_nanos() as u64);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: system::now(),
        }
    }
}

impl Default for BootClock {
    /// The same as [`new`](Self::new).
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for BootClock {
    #[inline]
    fn now(&self) -> Timestamp {
        reading(nanos(system::now().saturating_duration_since(self.origin)))
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use core::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    /// The time since the machine was started.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Moment(Duration);

    impl Moment {
        #[inline]
        pub(super) fn saturating_duration_since(self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }

    #[inline]
    pub(super) fn now() -> Moment {
        // No machine was started in the future. If one said so, zero makes the clock stand
        // still at its origin: late, not early.
        Moment(Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    pub(super) use std::time::Instant as Moment;

    #[inline]
    pub(super) fn now() -> Moment {
        Moment::now()
    }
}
