//! The workloads without a clock of their own: arming, cancelling, re-arming, driving.
//!
//! Each takes a shape and returns its figures, nanoseconds per timer in the first place.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::peers::{Hand, Peer};
use crate::threads::together;

/// What a workload is given. Ticks are 1 ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    /// Timers: of each thread, where each has its own.
    pub(crate) n: usize,
    /// How often all of them are gone over.
    pub(crate) passes: usize,
    /// Where all of them fire: whether by one advance, or by one per tick.
    pub(crate) steps: Steps,
    /// Where all of them fire: over how many ticks they are due.
    pub(crate) span: u64,
    /// Where latency is measured: how long after the one before each request comes in;
    /// zero for at once when it is answered.
    pub(crate) every: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    One,
    PerTick,
}

/// Deadlines are uniform over this many ticks.
pub(crate) const SPAN: u64 = 60_000;

/// How far ahead arming looks at least: half a minute, and as much more at most.
pub(crate) const AHEAD: u64 = SPAN / 2;

/// Passes between two ticks, where time moves only now and then.
pub(crate) const PASSES_PER_TICK: usize = 100;

/// Passes before the clock runs, so that every entry has been used and filed.
const WARM_UP: usize = 300;

/// Passes that get deadlines of their own before those of the first come again.
const WINDOWS: usize = 256;

const SEED: u64 = 7;

/// As many ticks as a thread needs, without a random number or a division per timer.
pub(crate) struct Ticks {
    all: Vec<u32>,
    n: usize,
}

// === impl Ticks ===

impl Ticks {
    /// Uniform from 1 to `span`.
    pub(crate) fn new(n: usize, thread: usize, span: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(SEED + thread as u64);
        let span = u32::try_from(span).expect("a span of some minutes");
        let all = (0..n + WINDOWS).map(|_| rng.random_range(1..=span));
        Self {
            all: all.collect(),
            n,
        }
    }

    /// Others for each pass.
    pub(crate) fn of(&self, pass: usize) -> impl Iterator<Item = u64> + '_ {
        let from = pass % WINDOWS;
        self.all[from..from + self.n]
            .iter()
            .map(|at| u64::from(*at))
    }
}

// --- arm and cancel ---

/// A thread's timers, replaced round robin.
pub(crate) struct Replaced<H: Hand> {
    pub(crate) hand: H,
    timers: Vec<H::Timer>,
    ticks: Ticks,
    oldest: usize,
    passes: usize,
}

impl<H: Hand> Replaced<H> {
    /// Arms `n` of them.
    pub(crate) fn new(mut hand: H, n: usize, thread: usize) -> Self {
        let ticks = Ticks::new(n, thread, SPAN - AHEAD);
        let mut timers: Vec<_> = (0..n).map(|_| H::blank()).collect();
        for ((timer, at), id) in timers.iter_mut().zip(ticks.of(0)).zip(0..) {
            hand.arm(timer, AHEAD + at, id);
        }
        Self {
            hand,
            timers,
            ticks,
            oldest: 0,
            passes: 1,
        }
    }

    /// Cancels the oldest and arms another one in its place.
    #[inline]
    pub(crate) fn replace(&mut self, now: u64) {
        let timer = &mut self.timers[self.oldest];
        let at = self.ticks.all[self.oldest + self.passes % WINDOWS];
        self.hand.cancel(timer);
        let at = now + AHEAD + u64::from(at);
        self.hand.arm(timer, at, self.oldest as u64);
        self.oldest += 1;
        if self.oldest == self.timers.len() {
            self.oldest = 0;
            self.passes += 1;
        }
    }

    /// Replaces each of them once.
    pub(crate) fn pass(&mut self, now: u64) {
        for _ in 0..self.timers.len() {
            self.replace(now);
        }
    }

    /// A peer may mind that they are dropped.
    pub(crate) fn cancel_all(&mut self) {
        for timer in &mut self.timers {
            self.hand.cancel(timer);
        }
    }
}

