//! Most timers are cancelled, and some fire: the usual life of timeouts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::peers::{Hand, Peer};
use crate::threads::together;
use crate::workloads::{AHEAD, SPAN, Shape, Ticks, mean, per_timer};

/// Of so many timers one is due soon, and fires before it would be replaced.
const ONE_IN: usize = 10;

/// How soon, at most: in ticks, of which each pass of the first thread is one.
const SOON: u64 = 2;

/// Every thread replaces its timers over and over. The first one drives, a tick after each pass.
/// Nanoseconds for a timer and thread, driving included.
pub(crate) fn mixed<P: Peer + Sync>(shape: &Shape) -> Vec<f64> {
    let peer = P::new(shape.threads);
    let (now, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let each = together(shape.threads, |thread, gate| {
        let mut hand = peer.hand(thread);
        let ticks = Ticks::new(shape.n, thread, SPAN - AHEAD);
        let mut timers: Vec<_> = (0..shape.n).map(|_| blank(&hand)).collect();
        for ((timer, at), id) in timers.iter_mut().zip(ticks.of(0)).zip(0..) {
            hand.arm(timer, AHEAD + at, id);
        }
        let mut pass = |pass: usize| {
            if thread == 0 {
                let tick = now.load(Ordering::Relaxed) + 1;
                peer.drive(tick);
                now.store(tick, Ordering::Release);
            }
            let now = now.load(Ordering::Acquire);
            let due = timers.iter_mut().zip(ticks.of(pass)).enumerate();
            for (at, (timer, ahead)) in due {
                hand.retire(timer);
                if (at + pass) % ONE_IN == 0 {
                    hand.arm_soon(timer, now + 1 + ahead % SOON, at as u64);
                } else {
                    hand.arm(timer, now + AHEAD + ahead, at as u64);
                }
            }
        };
        (0..shape.passes.div_ceil(4)).for_each(&mut pass);
        gate.wait();
        let clock = Instant::now();
        let mut timed = 0;
        loop {
            pass(timed);
            timed += 1;
            if timed == shape.passes || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        hand.settle();
        let elapsed = clock.elapsed();
        for timer in &mut timers {
            hand.retire(timer);
        }
        per_timer(elapsed, timed * shape.n)
    });
    vec![mean(&each)]
}

fn blank<H: Hand>(_: &H) -> H::Timer {
    H::blank()
}
