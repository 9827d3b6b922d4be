//! Guards of leases, which the driver renews. The model says what may be, not when a guard asks: while it believes in its lease, the
//! lease is its own, unless somebody else has just ended it; a renewal is for as long as one asked for now would be; and
//! when the driver has come by, two thirds of the time are left to it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::{AcquireError, LeaseGuard, LeaseGuardOptions, Leases, Loss};

use crate::cx::Cx;
use crate::fuse;
use crate::leases::{Alive, Hand, MAX_HOLD, Part, TTL};

#[derive(Clone, Debug)]
pub(crate) enum Do {
    Hold(u8),
    Look(usize),
    Drop(usize),
    Detach(usize),
}

impl Do {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let which = rng.random_range(0..2);
        match rng.random_range(0..8) {
            0..=3 => Self::Hold(rng.random_range(0..2)),
            4 | 5 => Self::Look(which),
            6 => Self::Drop(which),
            _ => Self::Detach(which),
        }
    }
}

struct Kept {
    of: u8,
    token: u64,
    cap: u64,
    guard: Option<LeaseGuard<Leases<u8, u64>>>,
    /// Until when it is known to believe in its lease.
    until: u64,
    lost: bool,
    told: Arc<Mutex<Vec<Loss>>>,
}

#[derive(Default)]
pub(crate) struct Keepers {
    all: Vec<Kept>,
    /// How many are lost, and how many renewals there were.
    pub(crate) counts: [usize; 2],
}

impl Part {
    pub(crate) fn keep(&mut self, what: &Do, cx: &Cx<'_>) -> Result<String, String> {
        let pick = |which: &usize| self.keepers.all.len().checked_sub(which + 1);
        match what {
            Do::Hold(of) => self.hold(*of, cx),
            Do::Look(which) => {
                let Some(number) = pick(which) else {
                    return Ok(String::new());
                };
                let kept = &self.keepers.all[number];
                let Some(guard) = &kept.guard else {
                    return Ok(String::new());
                };
                let is = guard.is_lost();
                cx.same(&format!("guard of {} is lost", kept.token), &is, &kept.lost)
            }
            Do::Drop(which) | Do::Detach(which) => {
                let Some(number) = pick(which) else {
                    return Ok(String::new());
                };
                self.let_go(number, matches!(what, Do::Detach(_)), cx.now)
            }
        }
    }

    fn hold(&mut self, of: u8, cx: &Cx<'_>) -> Result<String, String> {
        let real = self.real.clone().expect("it runs");
        let (holder, ttl) = (100 + u64::from(cx.thread), Duration::from_nanos(TTL));
        let acquired = real.try_acquire(of, holder, ttl);
        self.woken(cx.now)?;
        let cell = &mut self.cells[usize::from(of)];
        let free = cell.holder.is_none() && cx.now >= cell.quiet;
        let grant = match acquired {
            Ok(grant) => grant,
            Err(AcquireError::Full) => return cx.full(),
            Err(_) => return cx.same("free", &false, &free),
        };
        cx.same("free", &true, &free)?;
        let (token, cap) = (grant.token().get(), cx.now.saturating_add(MAX_HOLD));
        let until = cx.now.saturating_add(TTL).min(cap);
        if token <= self.last {
            return Err(format!("{token} after {}", self.last));
        }
        self.last = token;
        cell.holder = Some(Alive {
            token,
            holder,
            deadline: until,
            cap,
        });
        let (stale, ended) = (false, None);
        self.hands.push(Hand {
            of,
            token,
            grant: grant.clone(),
            stale,
            ended,
        });
        let told = Arc::new(Mutex::new(Vec::new()));
        let tells = Arc::clone(&told);
        let options = LeaseGuardOptions::new(cx.timers).on_lost(move |loss| {
            tells.lock().unwrap().push(loss);
            fuse::burn(token);
        });
        match options.keep(real, grant.clone(), ttl, grant.deadline()) {
            Ok(guard) => {
                self.keepers.all.push(Kept {
                    of,
                    token,
                    cap,
                    guard: Some(guard),
                    until,
                    lost: false,
                    told,
                });
                Ok(format!("has {of}, guarded, by {token}"))
            }
            // It has been given back.
            Err(_) => {
                self.end(of, tickwheel::EndReason::Released, 0, cx.now);
                self.handed_on(of, cx.now)?;
                cx.full()
            }
        }
    }

    fn let_go(&mut self, number: usize, detach: bool, now: u64) -> Result<String, String> {
        let kept = &mut self.keepers.all[number];
        let (of, token) = (kept.of, kept.token);
        let Some(guard) = kept.guard.take() else {
            return Ok(String::new());
        };
        if detach {
            drop(guard.detach());
            return Ok(format!("{token} is guarded no more"));
        }
        drop(guard);
        let holder = self.cells[usize::from(of)].holder.as_ref();
        if holder.is_some_and(|alive| alive.token == token) {
            self.end(of, tickwheel::EndReason::Released, 0, now);
            self.handed_on(of, now)?;
        } else {
            self.woken(now)?;
        }
        Ok(format!("the guard of {token} is dropped"))
    }

    /// Takes note of what the driver has renewed, and of what was lost.
    pub(crate) fn kept(&mut self, now: u64) -> Result<(), String> {
        for kept in &mut self.keepers.all {
            let Some(guard) = &kept.guard else { continue };
            let token = kept.token;
            let holder = self.cells[usize::from(kept.of)].holder.as_mut();
            let holder = holder.filter(|alive| alive.token == token);
            let renewed = now.saturating_add(TTL).min(kept.cap);
            match guard.deadline().map(|until| until.as_nanos()) {
                _ if kept.lost && guard.is_lost() => {}
                Some(until) if !kept.lost && until > now => {
                    if until == kept.until {
                        continue;
                    }
                    let Some(alive) = holder else {
                        return Err(format!("{token} is renewed, and is not held"));
                    };
                    // Somebody else may have renewed it before, when the clock was ahead.
                    alive.deadline = alive.deadline.max(renewed);
                    if until != alive.deadline {
                        return Err(format!("{token} is renewed until {until}, not {renewed}"));
                    }
                    self.keepers.counts[1] += 1;
                    kept.until = until;
                }
                None if holder.is_none() || kept.until <= now => {
                    kept.lost = true;
                    self.keepers.counts[0] += 1;
                }
                until => return Err(format!("{token} is believed in until {until:?}")),
            }
            let told = kept.told.lock().unwrap();
            if told.len() != usize::from(kept.lost) {
                return Err(format!(
                    "of {token}, lost: {}, {told:?} was told",
                    kept.lost
                ));
            }
        }
        Ok(())
    }

    /// The driver has come by: what is guarded and was not lost has two thirds of its time left.
    pub(crate) fn kept_up(&mut self, cx: &Cx<'_>) -> Result<(), String> {
        self.kept(cx.now)?;
        for kept in &self.keepers.all {
            let least = cx.now.saturating_add(TTL - TTL / 3).min(kept.cap);
            let kept_up = kept.lost || kept.until.saturating_add(cx.tick) >= least;
            if kept.guard.is_some() && cx.config.limit.is_none() && !kept_up {
                return Err(format!(
                    "{} lives until {} at {}",
                    kept.token, kept.until, cx.now
                ));
            }
        }
        Ok(())
    }

    /// The process stops: all are dropped.
    pub(crate) fn drop_guards(&mut self, now: u64) -> Result<(), String> {
        for number in 0..self.keepers.all.len() {
            self.let_go(number, false, now)?;
        }
        self.keepers.all.clear();
        Ok(())
    }
}
