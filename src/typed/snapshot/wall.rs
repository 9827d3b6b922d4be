//! Calendar time, as it is written.

use core::time::Duration;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// A time of day: seconds and nanoseconds since the beginning of 1970, UTC.
///
/// What comes before that is written as that. A time at which something ends is an `Option` of this: `None` is *never*,
/// and a zero is a time like any other, and long past.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tickwheel::snapshot::WallTime;
///
/// let at = WallTime::from_epoch(Duration::new(1_700_000_000, 1));
/// assert_eq!(at.to_system_time(), Some(SystemTime::UNIX_EPOCH + at.since_epoch()));
/// assert_eq!(serde_json::to_string(&at)?, r#"{"secs":1700000000,"nanos":1}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WallTime(Duration);

// === impl WallTime ===

impl WallTime {
    /// The time that long after the beginning of 1970.
    #[must_use]
    pub const fn from_epoch(since: Duration) -> Self {
        Self(since)
    }

    /// How long it is after the beginning of 1970.
    #[must_use]
    pub const fn since_epoch(self) -> Duration {
        self.0
    }

    /// As the platform has it; `None` if it cannot say so late a time. Windows rounds down to 100 ns.
    #[must_use]
    pub fn to_system_time(self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(self.0)
    }

    /// How much later it is than `earlier`; zero if it is not.
    pub(super) const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl From<SystemTime> for WallTime {
    fn from(time: SystemTime) -> Self {
        Self(
            time.duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default(),
        )
    }
}
