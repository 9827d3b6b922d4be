//! What is wrong with a runtime, told from how it looks now and how it looked before: no clock, no
//! thread.

use core::fmt;
use core::time::Duration;

use crate::Timestamp;

/// What is wrong with a runtime, as its [watchdog](super::TimersBuilder::watchdog) reports it and
/// [`health`](super::Timers::health) answers.
///
/// The bound is that of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alarm {
    /// Timers fire, but the oldest that is due is late by more than the bound: there is more to do
    /// than is done, or a [rate limit](super::TimersBuilder::rate_limit) holds it back.
    #[non_exhaustive]
    Late {
        /// How long the oldest timer has been due: [`overdue`](super::Timers::overdue).
        overdue: Duration,
    },
    /// The driver has been in one turn, a callback or a batch of them, for longer than the bound.
    #[non_exhaustive]
    Stalled {
        /// For how long, by the clock of the runtime.
        turning: Duration,
        /// When the turn began.
        since: Timestamp,
    },
    /// Something has been due for a bound or longer, nothing was done about it, and no turn is under way:
    /// nobody drives.
    #[non_exhaustive]
    Stopped {
        /// How long the oldest timer has been due.
        overdue: Duration,
        /// How long nothing was done, in real time, as far as was looked.
        quiet: Duration,
    },
    /// Timers are armed, and the clock has not moved, or was behind what it showed before, for longer than the
    /// bound.
    #[non_exhaustive]
    ClockStands {
        /// The latest time that it showed.
        reading: Timestamp,
        /// Since when it has not moved, in real time, as far as was looked.
        stood: Duration,
    },
    /// What was reported is over. Only a watchdog says so.
    #[non_exhaustive]
    Over {
        /// How long it lasted, in real time, from the first report.
        lasted: Duration,
    },
}

/// A look at a runtime.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Real time, from any moment that stays the same.
    pub(super) real: Duration,
    /// The runtime's clock.
    pub(super) now: Timestamp,
    /// When the turn under way began.
    pub(super) turn: Option<Timestamp>,
    pub(super) overdue: Duration,
    /// Changes whenever something that is due is dealt with.
    pub(super) progress: u64,
    pub(super) work: Work,
}

/// Whether there is anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing is armed.
    Nothing,
    /// Timers are armed.
    Armed,
    /// Timers are armed, and none may fire just now because of the rate limit.
    Limited,
    /// Nothing is to fire.
    Paused,
}

/// Compares looks. It may be asked at any intervals; what it takes two looks to see is seen in time if
/// they are no longer than the bound.
#[derive(Debug)]
pub(super) struct Judge {
    bound: Duration,
    /// The latest time the clock showed, and when it showed it first.
    moved: Option<(Timestamp, Duration)>,
    /// What was done by the time that something was due and nothing more was done, and when that was.
    quiet: Option<(u64, Duration)>,
}

/// What has been reported of something that is wrong, until it is over.
#[derive(Debug, Default)]
pub(super) struct Incident {
    since: Option<Duration>,
    /// A bit for each kind of alarm.
    told: u8,
}

// === impl Alarm ===

impl Alarm {
    fn kind(&self) -> u8 {
        match self {
            Self::Late { .. } => 1,
            Self::Stalled { .. } => 2,
            Self::Stopped { .. } => 4,
            Self::ClockStands { .. } => 8,
            Self::Over { .. } => 16,
        }
    }
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { overdue } => write!(f, "timers are {overdue:?} late"),
            Self::Stalled { turning, .. } => {
                write!(f, "the driver has been in one turn for {turning:?}")
            }
            Self::Stopped { overdue, quiet } => write!(
                f,
                "nobody drives: a timer has been due for {overdue:?}, and nothing was done for {quiet:?}"
            ),
            Self::ClockStands { reading, stood } => {
                write!(f, "the clock has stood at {reading:?} for {stood:?}")
            }
            Self::Over { lasted } => write!(f, "over after {lasted:?}"),
        }
    }
}

// === impl Judge ===

impl Judge {
    pub(super) fn new(bound: Duration) -> Self {
        Self {
            bound,
            moved: None,
            quiet: None,
        }
    }

    /// What is wrong; the cause rather than what follows from it.
    pub(super) fn look(&mut self, seen: &Seen) -> Option<Alarm> {
        let (reading, stood) = self.stood(seen);
        let quiet = self.quiet(seen);
        let busy = matches!(seen.work, Work::Armed | Work::Limited);
        if busy && stood > self.bound {
            return Some(Alarm::ClockStands { reading, stood });
        }
        if let Some(since) = seen.turn {
            let turning = seen.now.saturating_since(since);
            if turning > self.bound {
                return Some(Alarm::Stalled { turning, since });
            }
        }
        let overdue = seen.overdue;
        if seen.work == Work::Armed && seen.turn.is_none() && quiet >= self.bound {
            return Some(Alarm::Stopped { overdue, quiet });
        }
        (busy && overdue > self.bound).then_some(Alarm::Late { overdue })
    }

    /// The latest reading of the clock, and for how long there was none later.
    fn stood(&mut self, seen: &Seen) -> (Timestamp, Duration) {
        match self.moved {
            Some((reading, at)) if seen.now <= reading => (reading, seen.real.saturating_sub(at)),
            _ => {
                self.moved = Some((seen.now, seen.real));
                (seen.now, Duration::ZERO)
            }
        }
    }

    /// For how long something was due and nothing was done.
    fn quiet(&mut self, seen: &Seen) -> Duration {
        if seen.overdue.is_zero() || seen.work != Work::Armed {
            self.quiet = None;
            return Duration::ZERO;
        }
        match self.quiet {
            Some((progress, at)) if progress == seen.progress => seen.real.saturating_sub(at),
            _ => {
                self.quiet = Some((seen.progress, seen.real));
                Duration::ZERO
            }
        }
    }
}

