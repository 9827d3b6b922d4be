//! How late, how much of a processor, how often awake.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tickwheel::{Clock, MonotonicClock, Timestamp};

use crate::ROUND;

/// Lateness in buckets of ten microseconds, up to a second.
pub(crate) struct Late {
    counts: Box<[AtomicU64]>,
    max: AtomicU64,
    early: AtomicUsize,
}

impl Late {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            counts: (0..100_000).map(|_| AtomicU64::new(0)).collect(),
            max: AtomicU64::new(0),
            early: AtomicUsize::new(0),
        })
    }

    pub(crate) fn record(&self, deadline: Duration, now: Duration) {
        let Some(late) = now.checked_sub(deadline) else {
            self.early.fetch_add(1, Relaxed);
            return;
        };
        let micros = late.as_micros() as u64;
        let bucket = (micros / 10).min(self.counts.len() as u64 - 1);
        self.counts[bucket as usize].fetch_add(1, Relaxed);
        self.max.fetch_max(micros, Relaxed);
    }

    pub(crate) fn report(&self, what: &str) {
        let count: u64 = self.counts.iter().map(|count| count.load(Relaxed)).sum();
        let [p50, p99, p999, max] = self.quantiles();
        println!(
            "{what}: {count} fired, {} early; late by p50 {p50:.2} ms, p99 {p99:.2} ms, p99.9 {p999:.2} ms, max {max:.2} ms",
            self.early.load(Relaxed),
        );
        assert_eq!(self.early.load(Relaxed), 0, "never early");
    }

    /// Milliseconds: what half of them, 99% and 99.9% do not exceed, and the latest.
    pub(crate) fn quantiles(&self) -> [f64; 4] {
        let count: u64 = self.counts.iter().map(|count| count.load(Relaxed)).sum();
        let quantile = |share: f64| {
            let wanted = (count as f64 * share).ceil() as u64;
            let mut seen = 0;
            let reached = self.counts.iter().position(|bucket| {
                seen += bucket.load(Relaxed);
                seen >= wanted.max(1)
            });
            reached.map_or(0.0, |bucket| (bucket + 1) as f64 / 100.0)
        };
        let max = self.max.load(Relaxed) as f64 / 1_000.0;
        [quantile(0.5), quantile(0.99), quantile(0.999), max]
    }
}

/// Processor time of this process so far, as Linux tells it.
pub(crate) fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// Times that threads of this process have gone to sleep so far.
pub(crate) fn sleeps() -> u64 {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("status")).ok())
        .filter_map(|status| {
            let line = status
                .lines()
                .find(|line| line.starts_with("voluntary_ctxt"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .sum()
}

/// When the timer `n` of `count` is due for the first time: spread over the round, in no order.
pub(crate) fn offset(n: usize, count: usize) -> Duration {
    let spread = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
    let nanos = (u128::from(spread) * ROUND.as_nanos()) >> 48;
    debug_assert!(count > 0);
    Duration::from_nanos(nanos as u64)
}

/// Nanoseconds of a clock, and of `Instant`, since the same moment.
pub(crate) fn since(clock: &MonotonicClock) -> (Instant, Timestamp) {
    (Instant::now(), clock.now())
}
