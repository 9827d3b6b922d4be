//! Clocks: where a driver gets the time that it tells a wheel.
//!
//! | file | what lives there |
//! |---|---|
//! | `monotonic` | the system's monotonic clock |
//! | `boot` | the same, counting the time the machine was suspended |
//! | `manual` | a clock that moves when told to |
//! | `wall` | from readings to calendar time and back |

#[cfg(feature = "boot-clock")]
mod boot;
#[cfg(target_has_atomic = "64")]
mod manual;
#[cfg(feature = "std")]
mod monotonic;
#[cfg(feature = "std")]
mod wall;

#[cfg(feature = "boot-clock")]
pub use boot::BootClock;
#[cfg(target_has_atomic = "64")]
pub use manual::ManualClock;
#[cfg(feature = "std")]
pub use monotonic::MonotonicClock;
#[cfg(feature = "std")]
pub use wall::WallAnchor;

use alloc::boxed::Box;
#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;

use crate::Timestamp;

/// Something that tells the time, in nanoseconds since an origin of its own.
///
/// A wheel never reads a clock; whoever drives it does, and passes the time on. What
/// may be expected of a clock, and what may not:
///
/// - A reading is never later than the moment `now` returns: a clock that runs ahead
///   fires timers early.
/// - It may lag, by being coarse or cached. A timer for a given reading then fires late. One for a span
///   from now fires when the clock has counted that span since its reading, which may have been old: early,
///   by as much as the clock lagged when it was armed. To add the clock's grain to each span makes up for it.
/// - A reading is never [`Timestamp::NEVER`].
/// - It should not go back, but a reader has to bear it if it does. [`Wheel`](crate::Wheel)
///   does so: told of an earlier time than before, it stays where it is.
/// - Its readings mean nothing to another clock, whose origin is another. Nothing can
///   check that they are not mixed.
///
/// The trait may be used as `dyn Clock`. References, boxes and `Arc`s of a clock are
/// clocks too.
///
/// ```
/// use core::time::Duration;
/// use tickwheel::{Clock, ManualClock, Resolution, Timestamp, Wheel};
///
/// /// A clock good to 10 ms: it rounds down, and so is never ahead.
/// struct Coarse<C>(C);
///
/// impl<C: Clock> Clock for Coarse<C> {
///     fn now(&self) -> Timestamp {
///         let nanos = self.0.now().as_nanos();
///         Timestamp::from_nanos(nanos - nanos % 10_000_000)
///     }
/// }
///
/// let (time, ms) = (ManualClock::new(), Resolution::MILLISECOND);
/// let clock = Coarse(time.clone());
/// let mut wheel = Wheel::new();
/// wheel.arm(ms.deadline_after(clock.now(), Duration::from_millis(15)), "timeout");
///
/// time.advance(Duration::from_millis(19));
/// assert!(wheel.poll(ms.now(clock.now())).is_none()); // it reads 10 ms
/// time.advance(Duration::from_millis(1));
/// assert!(wheel.poll(ms.now(clock.now())).is_some());
///
/// time.advance(Duration::from_millis(9)); // 29 ms, read as 20
/// let span = Duration::from_millis(15);
/// wheel.arm(ms.deadline_after(clock.now(), span), "cut short");
/// wheel.arm(ms.deadline_after(clock.now(), span + Duration::from_millis(10)), "15 ms at least");
/// time.advance(Duration::from_millis(11)); // 40 ms
/// assert_eq!(wheel.poll(ms.now(clock.now())).unwrap().value, "cut short");
/// time.advance(Duration::from_millis(10));
/// assert_eq!(wheel.poll(ms.now(clock.now())).unwrap().value, "15 ms at least");
/// ```
pub trait Clock {
    /// The time now.
    ///
    /// ```
    /// use tickwheel::{Clock, ManualClock, Timestamp};
    ///
    /// let clock: &dyn Clock = &ManualClock::starting_at(Timestamp::from_nanos(7));
    /// assert_eq!(clock.now().as_nanos(), 7);
    /// ```
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now(&self) -> Timestamp {
        C::now(self)
    }
}

impl<C: Clock + ?Sized> Clock for Box<C> {
    #[inline]
    fn now(&self) -> Timestamp {
        C::now(self)
    }
}

#[cfg(target_has_atomic = "ptr")]
impl<C: Clock + ?Sized> Clock for Arc<C> {
    #[inline]
    fn now(&self) -> Timestamp {
        C::now(self)
    }
}

/// The reading of a clock that has counted `nanos`: at the end of time it stands still,
/// one nanosecond short of [`Timestamp::NEVER`].
#[cfg(any(feature = "std", target_has_atomic = "64"))]
#[inline]
const fn reading(nanos: u64) -> Timestamp {
    if nanos == u64::MAX {
        Timestamp::from_nanos(u64::MAX - 1)
    } else {
        Timestamp::from_nanos(nanos)
    }
}
