//! Leases of one resource.

use std::sync::{Arc, Mutex};

use tickwheel::{AcquireError, EndReason, Grant, Leases, Lost, Timers};

use crate::kind::{Kind, Model, Pick, nanos, time};
use crate::race::dawdle;

const TTL: u64 = 10;
const MAX_HOLD: u64 = 25;
const DELAY: u64 = 3;

/// An end that was told: token, why, deadline.
pub(crate) type End = (u64, EndReason, u64);

#[derive(Clone, Debug)]
pub(crate) enum Did {
    /// The token, and the deadline at first.
    Acquired(u64, u64),
    /// It was granted to somebody who did not see it in time.
    Taken,
    /// That one was told.
    Lapsed,
    /// By whom, and until when.
    Held(u64, u64),
    /// Until when nobody may have it.
    Delayed(u64),
    /// The deadline, or how it was lost.
    Renew(u64, Result<u64, Lost>),
    Release(u64, Result<(), Lost>),
    /// Which has ended.
    Revoke(Option<u64>),
    /// Who has it.
    Holder(Option<u64>),
    /// Whether a grant lives.
    Status(u64, Result<(), Lost>),
    /// Whoever has done something has seen to what was left to do, at a time that may be later.
    Settled,
    Turned,
    Told(Vec<End>),
}

// --- the model ---

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Alive {
    token: u64,
    deadline: u64,
    cap: u64,
}

/// A cell for the holder, and who it was before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    holder: Option<Alive>,
    /// Before that nobody may have it.
    quiet: u64,
    ends: Vec<End>,
}

impl Cell {
    fn end(&mut self, reason: EndReason, quiet: u64) -> Option<u64> {
        let gone = self.holder.take()?;
        self.ends.push((gone.token, reason, gone.deadline));
        self.quiet = self.quiet.max(quiet);
        Some(gone.token)
    }

    fn expire(&mut self, now: u64) {
        if let Some(deadline) = self.holder.as_ref().map(|alive| alive.deadline) {
            if deadline <= now {
                self.end(EndReason::Absolute, deadline + DELAY);
            }
        }
    }

    /// The holder, if it has that token; or how that was lost.
    fn holds(&mut self, token: u64) -> Result<&mut Alive, Lost> {
        let mut ended = self.ends.iter().filter(|end| end.0 == token);
        let reason = ended.next().map(|end| end.1);
        let lost = if reason == Some(EndReason::Released) {
            Lost::Released
        } else if reason == Some(EndReason::Revoked) {
            Lost::Revoked
        } else {
            Lost::Expired
        };
        let holder = self.holder.as_mut();
        holder.filter(|alive| alive.token == token).ok_or(lost)
    }

    /// Whether it can be had. Tokens are counted from 1.
    fn take(&mut self, now: u64) -> Option<u64> {
        let free = self.holder.is_none() && self.quiet <= now;
        let token = self.ends.len() as u64 + 1;
        free.then(|| {
            self.holder = Some(Alive {
                token,
                deadline: now + TTL.min(MAX_HOLD),
                cap: now + MAX_HOLD,
            });
            token
        })
    }

