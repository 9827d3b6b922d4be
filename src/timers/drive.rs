//! One turn of the driver, and those who drive by hand.

use alloc::sync::Arc;
use core::time::Duration;

use super::fire::Batch;
use super::pace::Allowance;
use super::{Shared, Timers};
use crate::shared::mutant::mutant;
use crate::{Busy, Clock, ManualClock, Park, Tick, Timestamp};

/// What a [`turn`](Timers::turn) has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turned {
    /// Timers that fired.
    pub fired: usize,
    /// Whether more was due when it ended: the batch was full.
    pub more: bool,
}

/// What a driver may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Something was to do, and maybe more is.
    Ran(Turned),
    /// Nothing may fire before that long.
    Limited(Duration),
    /// Nothing may fire: paused, or shut down.
    Closed,
}

// === impl Timers ===

impl Timers {
    /// Fires what is due, as much of it as one [batch](super::TimersBuilder::batch) holds. For event loops, and for
    /// tests with a [`ManualClock`].
    ///
    /// # Errors
    ///
    /// [`Busy`] if another thread is driving at this moment, or if this is called from a callback. While a
    /// thread of the runtime's own sleeps, this fires here, in the calling thread.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// timers.arm(Duration::from_millis(5), |_| {})?;
    ///
    /// assert_eq!(timers.next_timeout(), Some(Duration::from_millis(5)));
    /// clock.advance(Duration::from_millis(4));
    /// assert_eq!(timers.turn()?.fired, 0); // never early
    /// clock.advance(Duration::from_millis(1));
    /// assert_eq!(timers.turn()?.fired, 1);
    /// assert_eq!(timers.next_timeout(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn turn(&self) -> Result<Turned, Busy> {
        Ok(match self.turn_here()? {
            Turn::Ran(turned) => turned,
            Turn::Limited(_) | Turn::Closed => Turned {
                fired: 0,
                more: false,
            },
        })
    }

    /// Fires everything that is due, batch by batch. What callbacks arm for the time that is fired waits for
    /// the next call, and so does what was armed for it since a [`turn`](Self::turn) that was not the last of its batches.
    ///
    /// # Errors
    ///
    /// [`Busy`], as [`turn`](Self::turn).
    pub fn turn_fully(&self) -> Result<Turned, Busy> {
        let mut all = self.turn()?;
        while all.more {
            let next = self.turn()?;
            all.fired += next.fired;
            all.more = next.more;
        }
        Ok(all)
    }

    /// How long an event loop may sleep before the next [`turn`](Self::turn), rounded up to whole
    /// milliseconds, as `poll` and `epoll` want it; `None` for as long as it likes.
    ///
    /// From then on, until the next `turn`, whoever arms an earlier timer calls the hook given to
    /// [`wake`](super::TimersBuilder::wake).
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        const MILLISECOND: u128 = 1_000_000;
        let sleep = self.shared.may_sleep();
        self.announce_again();
        let sleep = sleep?;
        let millis = sleep.as_nanos().div_ceil(MILLISECOND);
        Some(Duration::from_millis(
            u64::try_from(millis).unwrap_or(u64::MAX),
        ))
    }

    /// A time before which nothing is due; `None` if nothing is armed for any time. As
    /// [`SharedWheel::next_deadline`](crate::SharedWheel::next_deadline): it may be early.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let next = self.shared.next_deadline()?;
        Some(self.shared.resolution.start_of(next))
    }

    /// Moves `clock`, which has to be the clock of the runtime, to the next time at which anything
    /// fires, and fires it. Says how many; 0 if nothing is armed, or nothing may fire, or somebody else
    /// drives.
    ///
    /// # Panics
    ///
    /// If `clock` is not the clock of the runtime and something is armed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Clock, ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// timers.arm(Duration::from_secs(3600), |_| {})?;
    /// assert_eq!(timers.advance_to_next(&clock), 1); // an hour later
    /// assert_eq!(clock.now().as_nanos(), 3_600_000_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance_to_next(&self, clock: &ManualClock) -> usize {
        let mut stuck = 0;
        loop {
            let fired = match self.turn_here() {
                Ok(Turn::Ran(Turned { fired: 0, more })) => {
                    if !more {
                        let Some(next) = self.next_deadline() else {
                            return 0;
                        };
                        // What is due again and again, because it is postponed for no time, does
                        // not fire.
                        stuck += usize::from(next <= clock.now());
                        if clock.set(next) < next || stuck > 2 {
                            return 0; // or it is at the end of time
                        }
                        assert!(self.now() >= next, "not the clock of the runtime");
                    }
                    continue;
                }
                Ok(Turn::Ran(Turned { fired, .. })) => fired,
                Ok(Turn::Limited(wait)) => {
                    let before = clock.now();
                    if clock.advance(wait) <= before {
                        return 0; // as above
                    }
                    continue;
                }
                Ok(Turn::Closed) | Err(Busy) => return 0,
            };
            // The rest of what is due now, if a batch did not hold it.
            return fired + self.turn_fully().map_or(0, |turned| turned.fired);
        }
    }

    /// Moves `clock`, which has to be the clock of the runtime, by `span`, and fires each timer at its own
    /// time on the way: what a callback arms counts from then. Says how many fired.
    ///
    /// What a callback arms for the time at which it runs waits until the clock has moved on by a tick. If
    /// nothing may fire, or somebody else drives, only the clock moves.
    ///
    /// # Panics
    ///
    /// As [`advance_to_next`](Self::advance_to_next).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Missed, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// timers.every(Duration::from_secs(1), Missed::Skip, |firing| {
    ///     firing.timers().arm(Duration::from_millis(500), |_| {}).unwrap();
    /// })?;
    /// assert_eq!(timers.advance_by(&clock, Duration::from_secs(10)), 10 + 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance_by(&self, clock: &ManualClock, span: Duration) -> usize {
        let end = clock.now().saturating_add(span);
        let mut fired = 0;
        loop {
            let now = clock.now();
            let next = match self.turn_here() {
                Ok(Turn::Ran(turned)) => {
                    fired += turned.fired;
                    if turned.more {
                        continue;
                    }
                    let tick = now.saturating_add(self.shared.resolution.tick());
                    self.next_deadline().map(|next| next.max(tick))
                }
                Ok(Turn::Limited(wait)) => Some(now.saturating_add(wait)),
                Ok(Turn::Closed) | Err(Busy) => None,
            };
            let is_last = now >= end;
            clock.set(next.map_or(end, |next| next.min(end)));
            assert!(self.now() >= clock.now(), "not the clock of the runtime");
            if is_last || clock.now() <= now {
                return fired;
            }
        }
    }
}