/// Every thread replaces its timers; time moves a tick now and then. Nanoseconds per pair.
///
/// The first thread to be done stops the others: all were at it all the time.
pub(crate) fn arm_cancel<P: Peer + Sync>(shape: &Shape) -> Vec<f64> {
    let peer = P::new(shape.threads);
    let stop = AtomicBool::new(false);
    let each = together(shape.threads, |thread, gate| {
        let mut replaced = Replaced::new(peer.hand(thread), shape.n, thread);
        let mut passes = 0;
        let mut pass = || {
            passes += 1;
            let now = (passes / PASSES_PER_TICK) as u64;
            if thread == 0 && passes % PASSES_PER_TICK == 1 {
                peer.drive(now);
            }
            replaced.pass(now);
        };
        for _ in 0..WARM_UP.min(3 * shape.passes) {
            pass();
        }
        gate.wait();
        let clock = Instant::now();
        let mut timed = 0;
        loop {
            pass();
            timed += 1;
            if timed == shape.passes || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        replaced.hand.settle();
        let elapsed = clock.elapsed();
        replaced.cancel_all();
        per_timer(elapsed, timed * shape.n)
    });
    vec![mean(&each)]
}

// --- re-arm ---

/// Where a deadline is moved to, pass by pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Later,
    Earlier,
}

impl Way {
    /// Before which tick, or from which one, the deadlines of a pass lie. Those of two passes
    /// never overlap, so each timer moves by up to two spans, and the right way.
    fn base(self, pass: usize, passes: usize) -> u64 {
        let spans = match self {
            Self::Later => pass,
            Self::Earlier => passes - pass,
        };
        // No timer comes near while the passes go on, each at a tick of its own.
        30 * SPAN + passes as u64 + spans as u64 * SPAN
    }
}

/// Every thread moves all its timers to a later deadline, in an order without a pattern.
pub(crate) fn rearm_later<P: Peer + Sync>(shape: &Shape) -> Vec<f64> {
    rearm::<P>(shape, Way::Later)
}

/// To an earlier one. The driver looks after what that left to it once all threads are done
/// with a pass: the second figure. The third is both.
pub(crate) fn rearm_earlier<P: Peer + Sync>(shape: &Shape) -> Vec<f64> {
    rearm::<P>(shape, Way::Earlier)
}

fn rearm<P: Peer + Sync>(shape: &Shape, way: Way) -> Vec<f64> {
    let peer = P::new(shape.threads);
    let each = together(shape.threads, |thread, gate| {
        let hand = peer.hand(thread);
        let mut moved = Moved::new(hand, shape, way, thread);
        let drive = |tick| {
            let timed = gate.alone(thread, || time(|| peer.drive(tick)));
            timed.unwrap_or_default()
        };
        drive(0);
        moved.timers.shuffle(&mut SmallRng::seed_from_u64(SEED));
        let (mut moving, mut driving) = (Duration::ZERO, Duration::ZERO);
        for pass in 1..=shape.passes {
            gate.wait();
            moving += time(|| moved.pass(pass, way, shape.passes));
            driving += drive(pass as u64);
        }
        let all = shape.passes * shape.n;
        (
            per_timer(moving, all),
            per_timer(driving, all * shape.threads),
        )
    });
    let (moving, driving): (Vec<_>, Vec<_>) = each.into_iter().unzip();
    let (moving, driving) = (mean(&moving), driving.iter().sum::<f64>());
    vec![moving, driving, moving + driving]
}

/// A thread's timers, moved all together.
struct Moved<H: Hand> {
    hand: H,
    timers: Vec<(H::Timer, u64)>,
    ticks: Ticks,
}

impl<H: Hand> Moved<H> {
    fn new(mut hand: H, shape: &Shape, way: Way, thread: usize) -> Self {
        let ticks = Ticks::new(shape.n, thread, SPAN);
        let base = way.base(0, shape.passes);
        let arm = |(at, id)| {
            let mut timer = H::blank();
            hand.arm(&mut timer, base + at, id);
            (timer, id)
        };
        let timers = ticks.of(0).zip(0..).map(arm).collect();
        Self {
            hand,
            timers,
            ticks,
        }
    }

    fn pass(&mut self, pass: usize, way: Way, passes: usize) {
        let base = way.base(pass, passes);
        for ((timer, id), at) in self.timers.iter_mut().zip(self.ticks.of(pass)) {
            self.hand.rearm(timer, base + at, *id);
        }
    }
}

// --- figures ---

pub(crate) fn time<R>(work: impl FnOnce() -> R) -> Duration {
    let clock = Instant::now();
    black_box(work());
    clock.elapsed()
}

pub(crate) fn per_timer(time: Duration, timers: usize) -> f64 {
    time.as_secs_f64() * 1e9 / timers as f64
}

pub(crate) fn mean(each: &[f64]) -> f64 {
    each.iter().sum::<f64>() / each.len() as f64
}
