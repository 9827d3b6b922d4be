//! A million timers, of which a tenth fires each second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{MonotonicClock, Next, Timers};

use crate::measure::{Late, cpu, offset, since};
use crate::{Options, ROUND};

/// What was found.
pub(crate) struct Found {
    /// Milliseconds: half of them, 99%, 99.9%, the latest.
    pub(crate) quantiles: [f64; 4],
    /// Of one processor.
    pub(crate) percent: f64,
}

impl Found {
    fn of(late: &Late, used: Duration, took: Duration) -> Self {
        Self {
            quantiles: late.quantiles(),
            percent: used.as_secs_f64() / took.as_secs_f64() * 100.0,
        }
    }
}

pub(crate) fn load(options: &Options) -> Found {
    let clock = MonotonicClock::new();
    let timers = Timers::builder().clock(clock).build().expect("a thread");
    let (start, zero) = since(&clock);
    let late = Late::new();
    let (count, counted) = (options.timers, Arc::new(AtomicBool::new(false)));
    // The first round begins when all are armed.
    let lead = Duration::from_secs(u64::from(options.seconds > 0) * 2);
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
    let warm = if options.seconds > 0 {
        lead + ROUND
    } else {
        Duration::ZERO
    };
    thread::sleep(warm.saturating_sub(start.elapsed()));
    counted.store(true, Relaxed);
    let (before, began) = (cpu(), Instant::now());
    thread::sleep(Duration::from_secs(options.seconds).max(Duration::from_millis(50)));
    let (used, took) = (cpu() - before, began.elapsed());
    counted.store(false, Relaxed);
    late.report(&format!("tickwheel, {count} timers"));
    let found = Found::of(&late, used, took);
    println!(
        "  {:.1}% of a processor; {:?}",
        found.percent,
        timers.stats()
    );
    println!("  batches took {:?}", timers.batch_durations());
    assert_eq!(timers.len(), count);
    found
}

pub(crate) fn load_tokio(options: &Options) -> Found {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .expect("threads");
    let (late, counted) = (Late::new(), Arc::new(AtomicBool::new(false)));
    let start = Instant::now();
    let lead = Duration::from_secs(6);
    let count = options.timers;
    for n in 0..count {
        let (late, counted) = (Arc::clone(&late), Arc::clone(&counted));
        runtime.spawn(async move {
            let mut due = lead + offset(n, count);
            loop {
                tokio::time::sleep_until((start + due).into()).await;
                if counted.load(Relaxed) {
                    late.record(due, start.elapsed());
                }
                due += ROUND;
            }
        });
    }
    thread::sleep((lead + ROUND).saturating_sub(start.elapsed()));
    counted.store(true, Relaxed);
    let (before, began) = (cpu(), Instant::now());
    thread::sleep(Duration::from_secs(options.seconds));
    let (used, took) = (cpu() - before, began.elapsed());
    counted.store(false, Relaxed);
    late.report(&format!("tokio, {count} timers"));
    let found = Found::of(&late, used, took);
    println!("  {:.1}% of a processor", found.percent);
    runtime.shutdown_background();
    found
}