impl Timers {
    fn turn_here(&self) -> Result<Turn, Busy> {
        let turn = self.shared.turn();
        self.announce_again();
        turn
    }

    /// Lets the driver's thread, if there is one, announce again until when it sleeps: whoever else turns, or
    /// asks for how long to sleep, takes its announcement back, and then an arm wakes nobody.
    fn announce_again(&self) {
        if self.shared.has_thread {
            self.shared.parker.unpark();
        }
    }
}

/// A turn, until it has ended, be it by a panic.
struct Turning<'a> {
    shared: &'a Arc<Shared>,
    /// Whether it is the one that is shown.
    shown: bool,
}

// === impl Shared ===

impl Shared {
    /// Fires a batch of what is due, if anything may fire.
    pub(super) fn turn(self: &Arc<Self>) -> Result<Turn, Busy> {
        if !self.gate.look().is_open() {
            return Ok(Turn::Closed);
        }
        let now = self.now();
        let allowance = match self.pace.take(now) {
            Ok(allowance) => allowance,
            Err(wait) => return Ok(Turn::Limited(wait)),
        };
        self.phase.run_begins();
        let turning = Turning {
            shared: self,
            shown: self.pulse.turn_begins(now, self.resolution.now(now)),
        };
        // If another turn is under way, that is who has the role.
        let retry = turning.shown && !self.wheel.is_driven_here();
        let turned = self.batch(now, self.resolution.now(now), allowance, retry);
        let fired = turned.as_ref().map_or(0, |turned| turned.fired);
        self.pace.give_back(allowance, fired);
        drop(turning);
        #[cfg(feature = "metrics")]
        self.publish_in_time(now);
        Ok(Turn::Ran(turned?))
    }

    /// Fires what is due at `tick`, held to what is allowed. It is `now`. Who only looks at the wheel, and
    /// so has the driver's role for a moment, is waited for with `retry`.
    pub(super) fn batch(
        self: &Arc<Self>,
        now: Timestamp,
        tick: Tick,
        allowance: Allowance,
        retry: bool,
    ) -> Result<Turned, Busy> {
        let mut batch = Batch::new(now, allowance);
        let progress = loop {
            let looks = self.pulse.looks();
            let progress = self
                .wheel
                .advance_bounded(tick, allowance.entries, |turn, expired| {
                    self.fire(turn, expired, &mut batch);
                });
            match progress {
                // Nobody drives, but somebody looks: it will not be long.
                Err(Busy) if retry && self.pulse.looked_since(looks) => self.wheel.pause(),
                progress => break progress?,
            }
        };
        let fired = batch.fired();
        if fired > 0 {
            let took = batch.now().saturating_since(now);
            self.counters.batches.record(took);
            self.event_batch(fired, took);
        }
        Ok(Turned {
            fired,
            more: !progress.is_done(),
        })
    }

    /// How long whoever drives may sleep, unless it is woken; `None` for as long as it likes.
    pub(super) fn may_sleep(&self) -> Option<Duration> {
        if !self.gate.look().is_open() {
            return None;
        }
        self.pulse.prepares();
        let now = self.now();
        // It takes the role for a moment; who drives just then tries again.
        let look = (!mutant!(LookUnseen)).then(|| self.pulse.look());
        let park = self.wheel.prepare_park();
        drop(look);
        let sleep = match park {
            Err(Busy) | Ok(Park::Now) => Duration::ZERO,
            Ok(Park::Until(tick)) => {
                self.pulse.rests(tick);
                self.resolution.start_of(tick).saturating_since(now)
            }
            Ok(Park::Idle) => {
                self.pulse.rests(Tick::NEVER);
                return None;
            }
        };
        if sleep.is_zero() {
            // What is due may have to wait all the same.
            return Some(self.pace.wait(now).unwrap_or_default());
        }
        Some(sleep)
    }

    /// A tick before which nothing is due.
    pub(super) fn next_deadline(&self) -> Option<Tick> {
        let _look = self.pulse.look();
        self.wheel.next_deadline()
    }
}

impl Drop for Turning<'_> {
    fn drop(&mut self) {
        if self.shown {
            self.shared.pulse.turn_ends();
        }
        // Whoever shut the runtime down may have found this turn under way.
        if self.shared.phase.run_ends() && !std::thread::panicking() {
            self.shared.fire_due();
        }
    }
}
