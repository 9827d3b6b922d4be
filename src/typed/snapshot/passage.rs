//! Times, translated: from a clock to the wall clock when a snapshot is taken, and back when it is restored.
//!
//! What is written of a deadline is the time of the snapshot, and what is left then. So what is left can be read again to
//! the nanosecond, whatever the platform's wall clock rounds to.

use core::time::Duration;
use std::time::SystemTime;

use super::options::{RestoreOptions, RestorePolicy};
use super::wall::WallTime;
use crate::timestamp::nanos;
use crate::{Timestamp, WallAnchor};

/// From a clock to the wall clock.
#[derive(Clone, Copy, Debug)]
pub(in crate::typed) struct Departure {
    pub(in crate::typed) now: Timestamp,
    pub(in crate::typed) taken_at: WallTime,
}

/// From the wall clock to another clock.
#[derive(Clone, Copy, Debug)]
pub(in crate::typed) struct Passage {
    pub(in crate::typed) now: Timestamp,
    taken_at: WallTime,
    /// How much time has passed for what was stored.
    pub(in crate::typed) elapsed: Duration,
}

/// What is left of something that was to end at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::typed) enum Left {
    /// It lives, until then.
    Until(Timestamp),
    /// It has expired.
    Over {
        /// When; the clock's origin if that was before.
        deadline: Timestamp,
        /// How long ago.
        since: Duration,
    },
}

/// Reads the wall clock, and then the other one, as an anchor does.
fn read(anchor: Option<WallAnchor>, clock: impl FnOnce() -> Timestamp) -> (Timestamp, WallTime) {
    let Some(anchor) = anchor else {
        let wall = SystemTime::now();
        return (clock(), wall.into());
    };
    let now = clock();
    let end = WallTime::from_epoch(Duration::MAX);
    (now, anchor.to_wall(now).map_or(end, WallTime::from))
}

// === impl Departure ===

impl Departure {
    pub(in crate::typed) fn new(
        anchor: Option<WallAnchor>,
        clock: impl FnOnce() -> Timestamp,
    ) -> Self {
        let (now, taken_at) = read(anchor, clock);
        Self { now, taken_at }
    }

    /// How a deadline is written. One that is over is written as over.
    pub(in crate::typed) fn deadline(&self, at: Timestamp) -> Option<WallTime> {
        let left = at.saturating_since(self.now);
        let wall = self.taken_at.since_epoch().saturating_add(left);
        (!at.is_never()).then_some(WallTime::from_epoch(wall))
    }

    /// How a time is written that is past.
    pub(in crate::typed) fn past(&self, at: Timestamp) -> WallTime {
        let ago = self.now.saturating_since(at);
        WallTime::from_epoch(self.taken_at.since_epoch().saturating_sub(ago))
    }
}

// === impl Passage ===

impl Passage {
    pub(in crate::typed) fn new(
        taken_at: WallTime,
        options: &RestoreOptions,
        clock: impl FnOnce() -> Timestamp,
    ) -> Self {
        let (now, wall) = read(options.anchor, clock);
        let elapsed = match options.policy {
            RestorePolicy::KeepDeadline => wall.since(taken_at).saturating_sub(options.margin),
            RestorePolicy::KeepRemaining => Duration::ZERO,
        };
        Self {
            now,
            taken_at,
            elapsed,
        }
    }

    /// What is left until a deadline. One beyond the range of the clock is none.
    pub(in crate::typed) fn left(&self, deadline: Option<WallTime>) -> Left {
        let Some(deadline) = deadline else {
            return Left::Until(Timestamp::NEVER);
        };
        let left = deadline.since(self.taken_at);
        if left > self.elapsed {
            return Left::Until(self.now.saturating_add(left - self.elapsed));
        }
        let since = self.elapsed - left;
        Left::Over {
            deadline: self.ago(since),
            since,
        }
    }

