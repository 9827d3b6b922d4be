//! What renews a lease: when to ask, what an answer means, when it is lost.
//!
//! The holder's own deadline is one word, as that of the lessor is: an answer moves it later while
//! it lives, and whoever ends it tells of the loss. What is to be asked when is behind a lock, under
//! which nobody's code runs.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::OnceLock;

use super::lessor::{Hears, Renewal};
use super::{FencingToken, Lessor, Loss, locked};
use crate::sync::Mutex;
use crate::typed::alarm::Alarm;
use crate::typed::deadline::{Deadline, Expiry};
use crate::typed::panics::Panics;
use crate::{ArmError, Timers, Timestamp};

/// A third of the time to live between renewals, so that two may fail; and a third of that when
/// one has.
const PART: u32 = 3;

/// The least time between two requests: they come with different ticks.
const INSTANT: Duration = Duration::from_nanos(1);

pub(super) struct Keeper<L: Lessor> {
    pub(super) timers: Timers,
    pub(super) lessor: L,
    pub(super) grant: L::Grant,
    pub(super) token: FencingToken,
    /// What is asked for; zero for whatever the lessor gives.
    ttl: Duration,
    /// In hundredths of the time between renewals.
    jitter: u32,
    /// Until when the holder may believe in it.
    pub(super) deadline: Deadline,
    plan: Mutex<Plan>,
    loss: OnceLock<Loss>,
    watchers: Mutex<Watchers>,
    alarm: Alarm,
    hooks: Hooks,
}

/// What the holder wants to be told.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) on_lost: Option<Box<dyn Fn(Loss) + Send + Sync>>,
    pub(super) on_risk: Option<Box<dyn Fn(Duration) + Send + Sync>>,
}

struct Plan {
    stopped: bool,
    /// When to ask again.
    ask_at: Timestamp,
    asked: u64,
    /// When the lessor was asked last.
    asked_at: Timestamp,
    /// For how long the lessor has let it live last, and no longer than was asked for: renewals go by that.
    life: Duration,
    /// The larger of the last two: near the longest hold one falls short, and the risk begins no later for
    /// that.
    term: Duration,
    /// The holder was told that it is at risk.
    warned: bool,
}

#[derive(Default)]
struct Watchers {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Plan {
    fn risk_at(&self, until: Timestamp) -> Timestamp {
        if until.is_never() {
            return until;
        }
        earlier(until, self.term / PART)
    }
}

impl<L: Lessor> Keeper<L> {
    pub(super) fn new(
        timers: Timers,
        (lessor, grant, token): (L, L::Grant, FencingToken),
        (ttl, life): (Duration, Duration),
        deadline: Timestamp,
        jitter: u32,
        hooks: Hooks,
    ) -> Arc<Self> {
        let now = timers.now();
        let life = at_most(ttl, life);
        // It was asked for that long before its deadline, or it lives longer than it has to.
        let asked_at = if deadline.is_never() {
            now
        } else {
            earlier(deadline, life).min(now)
        };
        let keeper = Self {
            timers,
            token,
            lessor,
            grant,
            ttl,
            jitter,
            deadline: Deadline::new(deadline),
            plan: Mutex::new(Plan {
                stopped: false,
                ask_at: Timestamp::NEVER,
                asked: 0,
                asked_at,
                life,
                term: life,
                warned: false,
            }),
            loss: OnceLock::new(),
            watchers: Mutex::default(),
            alarm: Alarm::default(),
            hooks,
        };
        let first = asked_at.saturating_add(keeper.pause(life, 0)).max(now);
        locked(&keeper.plan).ask_at = first;
        Arc::new(keeper)
    }

    /// How long to wait, of that life, before asking for the `count`th time after the first. Some time, always.
    fn pause(&self, life: Duration, count: u64) -> Duration {
        let third = (life / PART).max(INSTANT);
        let seed = self.token.get() ^ count.rotate_left(32);
        sooner(third, self.jitter, mixed(seed))
    }

    /// The moment from which the holder is at risk: two renewals have not been confirmed.
    pub(super) fn risk_at(&self, until: Timestamp) -> Timestamp {
        locked(&self.plan).risk_at(until)
    }

