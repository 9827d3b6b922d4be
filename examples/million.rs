//! A million timers in one runtime: armed, moved, cancelled, fired, and every one accounted for.
//!
//! ```text
//! cargo run --release --example million
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tickwheel::{Clock, MonotonicClock, Timers};

const TIMERS: usize = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let clock = MonotonicClock::new();
    let timers = Timers::builder().clock(clock).build()?;
    let early = Arc::new(AtomicUsize::new(0));

    let start = Instant::now();
    let keys = (0..TIMERS)
        .map(|n| {
            let early = Arc::clone(&early);
            // Spread over two seconds, in no order.
            let after = Duration::from_micros(1_500_000 + (n * 7_919 % 2_000_000) as u64);
            let due = clock.now() + after;
            timers.arm_at(due, move |firing| {
                let is_early = clock.now() < firing.deadline();
                early.fetch_add(usize::from(is_early), Ordering::Relaxed);
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    println!("{TIMERS} timers armed in {:.0?}", start.elapsed());

    // What timers in a service go through: most are put off, or not needed after all.
    let start = Instant::now();
    let (mut moved, mut cancelled) = (0, 0);
    for (n, key) in keys.into_iter().enumerate() {
        match n % 3 {
            0 => {
                let later = Duration::from_micros(3_000_000 + n as u64);
                moved += usize::from(timers.rearm(key, later).is_ok());
            }
            1 => cancelled += usize::from(timers.cancel(key).is_cancelled()),
            _ => {}
        }
    }
    println!(
        "{moved} moved, {cancelled} cancelled in {:.0?}",
        start.elapsed()
    );

    while !timers.is_empty() {
        std::thread::sleep(Duration::from_millis(200));
        println!("{:>9} armed", timers.len());
    }
    let (stats, late) = (timers.stats(), timers.lateness());
    println!(
        "{} fired with {} wake-ups; late by {:.1?} at the median, {:.1?} at the 99th percentile",
        stats.fired,
        stats.wake_ups,
        late.quantile(0.5),
        late.quantile(0.99),
    );
    assert_eq!(
        stats.fired as usize + cancelled,
        TIMERS,
        "none lost, none twice"
    );
    assert_eq!(early.load(Ordering::Relaxed), 0, "none early");
    println!("none lost, none twice, none early");
    Ok(())
}