    /// A time that was past: not later than now, and the clock's origin if it was before.
    pub(in crate::typed) fn past(&self, at: WallTime) -> Timestamp {
        self.ago(self.taken_at.since(at).saturating_add(self.elapsed))
    }

    fn ago(&self, span: Duration) -> Timestamp {
        Timestamp::from_nanos(self.now.as_nanos().saturating_sub(nanos(span)))
    }
}

// === impl Left ===

impl Left {
    /// The deadline, past or not.
    pub(in crate::typed) fn deadline(self) -> Timestamp {
        match self {
            Self::Until(deadline) | Self::Over { deadline, .. } => deadline,
        }
    }

    pub(in crate::typed) fn lives(self) -> bool {
        matches!(self, Self::Until(_))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: what is left after a passage is what was left before, less what has elapsed; to the nanosecond, and
    //! never more; no time, however odd, panics.

    use proptest::prelude::*;

    use super::*;

    fn anchored(at: u64, wall: Duration) -> Option<WallAnchor> {
        let wall = SystemTime::UNIX_EPOCH.checked_add(wall)?;
        Some(WallAnchor::new(Timestamp::from_nanos(at), wall))
    }

    proptest! {
        #[test]
        fn what_is_left_is_what_was_left_less_what_has_elapsed(
            (now, left) in (0..1u64 << 62, 1..1u64 << 62),
            (wall, later, back) in (0..1u64 << 62, 0..1u64 << 62, any::<bool>()),
            margin in 0..1u64 << 61,
            then in 0..1u64 << 40,
            keeps in any::<bool>(),
        ) {
            // Windows' wall clock has steps of 100 ns.
            let (wall, later) = (wall / 100 * 100, later / 100 * 100);
            let departure = Departure::new(
                anchored(now, Duration::from_nanos(wall)),
                || Timestamp::from_nanos(now),
            );
            let written = departure.deadline(Timestamp::from_nanos(now + left));
            let wall_then = if back { wall.saturating_sub(later) } else { wall + later };
            let policy = if keeps { RestorePolicy::KeepDeadline } else { RestorePolicy::KeepRemaining };
            let options = RestoreOptions {
                policy,
                margin: Duration::from_nanos(margin),
                anchor: anchored(then, Duration::from_nanos(wall_then)),
            };
            let passage =
                Passage::new(departure.taken_at, &options, || Timestamp::from_nanos(then));
            let elapsed = if back || !keeps { 0 } else { later.saturating_sub(margin) };
            prop_assert_eq!(passage.elapsed, Duration::from_nanos(elapsed));
            let expected = if left > elapsed {
                Left::Until(Timestamp::from_nanos(then + left - elapsed))
            } else {
                let since = elapsed - left;
                Left::Over {
                    deadline: Timestamp::from_nanos(then.saturating_sub(since)),
                    since: Duration::from_nanos(since),
                }
            };
            prop_assert_eq!(passage.left(written), expected);
            prop_assert_eq!(passage.left(None), Left::Until(Timestamp::NEVER));
        }

        #[test]
        fn no_time_panics_and_none_that_is_past_comes_to_lie_ahead(
            taken in (any::<u64>(), 0..1_000_000_000u32),
            at in (any::<u64>(), 0..1_000_000_000u32),
            (now, margin) in (any::<u64>(), any::<u64>()),
            wall in any::<u64>(),
        ) {
            let time = |(secs, nanos)| WallTime::from_epoch(Duration::new(secs, nanos));
            let options = RestoreOptions {
                policy: RestorePolicy::KeepDeadline,
                margin: Duration::from_secs(margin),
                anchor: anchored(now, Duration::from_secs(wall)),
            };
            let now = Timestamp::from_nanos(now);
            let passage = Passage::new(time(taken), &options, || now);
            prop_assert!(passage.past(time(at)) <= now);
            let left = passage.left(Some(time(at)));
            match left {
                Left::Until(deadline) => prop_assert!(deadline > now || deadline.is_never()),
                Left::Over { deadline, .. } => prop_assert!(deadline <= now),
            }
        }
    }
}
