//! A machine with a clock and a wall clock, and the rule by which time passes for what is restored on it.

use std::time::{Duration, SystemTime};

use tickwheel::snapshot::{RestoreOptions, RestorePolicy, WallTime};
use tickwheel::{Clock, ManualClock, Timers, Timestamp, WallAnchor};

/// A time of day in 2030, in seconds.
pub(crate) const NOON: u64 = 1_900_000_000;

pub(crate) struct Machine {
    pub(crate) clock: ManualClock,
    pub(crate) timers: Timers,
    anchor: WallAnchor,
}

/// What counts as passed.
pub(crate) struct Passed {
    /// Whether the time between does.
    pub(crate) counts: bool,
    pub(crate) margin: Duration,
}

impl Machine {
    /// One whose wall clock shows so many seconds after noon.
    pub(crate) fn at(seconds: i16) -> Self {
        let wall = NOON.saturating_add_signed(seconds.into());
        Self::showing(Duration::from_secs(wall))
    }

    /// Another one, which starts when so much has passed on the wall clock of the first.
    pub(crate) fn after(other: &Self, span: Duration) -> Self {
        Self::showing(other.wall() + span)
    }

    fn showing(wall: Duration) -> Self {
        // Clocks of different processes have different origins.
        let clock = ManualClock::starting_at(Timestamp::from_nanos(5_000_000_000_000));
        let timers = Timers::builder().clock(clock.clone()).shards(1);
        let timers = timers.build_hand_driven().unwrap();
        let anchor = WallAnchor::new(clock.now(), SystemTime::UNIX_EPOCH + wall);
        Self {
            clock,
            timers,
            anchor,
        }
    }

    pub(crate) fn anchor(&self) -> WallAnchor {
        self.anchor
    }

    pub(crate) fn options(&self, passed: &Passed) -> RestoreOptions {
        let policy = match passed.counts {
            true => RestorePolicy::KeepDeadline,
            false => RestorePolicy::KeepRemaining,
        };
        let options = RestoreOptions::new().anchor(self.anchor);
        options.policy(policy).skew_margin(passed.margin)
    }

    /// Lets time pass, and the driver come by.
    pub(crate) fn pass(&self, span: Duration) {
        self.clock.advance(span);
        self.timers.turn_fully().unwrap();
    }

    fn now(&self) -> u64 {
        self.clock.now().as_nanos()
    }

    fn wall(&self) -> Duration {
        let wall = self.anchor.to_wall(self.clock.now()).unwrap();
        wall.duration_since(SystemTime::UNIX_EPOCH).unwrap()
    }

    /// How long it is until a time of the clock.
    pub(crate) fn until(&self, at: u64) -> Duration {
        Duration::from_nanos(at - self.now())
    }

    /// Nanoseconds until a time of the clock; none if that is never.
    pub(crate) fn left(&self, at: u64) -> Option<u64> {
        (at < u64::MAX).then(|| at - self.now())
    }

    pub(crate) fn elapsed(&self, passed: &Passed, taken_at: WallTime) -> Duration {
        let between = self.wall().saturating_sub(taken_at.since_epoch());
        match passed.counts {
            true => between.saturating_sub(passed.margin),
            false => Duration::ZERO,
        }
    }

    /// Until when on this clock something lives that was to end at a time of day; none if it has ended.
    pub(crate) fn life(
        &self,
        passed: &Passed,
        taken_at: WallTime,
        deadline: Option<WallTime>,
    ) -> Option<u64> {
        let Some(deadline) = deadline else {
            return Some(u64::MAX);
        };
        let left = deadline
            .since_epoch()
            .saturating_sub(taken_at.since_epoch());
        let left = left.saturating_sub(self.elapsed(passed, taken_at));
        let until = u128::from(self.now()) + left.as_nanos();
        (!left.is_zero()).then(|| u64::try_from(until).unwrap_or(u64::MAX))
    }
}
