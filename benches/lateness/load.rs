//! A million timers, of which a tenth fires each second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{MonotonicClock, Next, Timers};

use crate::ROUND;
use crate::measure::{Late, cpu, offset, since};
use crate::suite::Load;

/// Milliseconds: half of them, 99%, 99.9%, the latest; and per cent of one processor.
pub(crate) fn figures(late: &Late, used: Duration, took: Duration) -> Vec<f64> {
    let percent = used.as_secs_f64() / took.as_secs_f64() * 100.0;
    [&late.quantiles()[..], &[percent]].concat()
}

pub(crate) fn load(load: &Load) -> Vec<f64> {
    let clock = MonotonicClock::new();
    let timers = Timers::builder().clock(clock).build().expect("a thread");
    let (start, zero) = since(&clock);
    let late = Late::new();
    let (count, counted) = (load.timers, Arc::new(AtomicBool::new(false)));
    // The first round begins when all are armed.
    let lead = Duration::from_secs(u64::from(load.seconds > 0) * 2);
    for n in 0..count {
        let (late, counted) = (Arc::clone(&late), Arc::clone(&counted));
        let mut due = lead + offset(n, count);
        timers
            .arm_repeating(due.saturating_sub(start.elapsed()), move |_| {
                if counted.load(Relaxed) {
                    late.record(due, start.elapsed());
                }
                due += ROUND;
                Next::At(zero + due)
            })
            .expect("no limit");
    }
    // By now the rounding of the first deadline, from another reading of the clock, is over.
    let warm = if load.seconds > 0 {
        lead + ROUND
    } else {
        Duration::ZERO
    };
    thread::sleep(warm.saturating_sub(start.elapsed()));
    counted.store(true, Relaxed);
    let (before, began) = (cpu(), Instant::now());
    thread::sleep(load.span());
    let (used, took) = (cpu() - before, began.elapsed());
    counted.store(false, Relaxed);
    late.report(&format!("tickwheel, {count} timers"));
    println!("  {:?}", timers.stats());
    println!("  batches took {:?}", timers.batch_durations());
    assert_eq!(timers.len(), count);
    figures(&late, used, took)
}
