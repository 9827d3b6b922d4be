//! Leases of two resources. The model: for each a cell with who holds it, and until when nobody may.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::snapshot::LeasesSnapshot;
use tickwheel::{AcquireError, EndReason, Grant, Leases, Lost, Timers};

use crate::cx::Cx;
use crate::ends::Ends;
use crate::keepers::Keepers;
use crate::process::Passage;
use crate::program::span;
use crate::waiting::Waiting;

pub(crate) const TTL: u64 = 20;
pub(crate) const MAX_HOLD: u64 = 50;
const DELAY: u64 = 4;

#[derive(Clone, Debug)]
pub(crate) enum Do {
    Acquire(u8),
    /// For that long at most.
    Wait(u8, Option<u64>),
    /// Whoever waits asks again, or leaves.
    Poll(usize),
    Leave(usize),
    Waiters(u8),
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
        match rng.random_range(0..24) {
            0..=3 => Self::Acquire(of),
            4..=6 => Self::Wait(of, None),
            7 => Self::Wait(of, Some(span(rng))),
            8..=11 => Self::Poll(which),
            12 | 13 => Self::Leave(which),
            14 => Self::Waiters(of),
            15..=17 => Self::Renew(which),
            18 | 19 => Self::Release(which),
            20 => Self::Status(which),
            21 => Self::Revoke(of),
            22 => Self::Holder(of),
            _ => Self::Count,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Alive {
    pub(crate) token: u64,
    pub(crate) holder: u64,
    pub(crate) deadline: u64,
    pub(crate) cap: u64,
}

#[derive(Default)]
pub(crate) struct Cell {
    pub(crate) holder: Option<Alive>,
    /// Before that nobody may have it.
    pub(crate) quiet: u64,
    /// Since when nobody has it.
    pub(crate) free_at: u64,
}

/// A grant that somebody holds on to.
pub(crate) struct Hand {
    pub(crate) of: u8,
    pub(crate) token: u64,
    /// Of this process, or of one before.
    pub(crate) grant: Grant<u8, u64>,
    pub(crate) stale: bool,
    /// How it has ended, if it has.
    pub(crate) ended: Option<Lost>,
}

#[derive(Default)]
pub(crate) struct Part {
    pub(crate) real: Option<Leases<u8, u64>>,
    saved: Option<LeasesSnapshot<u8, u64>>,
    pub(crate) cells: [Cell; 2],
    pub(crate) hands: Vec<Hand>,
    pub(crate) waiting: Waiting,
    pub(crate) keepers: Keepers,
    /// The largest token there was.
    pub(crate) last: u64,
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
                log.tell(end.generation, told);
            })
            .build(timers);
        if let Some(saved) = self.saved.take() {
            let report = real
                .restore(saved, passage.options())
                .map_err(|error| error.to_string())?;
            let live = self.held();
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

    pub(crate) fn save(&mut self, passage: &Passage, now: u64) -> Result<(), String> {
        let real = self.real.as_ref().expect("it runs");
        self.saved = Some(real.snapshot_at(passage.anchor));
        self.woken(now)
    }

    pub(crate) fn stop(&mut self) {
        self.real = None;
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
    /// Looks at all, after which the clock goes back. A lock delay that was seen to be over stays so.
    pub(crate) fn look(&mut self, now: u64) -> Result<(), String> {
        let real = self.real.clone().expect("it runs");
        for cell in &mut self.cells {
            cell.quiet = if cell.quiet <= now { 0 } else { cell.quiet };
        }
        for of in 0..2 {
            let (is, should) = (real.waiters(&of), self.waiters(of, now)?);
            if is != should {
                return Err(format!("{is} wait for {of}, and should be {should}"));
            }
        }
        let (is, should) = (real.len(), self.held());
        if is != should {
            return Err(format!("{is} are held, and should be {should}"));
        }
        Ok(())
    }

    fn held(&self) -> usize {
        let held = self.cells.iter().filter(|cell| cell.holder.is_some());
        held.count()
    }

    pub(crate) fn settle(&mut self, now: u64) {
        for of in 0..2 {
            let holder = self.cells[of].holder.as_ref();
            if let Some(deadline) = holder.map(|alive| alive.deadline).filter(|at| *at <= now) {
                self.end(of as u8, EndReason::Absolute, deadline + DELAY, deadline);
            }
        }
    }

    /// Ends a lease at that time, after which nobody may have it before `quiet`, if it was lost.
    pub(crate) fn end(&mut self, of: u8, reason: EndReason, quiet: u64, at: u64) -> Option<u64> {
        let cell = &mut self.cells[usize::from(of)];
        let gone = cell.holder.take()?;
        cell.free_at = at;
        if reason != EndReason::Released {
            cell.quiet = quiet;
        }
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
                self.woken(cx.now)?;
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
                    Err(AcquireError::Full) => cx.full()?,
                    Err(other) => return Err(other.to_string()),
                }
            }
            Do::Wait(of, timeout) => self.wait(&real, of, timeout, cx)?,
            Do::Poll(which) => self.ask_again(which, cx)?,
            Do::Leave(which) => self.leave(which, cx.now)?,
            Do::Waiters(of) => self.count_waiting(&real, of, cx)?,
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
                        self.end(of, EndReason::Released, 0, cx.now);
                        self.handed_on(of, cx.now)?;
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
                let expected = self.end(of, EndReason::Revoked, cx.now + DELAY, cx.now);
                self.handed_on(of, cx.now)?;
                cx.same(&format!("revokes {of}"), &token, &expected)?
            }
            Do::Holder(of) => {
                let is = real
                    .holder(&of)
                    .map(|holding| (holding.token().get(), *holding.holder()));
                self.woken(cx.now)?;
                let holder = self.cells[usize::from(of)].holder.as_ref();
                let expected = holder.map(|alive| (alive.token, alive.holder));
                cx.same(&format!("holder of {of}"), &is, &expected)?
            }
            Do::Count => {
                let is = real.len();
                self.woken(cx.now)?;
                cx.same("counts", &is, &self.held())?
            }
        })
    }
}
