//! Calendar time: for deadlines that outlive the process.

use std::time::SystemTime;

use super::Clock;
use crate::Timestamp;
use crate::timestamp::nanos;

/// One moment, known both as a reading of a clock and as a time of day.
///
/// A deadline that is written down to survive the process has to be written as wall-clock
/// time, since a clock's origin is gone with the process. An anchor translates: to the
/// wall clock on the way out, from it on the way in.
///
/// It reads the wall clock *once*, when it is made. After that nothing in the process is
/// measured by the wall clock: when that is set, forward or back, no timer moves and
/// no translation changes. Only a new anchor takes notice.
///
/// *No deadline* is [`Timestamp::NEVER`], which has no time of day: write down that there
/// is none. A zero that was written down is a time like any other, and long past.
///
/// Translating there and back is exact to the nanosecond as far as [`SystemTime`] is.
/// Windows' counts in steps of 100 ns, and what lies between two rounds down.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tickwheel::{Clock, ManualClock, Timestamp, WallAnchor};
///
/// // The process that arms the timer ...
/// let clock = ManualClock::new();
/// let anchor = WallAnchor::now(&clock);
/// let deadline = clock.now() + Duration::from_secs(3600);
/// let written: Option<SystemTime> = anchor.to_wall(deadline);
///
/// // ... and the next one, started a quarter of an hour later.
/// let later = SystemTime::now() + Duration::from_secs(900);
/// let anchor = WallAnchor::new(Timestamp::ZERO, later);
/// let deadline = written.map_or(Timestamp::NEVER, |wall| anchor.from_wall(wall));
/// assert!(deadline <= Timestamp::ZERO + Duration::from_secs(2700));
/// assert!(deadline > Timestamp::ZERO + Duration::from_secs(2600));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WallAnchor {
    at: Timestamp,
    wall: SystemTime,
}

impl WallAnchor {
    /// Reads `clock` and the wall clock together.
    ///
    /// The wall clock is read first. If the thread is held up between the two readings,
    /// a deadline [from the wall clock](Self::from_wall) comes out late by that much, not
    /// early; in exchange one [written down](Self::to_wall) comes out early by as much.
    ///
    /// # Panics
    ///
    /// Where the platform has no wall clock and [`SystemTime::now`] panics.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use tickwheel::{ManualClock, Timestamp, WallAnchor};
    ///
    /// let clock = ManualClock::starting_at(Timestamp::from_nanos(7));
    /// let before = SystemTime::now();
    /// let anchor = WallAnchor::now(&clock);
    /// let wall = anchor.to_wall(Timestamp::from_nanos(7)).unwrap();
    /// assert!(before <= wall && wall <= SystemTime::now());
    /// ```
    #[must_use]
    pub fn now<C: Clock + ?Sized>(clock: &C) -> Self {
        let wall = SystemTime::now();
        Self::new(clock.now(), wall)
    }

    /// Anchors the reading `at` of a clock to the time of day `wall`.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use tickwheel::{Timestamp, WallAnchor};
    ///
    /// let at = Timestamp::from_nanos(5);
    /// let anchor = WallAnchor::new(at, SystemTime::UNIX_EPOCH);
    /// assert_eq!(anchor.to_wall(at), Some(SystemTime::UNIX_EPOCH));
    /// ```
    #[must_use]
    pub const fn new(at: Timestamp, wall: SystemTime) -> Self {
        Self { at, wall }
    }

    /// The time of day when the clock reads `at`.
    ///
    /// `None` for [`Timestamp::NEVER`], and for a time that [`SystemTime`] cannot say.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use tickwheel::{Timestamp, WallAnchor};
    ///
    /// let anchor = WallAnchor::new(Timestamp::ZERO, SystemTime::UNIX_EPOCH);
    /// let minute = Duration::from_secs(60);
    /// let wall = anchor.to_wall(Timestamp::from_duration(minute));
    /// assert_eq!(wall, Some(SystemTime::UNIX_EPOCH + minute));
    /// assert_eq!(anchor.to_wall(Timestamp::NEVER), None);
    /// ```
    #[must_use]
    pub fn to_wall(self, at: Timestamp) -> Option<SystemTime> {
        if at.is_never() {
            return None;
        }
        if at >= self.at {
            self.wall.checked_add(at - self.at)
        } else {
            self.wall.checked_sub(self.at - at)
        }
    }

    /// What the clock reads at the time of day `wall`.
    ///
    /// A time before the clock's origin gives [`Timestamp::ZERO`], which has passed: a
    /// timer armed for it is due at once. One too far ahead for the clock gives
    /// [`Timestamp::NEVER`].
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use tickwheel::{MonotonicClock, Timestamp, WallAnchor};
    ///
    /// let anchor = WallAnchor::now(&MonotonicClock::new());
    /// assert_eq!(anchor.from_wall(SystemTime::UNIX_EPOCH), Timestamp::ZERO);
    ///
    /// let year_3000 = SystemTime::UNIX_EPOCH + Duration::from_secs(32_503_680_000);
    /// assert_eq!(anchor.from_wall(year_3000), Timestamp::NEVER);
    /// ```
    #[must_use]
    pub fn from_wall(self, wall: SystemTime) -> Timestamp {
        match wall.duration_since(self.wall) {
            Ok(ahead) => self.at + ahead,
            Err(behind) => {
                let behind = nanos(behind.duration());
                Timestamp::from_nanos(self.at.as_nanos().saturating_sub(behind))
            }
        }
    }
}
