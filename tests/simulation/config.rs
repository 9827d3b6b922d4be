//! What a program runs on.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::{ManualClock, Resolution, SessionPolicy, Shutdown, TouchPolicy, WhenFull};
use tickwheel::{Timers, Timestamp};

#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// Nanoseconds.
    pub(crate) tick: u64,
    pub(crate) idle: u64,
    pub(crate) absolute: u64,
    pub(crate) tolerance: u64,
    pub(crate) grace: u64,
    pub(crate) touch: TouchPolicy,
    pub(crate) when_full: WhenFull,
    /// The most timers of the runtime: enough for all that is taken up again after a restart.
    pub(crate) limit: Option<usize>,
    /// How the runtime of a process is stopped; if not, it is dropped with the process.
    pub(crate) shutdown: Option<Shutdown>,
    /// One of so many hooks and wakers panics in the driver; 0 if none does.
    pub(crate) fuses: u64,
    /// How much longer than they should sessions live, by their model: to see that it is found.
    pub(crate) flaw: u64,
}

/// The most sessions, in all and of one principal.
pub(crate) const MOST: usize = 3;
pub(crate) const MOST_OF_ONE: usize = 2;

impl Config {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let among = |rng: &mut SmallRng, from: &[u64]| from[rng.random_range(0..from.len())];
        Self {
            tick: among(rng, &[1, 1, 3, 8]),
            idle: among(rng, &[5, 20, 60, u64::MAX]),
            absolute: among(rng, &[40, 100, u64::MAX]),
            tolerance: among(rng, &[0, 0, 10]),
            grace: among(rng, &[0, 7]),
            touch: [
                TouchPolicy::OnAccess,
                TouchPolicy::OnWrite,
                TouchPolicy::Manual,
            ][rng.random_range(0..3)],
            when_full: [WhenFull::Refuse, WhenFull::EndOldest][rng.random_range(0..2)],
            limit: [None, None, Some(10)][rng.random_range(0..3)],
            shutdown: [
                None,
                Some(Shutdown::Drop),
                Some(Shutdown::HandBack),
                Some(Shutdown::FireDue),
            ][rng.random_range(0..4)],
            fuses: 0,
            flaw: 0,
        }
    }

    pub(crate) fn policy(&self) -> SessionPolicy {
        let span = |nanos| match nanos {
            u64::MAX => Duration::MAX,
            nanos => Duration::from_nanos(nanos),
        };
        SessionPolicy::new()
            .idle(span(self.idle))
            .absolute(span(self.absolute))
            .reclaim_tolerance(span(self.tolerance))
            .cycle_grace(span(self.grace))
            .touch(self.touch)
            .when_full(self.when_full)
            .max_sessions(MOST)
            .max_per_principal(MOST_OF_ONE)
    }

    /// A runtime, and its clock.
    pub(crate) fn boot(&self, now: u64) -> (ManualClock, Timers) {
        let clock = ManualClock::starting_at(Timestamp::from_nanos(now));
        let tick = Resolution::new(Duration::from_nanos(self.tick)).unwrap();
        let mut builder = Timers::builder().clock(clock.clone()).resolution(tick);
        if let Some(limit) = self.limit {
            builder = builder.limit(limit);
        }
        (clock, builder.build_hand_driven().unwrap())
    }
}
