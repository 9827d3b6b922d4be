//! Leases of two resources. The model: for each a cell with who holds it, and until when nobody may.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::snapshot::LeasesSnapshot;
use tickwheel::{AcquireError, EndReason, Grant, Leases, Lost, Timers};

use crate::ends::Ends;
use crate::world::{Cx, Passage};

const TTL: u64 = 20;
const MAX_HOLD: u64 = 50;
const DELAY: u64 = 4;

#[derive(Clone, Debug)]
pub(crate) enum Do {
    Acquire(u8),
    Renew(usize),
    Release(usize),
    Status(usize),
    Revoke(u8),
    Holder(u8),
    Count,
}

impl Do {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let (of, which) = (rng.random_range(0..2), rng.random_range(0..4));
        match rng.random_range(0..14) {
            0..=4 => Self::Acquire(of),
            5..=7 => Self::Renew(which),
            8 | 9 => Self::Release(which),
            10 => Self::Status(which),
            11 => Self::Revoke(of),
            12 => Self::Holder(of),
            _ => Self::Count,
        }
    }
}

#[derive(Clone, Debug)]
struct Alive {
    token: u64,
    holder: u64,
    deadline: u64,
    cap: u64,
}

#[derive(Default)]
struct Cell {
    holder: Option<Alive>,
    quiet: u64,
}

/// A grant that somebody holds on to.
struct Hand {
    of: u8,
    token: u64,
    /// Of this process, or of one before.
    grant: Grant<u8, u64>,
    stale: bool,
    /// How it has ended, if it has.
    ended: Option<Lost>,
}

#[derive(Default)]
pub(crate) struct Part {
    real: Option<Leases<u8, u64>>,
    saved: Option<LeasesSnapshot<u8, u64>>,
    cells: [Cell; 2],
    hands: Vec<Hand>,
    last: u64,
    pub(crate) ends: Ends,
}

// --- the process ---

impl Part {
    pub(crate) fn start(&mut self, timers: &Timers, passage: &Passage) -> Result<(), String> {
        let log = self.ends.open();
        let real = Leases::builder()
            .max_hold(Duration::from_nanos(MAX_HOLD))
            .lock_delay(Duration::from_nanos(DELAY))
            .on_end(move |end| {
                let told = (end.reason, end.deadline.as_nanos(), *end.value);
                log.lock().unwrap().push((end.generation, told));
            })
            .build(timers);
        if let Some(saved) = self.saved.take() {
            let report = real
                .restore(saved, passage.options())
                .map_err(|error| error.to_string())?;
            let live = self
                .cells
                .iter()
                .filter(|cell| cell.holder.is_some())
                .count();
            if report.restored != live {
                return Err(format!("{report:?}, and should be {live}"));
            }
        }
        for hand in &mut self.hands {
            let token = tickwheel::FencingToken::new(hand.token);
            let holder = &self.cells[usize::from(hand.of)].holder;
            let lives = holder
                .as_ref()
                .is_some_and(|alive| alive.token == hand.token);
            match (real.resume(&hand.of, token), lives) {
                (Some(grant), true) => hand.grant = grant,
                (None, false) => hand.stale = true,
                _ => return Err(format!("{token} is resumed, and should be: {lives}")),
            }
        }
        self.real = Some(real);
        Ok(())
    }

    pub(crate) fn stop(&mut self, passage: &Passage) {
        let real = self.real.take().expect("it runs");
        self.saved = Some(real.snapshot_at(passage.anchor));
        drop(real);
        for cell in &self.cells {
            if let Some(alive) = &cell.holder {
                let end = (EndReason::Shutdown, alive.deadline, alive.holder);
                self.ends.add(alive.token, end);
            }
        }
    }
}

// --- the model ---

impl Part {
    pub(crate) fn settle(&mut self, now: u64) {
        for of in 0..2 {
            let holder = self.cells[of].holder.as_ref();
            if let Some(deadline) = holder.map(|alive| alive.deadline).filter(|at| *at <= now) {
                self.end(of as u8, EndReason::Absolute, deadline + DELAY);
            }
        }
    }

    fn end(&mut self, of: u8, reason: EndReason, quiet: u64) -> Option<u64> {
        let cell = &mut self.cells[usize::from(of)];
        let gone = cell.holder.take()?;
        cell.quiet = cell.quiet.max(quiet);
        let ways = [
            (EndReason::Released, Lost::Released),
            (EndReason::Revoked, Lost::Revoked),
        ];
        let way = ways.iter().find(|(way, _)| *way == reason);
        let lost = way.map_or(Lost::Expired, |(_, lost)| *lost);
        for hand in self
            .hands
            .iter_mut()
            .filter(|hand| hand.token == gone.token)
        {
            hand.ended = Some(lost);
        }
        self.ends
            .add(gone.token, (reason, gone.deadline, gone.holder));
        Some(gone.token)
    }

