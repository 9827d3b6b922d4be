//! The sequential timer: what it answers, one thing after the other.

use crate::order::Sequential;

/// What may be done to a timer, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Did {
    /// A re-arm: whether it was accepted.
    Rearmed { due: u64, done: bool },
    /// A cancel: whether it stopped the timer, or else met its callback, if it says so.
    Canceled { done: bool, running: Option<bool> },
    /// A waiting cancel has waited.
    Waited,
    /// A question for the deadline.
    Asked { due: Option<u64> },
    /// An advance to a tick began.
    Begun { target: u64 },
    /// The driver took the timer, for its callback.
    Fired { at: u64, due: u64 },
    /// The callback armed it again: whether it was allowed to.
    Again {
        at: u64,
        due: u64,
        target: u64,
        done: bool,
    },
    /// The callback returned.
    Ended,
    /// An advance to a tick left it alone from here on.
    NotFired { target: u64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Timer {
    /// Its deadline, while it is armed.
    armed: Option<u64>,
    /// The advance under way has to fire it.
    claimed: bool,
    /// Its callback runs.
    running: bool,
    /// Its callback may not arm it again.
    revoked: bool,
}

impl Timer {
    pub(crate) fn armed(due: u64) -> Self {
        Self {
            armed: Some(due),
            ..Self::default()
        }
    }

    /// What becomes of it, if that is what it would have answered.
    pub(crate) fn after(mut self, did: Did) -> Option<Self> {
        let fits = match did {
            Did::Rearmed { due, done } => {
                if self.armed.is_some() {
                    (self.armed, self.claimed) = (Some(due), false);
                    done
                } else {
                    !done
                }
            }
            Did::Canceled { done, running } => {
                let was = (self.armed.take().is_some(), self.running);
                self.claimed = false;
                self.revoked |= self.running;
                match was {
                    (true, _) => done,
                    (false, was) => !done && running.is_none_or(|running| running == was),
                }
            }
            Did::Waited => !self.running,
            Did::Asked { due } => due == self.armed,
            Did::Begun { target } => {
                self.claimed = self.armed.is_some_and(|due| due <= target);
                true
            }
            Did::Fired { at, due } => {
                let fits = self.armed == Some(due) && due <= at && !self.running;
                (self.armed, self.claimed) = (None, false);
                (self.running, self.revoked) = (true, false);
                fits
            }
            Did::Again {
                at,
                due,
                target,
                done,
            } => {
                let may = self.running && !self.revoked && self.armed.is_none();
                if may {
                    self.armed = Some(due);
                    self.claimed = at < due && due <= target;
                }
                self.running && may == done
            }
            Did::Ended => {
                let fits = self.running;
                (self.running, self.revoked) = (false, false);
                fits
            }
            // What is due never is not asked for.
            Did::NotFired { target } => !(self.claimed && self.armed <= Some(target)),
        };
        fits.then_some(self)
    }
}

impl Sequential for Timer {
    type Did = Did;

    fn after(&self, did: &Did) -> impl IntoIterator<Item = Self> {
        Self::after(*self, *did)
    }
}