    /// Has the timer follow the plan.
    pub(super) fn follow(self: &Arc<Self>) -> Result<(), ArmError> {
        let target = || {
            let until = self.deadline.get()?;
            let plan = locked(&self.plan);
            if plan.stopped {
                return None;
            }
            let risk = if plan.warned {
                Timestamp::NEVER
            } else {
                plan.risk_at(until)
            };
            Some(plan.ask_at.min(risk).min(until))
        };
        let waker = || Waker::from(Arc::clone(self));
        self.alarm.follow(&self.timers, target, waker)
    }

    /// Loses the lease if its time is over. Says how it was lost.
    pub(super) fn loss(&self) -> Option<Loss> {
        if let Some(loss) = self.loss.get() {
            return Some(*loss);
        }
        let now = self.timers.now();
        if self.deadline.is_live(now) {
            return None;
        }
        self.lose(Loss::Expired, |deadline| {
            matches!(deadline.expire(now), Expiry::Expired(_))
        });
        self.loss.get().copied()
    }

    /// Loses the lease, unless it is lost, or `end` finds that it is not; and tells of it.
    fn lose(&self, loss: Loss, end: impl FnOnce(&Deadline) -> bool) {
        {
            // Whoever finds it ended learns here how.
            let mut plan = locked(&self.plan);
            if !end(&self.deadline) || self.loss.set(loss).is_err() {
                return;
            }
            plan.stopped = true;
        }
        let wakers = core::mem::take(&mut locked(&self.watchers).wakers);
        let mut panics = Panics::default();
        panics.run(|| self.alarm.cancel(&self.timers));
        for waker in wakers.into_values() {
            panics.run(|| waker.wake());
        }
        if let (Some(on_lost), true) = (&self.hooks.on_lost, is_told(loss)) {
            panics.run(|| on_lost(loss));
        }
        panics.end();
    }

    /// Loses it before its time.
    fn lose_now(&self, loss: Loss) {
        if self.loss().is_none() {
            let now = self.timers.now();
            self.lose(loss, |deadline| deadline.end(now).is_ok());
            // If its time has just come, that is how.
            let _ = self.loss();
        }
    }

    /// Renews no more, for that reason. To be called before the lease is given back.
    pub(super) fn stop(&self, loss: Loss) {
        self.lose_now(loss);
        self.alarm.cancel(&self.timers);
    }

    /// Asks, warns, or loses, whichever is due.
    fn turn(self: &Arc<Self>) {
        if self.timers.is_shut_down() {
            self.lose_now(Loss::ShutDown);
            return;
        }
        let now = self.timers.now();
        if self.loss().is_some() {
            return;
        }
        let Some(until) = self.deadline.get() else {
            return;
        };
        let (ask, warn) = {
            let mut plan = locked(&self.plan);
            if plan.stopped {
                return;
            }
            let warn = !plan.warned && now >= plan.risk_at(until);
            plan.warned |= warn;
            let ask = warn || now >= plan.ask_at;
            if ask {
                plan.asked += 1;
                plan.asked_at = now;
                plan.ask_at = now.saturating_add(self.pause(plan.life, plan.asked));
            }
            (ask, warn)
        };
        // Whatever comes of asking, there will be another attempt.
        let _ = self.follow();
        let mut panics = Panics::default();
        if ask {
            let renewal = Renewal::new(now, Arc::clone(self) as Arc<dyn Hears>);
            panics.run(|| self.lessor.renew(&self.grant, renewal));
        }
        if warn {
            self.warn(&mut panics);
        }
        panics.end();
    }

    /// Tells the holder that it is at risk, unless the answer has just come.
    fn warn(&self, panics: &mut Panics) {
        let now = self.timers.now();
        let Some(until) = self.deadline.get() else {
            return;
        };
        if now < self.risk_at(until) {
            locked(&self.plan).warned = false;
        } else if let Some(on_risk) = &self.hooks.on_risk {
            panics.run(|| on_risk(until.saturating_since(now)));
        }
    }

