//! Timers with callbacks. The model: a map from numbers to deadlines.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::{ArmError, Shutdown, TimerKey, Timestamp};

use crate::cx::Cx;
use crate::fuse;
use crate::program::{self, Theme, part, span};
use crate::world::World;

#[derive(Clone, Debug)]
pub(crate) enum Do {
    /// Calls back after that, and does that then.
    Arm(u64, Option<Box<program::Do>>),
    /// Calls back after that, and panics.
    Fuse(u64),
    Cancel(usize),
    Rearm(usize, u64),
    Disarm(usize),
    Look(usize),
}

impl Do {
    pub(crate) fn draw(rng: &mut SmallRng, theme: Theme, outer: bool) -> Self {
        let which = rng.random_range(0..6);
        match rng.random_range(0..12) {
            0..=4 => {
                let then = outer.then(|| Box::new(part(rng, theme, false)));
                Self::Arm(span(rng), then)
            }
            5 => Self::Fuse(span(rng)),
            6 | 7 => Self::Cancel(which),
            8 | 9 => Self::Rearm(which, span(rng)),
            10 => Self::Disarm(which),
            _ => Self::Look(which),
        }
    }
}

#[derive(Default)]
pub(crate) struct Part {
    /// Those of earlier processes too.
    keys: Vec<TimerKey>,
    /// `None` while it is suspended.
    armed: BTreeMap<usize, Option<u64>>,
    pub(crate) fired: usize,
}

impl Part {
    /// One of the last few.
    fn pick(&self, which: usize) -> Option<(usize, TimerKey)> {
        let number = self.keys.len().checked_sub(which % 6 + 1)?;
        Some((number, self.keys[number]))
    }

    pub(crate) fn act(
        &mut self,
        what: &Do,
        cx: &Cx<'_>,
        world: &Arc<World>,
    ) -> Result<String, String> {
        let timers = cx.timers;
        Ok(match what {
            Do::Arm(after, _) | Do::Fuse(after) => {
                let number = self.keys.len();
                let (weak, what) = (Arc::downgrade(world), what.clone());
                let deadline = Timestamp::from_nanos(cx.now.saturating_add(*after));
                let key = timers.arm_at(deadline, move |firing| {
                    let Some(world) = weak.upgrade() else { return };
                    world.fire(
                        number,
                        firing.now().as_nanos(),
                        firing.deadline().as_nanos(),
                    );
                    if let Do::Arm(_, Some(then)) = &what {
                        world.nested(then);
                    } else if let Do::Fuse(_) = what {
                        fuse::blow();
                    }
                });
                let key = match key {
                    Ok(key) => key,
                    Err(ArmError::Full) => return cx.full(),
                    Err(other) => return Err(other.to_string()),
                };
                // What was moved far while there was no room has taken places that stay.
                if cx
                    .config
                    .limit
                    .is_some_and(|limit| timers.len() > 2 * limit)
                {
                    return Err(format!("{} timers", timers.len()));
                }
                self.keys.push(key);
                self.armed.insert(number, Some(deadline.as_nanos()));
                format!("timer {number}")
            }
            Do::Cancel(which) => {
                let Some((number, key)) = self.pick(*which) else {
                    return Ok(String::new());
                };
                let was = self.armed.remove(&number).is_some();
                let cancelled = timers.cancel(key).is_cancelled();
                cx.same(&format!("cancelled {number}"), &cancelled, &was)?
            }
            Do::Rearm(which, after) => {
                let Some((number, key)) = self.pick(*which) else {
                    return Ok(String::new());
                };
                let to = cx.now.saturating_add(*after);
                let armed = self.armed.get_mut(&number).map(|armed| *armed = Some(to));
                let moved = timers.rearm_at(key, Timestamp::from_nanos(to)).ok();
                cx.same(&format!("moved {number} to {to}"), &moved, &armed)?
            }
            Do::Disarm(which) => {
                let Some((number, key)) = self.pick(*which) else {
                    return Ok(String::new());
                };
                let armed = self.armed.get_mut(&number).map(|armed| *armed = None);
                cx.same(
                    &format!("suspended {number}"),
                    &timers.disarm(key).ok(),
                    &armed,
                )?
            }
            Do::Look(which) => {
                let Some((number, key)) = self.pick(*which) else {
                    return Ok(String::new());
                };
                // A deadline is known to a tick, rounded up; of a timer that is suspended it is never.
                let armed = self.armed.get(&number).map(|at| at.unwrap_or(u64::MAX));
                let is = timers.deadline(key).map(|at| at.as_nanos());
                let tick = |at: u64| at.div_ceil(cx.tick).saturating_mul(cx.tick);
                cx.same(&format!("deadline of {number}"), &is, &armed.map(tick))?
            }
        })
    }

    /// A callback is called.
    pub(crate) fn fire(&mut self, number: usize, now: u64, tick: u64) -> Result<String, String> {
        self.fired += 1;
        match self.armed.remove(&number) {
            Some(Some(deadline)) if deadline.div_ceil(tick) * tick <= now => {
                Ok(format!("timer {number} fires"))
            }
            is => Err(format!("timer {number} fires at {now}, and is {is:?}")),
        }
    }

    /// The driver has done all that was to do.
    pub(crate) fn driven(&self, now: u64, tick: u64) -> Result<(), String> {
        let due = |at: &Option<u64>| at.is_some_and(|at| at.div_ceil(tick) <= now / tick);
        match self.armed.iter().find(|(_, at)| due(at)) {
            Some((number, at)) => Err(format!("timer {number} of {at:?} has not fired at {now}")),
            None => Ok(()),
        }
    }

    /// The runtime was shut down: what was to fire has fired, what was to be handed back is there.
    pub(crate) fn ended(
        &self,
        mode: Shutdown,
        unfired: &[TimerKey],
        cx: &Cx<'_>,
    ) -> Result<(), String> {
        let number = |key| self.keys.iter().rposition(|other| other == key);
        let mut is: Vec<_> = unfired.iter().map(number).collect();
        is.sort();
        let should: Vec<_> = match mode {
            Shutdown::HandBack => self.armed.keys().map(|number| Some(*number)).collect(),
            Shutdown::Drop | Shutdown::FireDue => Vec::new(),
        };
        cx.same("handed back", &is, &should)?;
        match mode {
            Shutdown::FireDue => self.driven(cx.now, cx.tick),
            Shutdown::Drop | Shutdown::HandBack => Ok(()),
        }
    }

    /// All are dropped.
    pub(crate) fn stop(&mut self) {
        self.armed.clear();
    }
}
