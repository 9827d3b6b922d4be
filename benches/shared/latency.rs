//! How long arming takes while the driver has a million timers to fire.
//!
//! One thread drives, another one replaces its timers: it cancels one and arms another, and
//! that is one request. What is measured depends on when requests come in. When the next one
//! waits until the one before is answered, a lock that is held for 50 ms shows as a single
//! slow request among a million quick ones. When they come in steadily, whoever they find
//! busy, it delays all that came in meanwhile, each by as long as it had to wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::interrupted::interruptions;
use crate::peers::{Hand, Peer};
use crate::threads::together;
use crate::workloads::{Replaced, SPAN, Shape, Ticks};

/// Timers that are replaced, half a minute away from those that fire at least.
const REPLACED: usize = 1_000;

/// Room for samples, made before the clock runs.
const SAMPLES: usize = 1 << 22;

/// How often to try again when the system took the processor away from the thread that is
/// looked at.
const TRIES: usize = 10;

/// Microseconds that a request took: half of them, 99%, 99.9% and 99.99% at most, the worst;
/// how many there were, and how often the system interrupted the thread.
pub(crate) fn latency<P: Peer + Sync>(shape: &Shape) -> Vec<f64> {
    let mut tried = attempt::<P>(shape);
    for _ in 1..TRIES {
        if tried.interruptions == 0 {
            break;
        }
        tried = attempt::<P>(shape);
    }
    let Tried {
        mut samples,
        interruptions,
    } = tried;
    samples.sort_unstable();
    let at = |share: f64| {
        let sample = (samples.len() - 1) as f64 * share;
        f64::from(samples[sample as usize]) / 1e3
    };
    let shares = [0.5, 0.99, 0.999, 0.9999, 1.0].map(at);
    let rest = [samples.len() as f64, interruptions as f64];
    [&shares[..], &rest].concat()
}

struct Tried {
    /// Nanoseconds.
    samples: Vec<u32>,
    interruptions: u64,
}

/// When the driver was done, in nanoseconds from `epoch`.
struct Firing {
    epoch: Instant,
    done: AtomicU64,
}

/// `done` as long as it is not.
const NOT_YET: u64 = u64::MAX;

fn attempt<P: Peer + Sync>(shape: &Shape) -> Tried {
    let peer = P::new(2);
    let firing = Firing {
        epoch: Instant::now(),
        done: AtomicU64::new(NOT_YET),
    };
    let mut tried = together(2, |thread, gate| {
        let mut hand = peer.hand(thread);
        let mut due = arm_due(&mut hand, shape.n / 2, thread);
        if thread == 0 {
            // One of the peers fires what is due at the first tick already.
            let early = gate.alone(thread, || peer.drive(0)).unwrap_or(0);
            gate.wait();
            let fired = early + peer.drive(SPAN);
            firing.done.store(firing.now(), Ordering::Release);
            let (name, n) = (P::NAME, shape.n / 2 * 2);
            assert_eq!(fired, n as u64, "{name}: {fired} of {n} timers fired");
            due.iter_mut().for_each(|timer| hand.retire(timer));
            return None;
        }
        let mut replaced = Replaced::new(hand, REPLACED, thread);
        let mut samples = vec![1; SAMPLES];
        samples.clear();
        gate.alone(thread, || 0);
        // Into the cache, and out of the way of timers that are due.
        replaced.pass(SPAN);
        replaced.pass(SPAN);
        let before = interruptions();
        gate.wait();
        firing.request(shape.every, &mut samples, || replaced.replace(SPAN));
        let interruptions = interruptions() - before;
        replaced.cancel_all();
        let hand = &mut replaced.hand;
        due.iter_mut().for_each(|timer| hand.retire(timer));
        Some(Tried {
            samples,
            interruptions,
        })
    });
    let tried = tried.pop().flatten();
    tried.expect("the second thread makes the requests")
}

/// What fires is kept until it has fired.
fn arm_due<H: Hand>(hand: &mut H, n: usize, thread: usize) -> Vec<H::Timer> {
    let ticks = Ticks::new(n, thread, SPAN);
    let arm = |(at, id)| {
        let mut timer = H::blank();
        hand.arm(&mut timer, at, id);
        timer
    };
    ticks.of(0).zip(0..).map(arm).collect()
}

// === impl Firing ===

impl Firing {
    fn now(&self) -> u64 {
        let now = self.epoch.elapsed().as_nanos();
        u64::try_from(now).expect("no run takes centuries")
    }

    /// Makes requests until all those are answered that came in while the driver fired.
    fn request(&self, every: Duration, samples: &mut Vec<u32>, mut answer: impl FnMut()) {
        let every = u64::try_from(every.as_nanos()).expect("some microseconds");
        let mut came = self.now();
        while came <= self.done.load(Ordering::Acquire) {
            answer();
            let answered = self.now();
            samples.push(u32::try_from(answered - came).unwrap_or(u32::MAX));
            came += every;
            if every == 0 {
                came = self.now();
            }
            while self.now() < came {}
        }
    }
}