    fn step(&mut self, now: u64, did: &Did) -> bool {
        self.expire(now);
        match *did {
            Did::Acquired(token, deadline) => {
                self.take(now) == Some(token) && deadline == now + TTL.min(MAX_HOLD)
            }
            Did::Taken => self.take(now).is_some(),
            // Some lease was lost: that it was this one is the order of the two steps.
            Did::Lapsed => self.ends.iter().any(|end| end.1 != EndReason::Released),
            Did::Held(token, deadline) => {
                let holder = self.holder.as_ref();
                holder.is_some_and(|alive| alive.token == token && alive.deadline == deadline)
            }
            Did::Delayed(until) => self.holder.is_none() && until == self.quiet && now < until,
            Did::Renew(token, renewed) => {
                let until = self.holds(token).map(|alive| {
                    alive.deadline = alive.deadline.max((now + TTL).min(alive.cap));
                    alive.deadline
                });
                renewed == until
            }
            Did::Release(token, released) => match self.holds(token).map(|_| ()) {
                Ok(()) => {
                    self.end(EndReason::Released, 0);
                    released == Ok(())
                }
                Err(Lost::Released) => released == Ok(()),
                lost => released == lost,
            },
            Did::Revoke(token) => token == self.end(EndReason::Revoked, now + DELAY),
            Did::Holder(token) => token == self.holder.as_ref().map(|alive| alive.token),
            Did::Status(token, lives) => lives == self.holds(token).map(|_| ()),
            Did::Settled | Did::Turned => true,
            Did::Told(ref told) => {
                self.end(EndReason::Shutdown, 0);
                *told == self.ends
            }
        }
    }
}

impl Model for Cell {
    type Did = Did;

    fn after(&self, now: u64, did: &Did) -> Vec<Self> {
        let mut then = self.clone();
        let mut all = Vec::new();
        if then.step(now, did) {
            if then.holder.is_none() && (1..=now).contains(&then.quiet) {
                // What is over is forgotten, also for those who still believe in an earlier time.
                let quiet = 0;
                all.push(Self {
                    quiet,
                    ..then.clone()
                });
            }
            all.push(then);
        }
        if matches!(did, Did::Settled | Did::Turned) {
            // It may have been too early.
            all.push(self.clone());
        }
        all
    }
}

// --- the real ones ---

pub(crate) struct Real {
    leases: Leases<u8, u8>,
    /// What threads have in hand.
    grants: Mutex<Vec<Grant<u8, u8>>>,
    told: Arc<Mutex<Vec<End>>>,
}

impl Kind for Real {
    type Model = Cell;

    fn new(timers: &Timers) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let leases = Leases::builder()
            .max_hold(nanos(MAX_HOLD))
            .lock_delay(nanos(DELAY))
            .on_end(move |end| {
                dawdle();
                let end: End = (end.generation, end.reason, time(end.deadline));
                log.lock().unwrap().push(end);
            })
            .build(timers);
        Self {
            leases,
            grants: Mutex::default(),
            told,
        }
    }

    fn act(&self, pick: Pick<'_>) -> Vec<Did> {
        let leases = &self.leases;
        let what = pick(12);
        let last = self.grants.lock().unwrap().last().cloned();
        let Some(grant) = last.filter(|_| what > 3) else {
            return match leases.try_acquire(1, 1, nanos(TTL)) {
                Ok(grant) => {
                    // Nobody else can renew it yet.
                    let did = Did::Acquired(grant.token().get(), time(grant.deadline()));
                    self.grants.lock().unwrap().push(grant);
                    vec![did, Did::Settled]
                }
                Err(AcquireError::Held { token, deadline }) => {
                    vec![Did::Held(token.get(), time(deadline)), Did::Settled]
                }
                Err(AcquireError::Delayed { until }) => {
                    vec![Did::Delayed(time(until)), Did::Settled]
                }
                Err(AcquireError::Lapsed) => vec![Did::Taken, Did::Lapsed, Did::Settled],
                Err(other) => panic!("{other}"),
            };
        };
        let token = grant.token().get();
        let did = match what {
            4..7 => Did::Renew(token, leases.renew(&grant).map(time)),
            7 | 8 => Did::Release(token, leases.release(&grant)),
            9 => Did::Revoke(leases.revoke(&1).map(tickwheel::FencingToken::get)),
            10 => Did::Holder(leases.holder(&1).map(|holding| holding.token().get())),
            _ => Did::Status(token, grant.status().map(|_| ())),
        };
        vec![did, Did::Settled]
    }

    fn turned() -> Did {
        Did::Turned
    }

    fn end(self) -> Did {
        drop(self.leases);
        Did::Told(self.told.lock().unwrap().clone())
    }
}