    /// One of the last few grants, and what may be done with it.
    fn pick(&self, which: usize) -> Option<(usize, Result<(), Lost>)> {
        let number = self.hands.len().checked_sub(which % 4 + 1)?;
        let hand = &self.hands[number];
        let may = match hand.ended {
            _ if hand.stale => Err(Lost::Foreign),
            Some(lost) => Err(lost),
            None => Ok(()),
        };
        Some((number, may))
    }
}

// --- both ---

impl Part {
    pub(crate) fn act(&mut self, what: &Do, cx: &Cx<'_>) -> Result<String, String> {
        let real = self.real.clone().expect("it runs");
        let renewed = |cap: u64| cx.now.saturating_add(TTL).min(cap);
        Ok(match *what {
            Do::Acquire(of) => {
                let holder = u64::from(cx.thread);
                let acquired = real.try_acquire(of, holder, Duration::from_nanos(TTL));
                let cell = &mut self.cells[usize::from(of)];
                let refused = match &cell.holder {
                    Some(alive) => Some((Some(alive.token), alive.deadline)),
                    None if cx.now < cell.quiet => Some((None, cell.quiet)),
                    None => None,
                };
                match acquired {
                    Ok(grant) => {
                        let token = grant.token().get();
                        if refused.is_some() || token <= self.last {
                            return Err(format!("{token} after {}, {refused:?}", self.last));
                        }
                        self.last = token;
                        let cap = cx.now.saturating_add(MAX_HOLD);
                        let deadline = renewed(cap);
                        cx.same("deadline", &grant.deadline().as_nanos(), &deadline)?;
                        cell.holder = Some(Alive {
                            token,
                            holder,
                            deadline,
                            cap,
                        });
                        let (stale, ended) = (false, None);
                        self.hands.push(Hand {
                            of,
                            token,
                            grant,
                            stale,
                            ended,
                        });
                        format!("has {of}, by {token}")
                    }
                    Err(AcquireError::Held { token, deadline }) => {
                        let is = Some((Some(token.get()), deadline.as_nanos()));
                        cx.same("refused", &is, &refused)?
                    }
                    Err(AcquireError::Delayed { until }) => {
                        cx.same("refused", &Some((None, until.as_nanos())), &refused)?
                    }
                    Err(other) => return Err(other.to_string()),
                }
            }
            Do::Renew(which) => {
                let Some((number, may)) = self.pick(which) else {
                    return Ok(String::new());
                };
                let hand = &self.hands[number];
                let is = real.renew(&hand.grant).map(|until| until.as_nanos());
                let holder = self.cells[usize::from(hand.of)].holder.as_mut();
                let until = may.map(|()| {
                    let alive = holder.expect("it is held");
                    alive.deadline = alive.deadline.max(renewed(alive.cap));
                    alive.deadline
                });
                cx.same(&format!("renews {}", hand.token), &is, &until)?
            }
            Do::Release(which) => {
                let Some((number, may)) = self.pick(which) else {
                    return Ok(String::new());
                };
                let (of, token) = (self.hands[number].of, self.hands[number].token);
                let is = real.release(&self.hands[number].grant);
                let released = match may {
                    Ok(()) => {
                        self.end(of, EndReason::Released, 0);
                        Ok(())
                    }
                    Err(Lost::Released) => Ok(()),
                    lost => lost,
                };
                cx.same(&format!("releases {token}"), &is, &released)?
            }
            Do::Status(which) => {
                let Some((number, may)) = self.pick(which) else {
                    return Ok(String::new());
                };
                let hand = &self.hands[number];
                if hand.stale {
                    // That is between it and the process before.
                    return Ok(String::new());
                }
                let is = hand.grant.status().map(|left| left.as_nanos() as u64);
                let holder = self.cells[usize::from(hand.of)].holder.as_ref();
                let left = may.map(|()| holder.expect("it is held").deadline - cx.now);
                cx.same(&format!("status of {}", hand.token), &is, &left)?
            }
            Do::Revoke(of) => {
                let token = real.revoke(&of).map(tickwheel::FencingToken::get);
                let expected = self.end(of, EndReason::Revoked, cx.now + DELAY);
                cx.same(&format!("revokes {of}"), &token, &expected)?
            }
            Do::Holder(of) => {
                let is = real
                    .holder(&of)
                    .map(|holding| (holding.token().get(), *holding.holder()));
                let holder = self.cells[usize::from(of)].holder.as_ref();
                let expected = holder.map(|alive| (alive.token, alive.holder));
                cx.same(&format!("holder of {of}"), &is, &expected)?
            }
            Do::Count => {
                let held = self
                    .cells
                    .iter()
                    .filter(|cell| cell.holder.is_some())
                    .count();
                cx.same("counts", &real.len(), &held)?
            }
        })
    }
}