// === impl Incident ===

impl Incident {
    /// What of `alarm`, found at the time `real`, is news.
    pub(super) fn news(&mut self, real: Duration, alarm: Option<Alarm>) -> Option<Alarm> {
        let Some(alarm) = alarm else {
            self.told = 0;
            let since = self.since.take()?;
            let lasted = real.saturating_sub(since);
            return Some(Alarm::Over { lasted });
        };
        self.since.get_or_insert(real);
        let news = self.told & alarm.kind() == 0;
        self.told |= alarm.kind();
        news.then_some(alarm)
    }
}

#[cfg(test)]
mod tests {
    //! Properties: each alarm is raised beyond its bound and not before; what is paused, or has nothing to
    //! do, is not late; the cause is named rather than what follows; each kind is reported once per incident.

    use super::*;

    const BOUND: Duration = Duration::from_millis(10);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A healthy runtime with timers, at that time.
    fn seen(millis: u64) -> Seen {
        Seen {
            real: ms(millis),
            now: Timestamp::from_duration(ms(millis)),
            turn: None,
            overdue: Duration::ZERO,
            progress: 0,
            work: Work::Armed,
        }
    }

    #[test]
    fn late_is_beyond_the_bound() {
        let mut judge = Judge::new(BOUND);
        let late = |overdue| Seen {
            overdue: ms(overdue),
            ..seen(5)
        };
        assert_eq!(judge.look(&late(10)), None);
        let alarm = judge.look(&late(11));
        assert_eq!(alarm, Some(Alarm::Late { overdue: ms(11) }));
        for work in [Work::Nothing, Work::Paused] {
            let mut judge = Judge::new(BOUND);
            let seen = Seen { work, ..late(11) };
            assert_eq!(judge.look(&seen), None, "{work:?}");
        }
    }

    #[test]
    fn nothing_done_for_a_bound_is_stopped_and_something_done_is_late() {
        let mut judge = Judge::new(BOUND);
        let due = |at, progress| Seen {
            overdue: ms(at),
            progress,
            ..seen(at)
        };
        assert_eq!(judge.look(&due(5, 7)), None);
        assert_eq!(
            judge.look(&due(14, 7)),
            Some(Alarm::Late { overdue: ms(14) })
        );
        let stopped = Alarm::Stopped {
            overdue: ms(15),
            quiet: ms(10),
        };
        assert_eq!(judge.look(&due(15, 7)), Some(stopped));
        assert_eq!(
            judge.look(&due(16, 8)),
            Some(Alarm::Late { overdue: ms(16) })
        );
        let limited = Seen {
            work: Work::Limited,
            ..due(40, 8)
        };
        assert_eq!(judge.look(&limited), Some(Alarm::Late { overdue: ms(40) }));
        // Quiet is what was quiet while something was due.
        assert_eq!(judge.look(&seen(60)), None);
        assert_eq!(
            judge.look(&Seen {
                overdue: ms(1),
                ..seen(90)
            }),
            None
        );
    }

    #[test]
    fn one_turn_beyond_the_bound_is_a_stall_even_while_paused() {
        for work in [Work::Armed, Work::Nothing, Work::Limited, Work::Paused] {
            let mut judge = Judge::new(BOUND);
            let turn = Some(Timestamp::from_duration(ms(2)));
            let at = |millis| Seen {
                turn,
                work,
                overdue: ms(millis),
                ..seen(millis)
            };
            assert_eq!(judge.look(&at(9)), None, "{work:?}");
            let stalled = Alarm::Stalled {
                turning: ms(11),
                since: Timestamp::from_duration(ms(2)),
            };
            assert_eq!(judge.look(&at(13)), Some(stalled), "{work:?}");
        }
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_is_told_while_timers_are_armed() {
        for reading in [ms(50), ms(20)] {
            let mut judge = Judge::new(BOUND);
            let at = |real, now| Seen {
                real: ms(real),
                now: Timestamp::from_duration(now),
                ..seen(0)
            };
            assert_eq!(judge.look(&at(0, ms(50))), None);
            assert_eq!(judge.look(&at(10, reading)), None);
            let paused = Seen {
                work: Work::Paused,
                ..at(11, reading)
            };
            assert_eq!(judge.look(&paused), None);
            let stands = Alarm::ClockStands {
                reading: Timestamp::from_duration(ms(50)),
                stood: ms(11),
            };
            assert_eq!(judge.look(&at(11, reading)), Some(stands));
            assert_eq!(judge.look(&at(12, ms(51))), None);
        }
    }

    #[test]
    fn each_kind_is_news_once_per_incident_and_so_is_its_end() {
        let mut incident = Incident::default();
        let late = |millis| {
            Some(Alarm::Late {
                overdue: ms(millis),
            })
        };
        let stopped = Some(Alarm::Stopped {
            overdue: ms(1),
            quiet: ms(1),
        });
        assert_eq!(incident.news(ms(0), None), None);
        for _ in 0..2 {
            assert_eq!(incident.news(ms(10), late(1)), late(1));
            assert_eq!(incident.news(ms(11), late(2)), None);
            assert_eq!(incident.news(ms(12), stopped), stopped);
            assert_eq!(incident.news(ms(13), late(3)), None);
            let over = Alarm::Over { lasted: ms(9) };
            assert_eq!(incident.news(ms(19), None), Some(over));
            assert_eq!(incident.news(ms(20), None), None);
        }
    }
}