    /// Whether it is lost; has the waker woken when it is. `id` is that of an earlier waker.
    pub(super) fn poll_lost(&self, id: &mut Option<u64>, cx: &Context<'_>) -> Poll<Loss> {
        if let Some(loss) = self.loss() {
            return Poll::Ready(loss);
        }
        let waker = cx.waker().clone();
        let old = {
            let mut watchers = locked(&self.watchers);
            let id = *id.get_or_insert_with(|| {
                watchers.next += 1;
                watchers.next
            });
            watchers.wakers.insert(id, waker)
        };
        drop(old);
        // Who loses it says so first, and then looks for wakers.
        match self.loss.get() {
            Some(loss) => Poll::Ready(*loss),
            None => Poll::Pending,
        }
    }

    pub(super) fn unwatch(&self, id: u64) {
        let waker = locked(&self.watchers).wakers.remove(&id);
        drop(waker);
    }
}

impl<L: Lessor> Wake for Keeper<L> {
    fn wake(self: Arc<Self>) {
        self.turn();
    }
}

impl<L: Lessor> Hears for Keeper<L> {
    fn confirmed(self: Arc<Self>, asked: Timestamp, life: Duration) {
        let now = self.timers.now();
        let to = asked.saturating_add(life);
        let before = self.deadline.get();
        let Ok(until) = self.deadline.touch(now, to) else {
            // It came too late, or after a release.
            let _ = self.loss();
            return;
        };
        {
            let mut plan = locked(&self.plan);
            if before.is_some_and(|before| before < until) {
                let life = at_most(self.ttl, life);
                plan.term = plan.life.max(life);
                plan.life = life;
                // A third of that after it was asked last; and no later than planned if that is not answered.
                let pause = self.pause(life, plan.asked);
                let next = plan.asked_at.saturating_add(pause).max(now);
                plan.ask_at = if plan.asked_at == asked {
                    next
                } else {
                    plan.ask_at.min(next)
                };
            }
            if now < plan.risk_at(until) {
                plan.warned = false;
            }
        }
        let _ = self.follow();
    }

    fn refused(self: Arc<Self>) {
        self.lose_now(Loss::Refused);
    }

    fn failed(self: Arc<Self>) {
        let now = self.timers.now();
        {
            let mut plan = locked(&self.plan);
            let soon = now.saturating_add((plan.life / (PART * PART)).max(INSTANT));
            plan.ask_at = plan.ask_at.min(soon);
        }
        let _ = self.follow();
    }
}

/// Whether the holder is told of that: what it has done itself it knows.
fn is_told(loss: Loss) -> bool {
    !matches!(loss, Loss::Released | Loss::Detached)
}

/// For how long it lives, if that is no longer than was asked for.
fn at_most(ttl: Duration, life: Duration) -> Duration {
    if ttl.is_zero() { life } else { life.min(ttl) }
}

fn earlier(at: Timestamp, span: Duration) -> Timestamp {
    let span = Timestamp::from_duration(span);
    Timestamp::from_nanos(at.as_nanos().saturating_sub(span.as_nanos()))
}

/// A span that is shortened by up to `percent` hundredths.
fn sooner(span: Duration, percent: u32, random: u64) -> Duration {
    let cut = span.as_nanos() * u128::from(percent) * u128::from(random & 0xFFFF) / (100 << 16);
    let seconds = u64::try_from(cut / 1_000_000_000).unwrap_or(u64::MAX);
    let nanos = u32::try_from(cut % 1_000_000_000).unwrap_or(0);
    span.saturating_sub(Duration::new(seconds, nanos))
}

/// A number in which each bit depends on all bits of the seed (the finaliser of `SplitMix64`).
fn mixed(seed: u64) -> u64 {
    let a = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    b ^ (b >> 31)
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: jitter only shortens, by no more than it may, and overflows nowhere.

    use super::*;

    #[test]
    fn jitter_shortens_by_no_more_than_it_may() {
        for seed in 0..1000 {
            let span = Duration::from_secs(20);
            let jittered = sooner(span, 10, mixed(seed));
            assert!(jittered <= span && jittered >= Duration::from_secs(18));
            assert_eq!(sooner(span, 0, mixed(seed)), span);
            let most = Duration::MAX / PART;
            assert!(sooner(most, 50, mixed(seed)) >= most / 2);
        }
    }
}
