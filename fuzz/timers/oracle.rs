//! What is known of each timer: a map from numbers to deadlines.

use std::collections::BTreeMap;

use tickwheel::{TimerKey, Timestamp};

use crate::program::{Deed, Kind, Policy};

/// How often a timer that fires again does so.
pub(crate) const CALLS: u32 = 5;

#[derive(Debug)]
pub(crate) struct Timer {
    pub(crate) key: TimerKey,
    /// Nanoseconds; `u64::MAX` is never.
    pub(crate) deadline: u64,
    pub(crate) kind: Kind,
    pub(crate) deed: Deed,
    pub(crate) calls: u32,
    /// For when it is in step, and the tick for which the runtime has armed it: of a periodic one.
    nominal: u64,
    armed: u64,
    /// Armed or moved while a turn goes on, or is not finished: it may have to wait for the next.
    pub(crate) fresh: bool,
}

#[derive(Default, Debug)]
pub(crate) struct Oracle {
    pub(crate) tick: u64,
    pub(crate) timers: BTreeMap<u64, Timer>,
    pub(crate) next: u64,
    pub(crate) paused: bool,
    pub(crate) panics: u64,
    pub(crate) fired: u64,
    /// In a turn.
    pub(crate) turning: bool,
    /// The last turn is not finished: its batch was full, or a callback has paused it.
    pub(crate) between: bool,
    /// It was shut down: nothing can be armed, nothing fires again.
    pub(crate) ended: bool,
    /// Callbacks are called by who has them.
    pub(crate) handed_back: bool,
}

impl Oracle {
    pub(crate) fn due(&self, deadline: u64) -> u64 {
        match deadline {
            u64::MAX => u64::MAX,
            _ => deadline.div_ceil(self.tick),
        }
    }

    /// A deadline as the runtime tells it.
    pub(crate) fn told(&self, deadline: u64) -> Timestamp {
        Timestamp::from_nanos(self.due(deadline).saturating_mul(self.tick))
    }

    pub(crate) fn add(
        &mut self,
        id: u64,
        key: TimerKey,
        deadline: u64,
        kind: Kind,
        deed: Deed,
        now: Timestamp,
    ) {
        // A periodic timer is armed for a period from now, and then moved.
        let nominal = match kind {
            Kind::Every(_, period) => now.as_nanos().saturating_add(period.max(1)),
            _ => deadline,
        };
        let timer = Timer {
            key,
            deadline,
            kind,
            deed,
            calls: 0,
            nominal,
            armed: self.due(nominal),
            fresh: self.turning || self.between,
        };
        assert!(self.timers.insert(id, timer).is_none());
    }

    /// One of those that live, by a number.
    pub(crate) fn pick(&self, which: u8) -> Option<u64> {
        let nth = usize::from(which) % self.timers.len().max(1);
        self.timers.keys().nth(nth).copied()
    }

    pub(crate) fn moved(&mut self, id: u64, deadline: u64) {
        let fresh = self.turning || self.between;
        let timer = self.timers.get_mut(&id).unwrap();
        timer.deadline = deadline;
        timer.fresh = fresh;
    }

    /// Whether anything waits that was due before the turn began.
    pub(crate) fn is_behind(&self, now: u64) -> bool {
        let now = now / self.tick;
        let mut timers = self.timers.values();
        timers.any(|timer| !timer.fresh && self.due(timer.deadline) <= now)
    }

    pub(crate) fn earliest(&self) -> Option<u64> {
        let timers = self.timers.values();
        let due = timers.map(|timer| self.due(timer.deadline));
        due.filter(|due| *due != u64::MAX).min()
    }

    /// When a timer is due again whose callback returns at `now`, if at all.
    pub(crate) fn again(&mut self, id: u64, now: u64, panicked: bool, stopped: bool) {
        let tick = self.tick;
        let due = self.due(self.timers[&id].deadline);
        let timer = self.timers.get_mut(&id).unwrap();
        let next = match timer.kind {
            Kind::Every(policy, period) => {
                let period = period.max(1);
                if timer.armed != due {
                    timer.nominal = due.saturating_mul(tick);
                }
                let nominal = timer.nominal;
                Some(match policy {
                    Policy::Burst => nominal.saturating_add(period),
                    Policy::Delay => now.saturating_add(period),
                    Policy::Skip => {
                        let over = now.saturating_sub(nominal) / period;
                        let next =
                            u128::from(nominal) + (u128::from(over) + 1) * u128::from(period);
                        u64::try_from(next).unwrap_or(u64::MAX)
                    }
                })
            }
            Kind::After(span) if !panicked => Some(now.saturating_add(span)),
            Kind::At(span) if !panicked => {
                let told = due.saturating_mul(tick);
                Some(told.saturating_add(span))
            }
            // It waits between its attempts for as long as the backoff says: a nanosecond.
            Kind::Fallible => Some(now.saturating_add(1)),
            Kind::Once | Kind::After(_) | Kind::At(_) => None,
        };
        match next.filter(|_| !stopped) {
            Some(next) => {
                timer.nominal = next;
                timer.deadline = next;
                timer.fresh = true;
                let armed = self.due(next);
                self.timers.get_mut(&id).unwrap().armed = armed;
            }
            None => drop(self.timers.remove(&id)),
        }
    }
}
