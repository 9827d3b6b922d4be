//! One thread arms, another one cancels.

use std::time::Duration;

use parking_lot::Mutex;

use crate::peers::{Hand, Peer};
use crate::threads::{Gate, together};
use crate::workloads::{AHEAD, PASSES_PER_TICK, SPAN, Shape, Ticks, per_timer, time};

/// Two batches of timers: one is being armed while the other one is being cancelled.
///
/// A batch changes hands at the gate. Its lock is never waited for.
pub(crate) struct Relay<P: Peer> {
    peer: P,
    batches: [Mutex<Vec<P::Timer>>; 2],
    n: usize,
}

/// Whether time moves a tick now and then, or nobody drives at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Moves,
    Rests,
}

/// The pair, and its halves: nanoseconds per timer.
pub(crate) fn cross<P: Peer + Sync>(shape: &Shape) -> Vec<f64>
where
    P::Timer: Send,
{
    let relay = Relay::<P>::new(shape.n);
    relay.run(shape.passes.div_ceil(4), Time::Moves);
    let [arming, cancelling] = relay.run(shape.passes, Time::Moves);
    let [arm, cancel] = [arming, cancelling].map(|total| per_timer(total, shape.passes * shape.n));
    vec![arm + cancel, arm, cancel]
}

impl<P: Peer + Sync> Relay<P>
where
    P::Timer: Send,
{
    /// Of batches of `n` timers each.
    pub(crate) fn new(n: usize) -> Self {
        let blank = |_| <P::Hand<'_> as Hand>::blank();
        let batch = || Mutex::new((0..n).map(blank).collect());
        Self {
            peer: P::new(2),
            batches: [batch(), batch()],
            n,
        }
    }

    /// Arms and cancels so many batches. How long arming took, and how long cancelling took.
    pub(crate) fn run(&self, batches: usize, drive: Time) -> [Duration; 2] {
        let times = together(2, |thread, gate| match thread {
            0 => self.arm(batches, drive, gate),
            _ => self.cancel(batches, drive, gate),
        });
        [times[0], times[1]]
    }

    fn arm(&self, batches: usize, drive: Time, gate: &Gate) -> Duration {
        let mut hand = self.peer.hand(0);
        let ticks = Ticks::new(self.n, 0, SPAN - AHEAD);
        let mut total = Duration::ZERO;
        for batch in 0..batches {
            let mut timers = self.batches[batch % 2].lock();
            total += time(|| {
                for ((timer, at), id) in timers.iter_mut().zip(ticks.of(batch)).zip(0..) {
                    hand.arm(timer, AHEAD + at, id);
                }
            });
            drop(timers);
            gate.wait();
            self.tick(batch, drive, 0, gate);
        }
        // The last batch is being cancelled.
        gate.wait();
        total
    }

    fn cancel(&self, batches: usize, drive: Time, gate: &Gate) -> Duration {
        let mut hand = self.peer.canceller(1);
        let mut total = Duration::ZERO;
        for batch in 0..batches {
            gate.wait();
            self.tick(batch, drive, 1, gate);
            let mut timers = self.batches[batch % 2].lock();
            total += time(|| {
                for timer in timers.iter_mut() {
                    hand.cancel(timer);
                }
            });
        }
        gate.wait();
        total
    }

    /// Behind the gate, in both threads.
    fn tick(&self, batch: usize, drive: Time, thread: usize, gate: &Gate) {
        if drive == Time::Moves && batch % PASSES_PER_TICK == 0 {
            gate.alone(thread, || self.peer.drive((batch / PASSES_PER_TICK) as u64));
        }
    }
}
