//! A histogram of durations: fixed buckets, four to each doubling, so that a value read back is
//! at most a quarter too large.

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicU64;
use crate::timestamp::nanos;

/// Buckets to each doubling, as a power of two.
const FINE: u32 = 2;
/// How far, in proportion, a rank may lie above a whole number and still mean that number: what
/// the rounding of the fraction and of its product can add, twice over.
const ROUNDING: f64 = 2.0 * f64::EPSILON;
const BUCKETS: usize = ((64 - FINE) as usize + 1) << FINE;

/// Where durations are counted. One read-modify-write each.
pub(super) struct Recorder {
    counts: [AtomicU64; BUCKETS],
    max: AtomicU64,
    sum: AtomicU64,
}

/// How often which durations have occurred.
///
/// Buckets are four to each doubling: what is read back is at most 25% more than what was
/// recorded, and never less. The largest value is kept exactly.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    max: u64,
    sum: u64,
}

/// The bucket of a value: below 2^FINE each has its own.
fn bucket(value: u64) -> usize {
    if value < 1 << FINE {
        return value as usize;
    }
    let high = 63 - value.leading_zeros();
    let fine = value >> (high - FINE) & ((1 << FINE) - 1);
    (((high - FINE + 1) as usize) << FINE) + fine as usize
}

/// The largest value of a bucket.
fn largest(bucket: usize) -> u64 {
    if bucket < 1 << FINE {
        return bucket as u64;
    }
    let high = (bucket >> FINE) as u32 + FINE - 1;
    let fine = (bucket & ((1 << FINE) - 1)) as u64;
    let width = 1_u64 << (high - FINE);
    (1_u64 << high) + fine * width + (width - 1)
}

/// Which of `count` durations in order, from one, is the quantile; one if there is none.
pub(super) fn rank(count: u64, quantile: f64) -> u64 {
    let rank = count as f64 * quantile;
    ((rank - rank * ROUNDING).ceil() as u64).max(1)
}

// === impl Recorder ===

impl Recorder {
    pub(super) fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            max: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    pub(super) fn record(&self, span: Duration) {
        let span = nanos(span);
        // ORDERING: Relaxed. Numbers to look at.
        self.counts[bucket(span)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(span, Ordering::Relaxed);
        if span > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(span, Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self) -> Histogram {
        let mut counts = Box::new([0; BUCKETS]);
        for (to, from) in counts.iter_mut().zip(&self.counts) {
            // ORDERING: Relaxed, as in `record`.
            *to = from.load(Ordering::Relaxed);
        }
        Histogram {
            counts,
            // ORDERING: Relaxed, as in `record`.
            max: self.max.load(Ordering::Relaxed),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

// === impl Histogram ===

impl Histogram {
    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The largest, exactly.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// The mean; zero if there is none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum.checked_div(self.count()).unwrap_or(0))
    }

    /// The duration that a fraction `quantile` of all do not exceed: 0.99 for the 99th percentile.
    /// Zero if there is none; out of 0 to 1 it counts as 0 or 1.
    ///
    /// Of `n` durations it is the one of rank `n * quantile`, rounded up: 0.28 of 75 is the 21st,
    /// although the `f64` nearest to 0.28 lies a hair above it.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Duration {
        let wanted = rank(self.count(), quantile.clamp(0.0, 1.0));
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        Duration::from_nanos(reached.map_or(0, |bucket| largest(bucket).min(self.max)))
    }

    /// The buckets that hold something: the largest duration of each, and how many it holds.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let held = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        held.map(|(bucket, count)| (Duration::from_nanos(largest(bucket)), *count))
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    //! Properties: a bucket holds what it says, and no more than a quarter above; quantiles are
    //! those of the sorted list, rounded up to a bucket.

    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn the_hair_between_a_fraction_and_its_float_costs_no_rank() {
        let recorder = Recorder::new();
        (0..75_u64).for_each(|value| recorder.record(Duration::from_nanos(u64::from(value >= 21))));
        assert_eq!(recorder.read().quantile(0.28), Duration::ZERO);
        assert_eq!(recorder.read().quantile(0.281), Duration::from_nanos(1));
    }

    proptest! {
        #[test]
        fn a_value_is_at_most_the_largest_of_its_bucket_and_not_much_less(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let largest = largest(bucket(value));
            prop_assert!(value <= largest);
            prop_assert!(largest - value <= value / 4);
            prop_assert!(value == 0 || super::largest(bucket(value) - 1) < value);
        }

        #[test]
        fn a_quantile_on_the_border_of_two_ranks_is_the_lower(count in 1_u64..3_000, percent in 1_u64..=100) {
            let recorder = Recorder::new();
            (0..count).for_each(|value| recorder.record(Duration::from_nanos(1 << (value % 60))));
            let mut values: Vec<u64> = (0..count).map(|value| 1 << (value % 60)).collect();
            values.sort_unstable();
            let exact = values[((count * percent).div_ceil(100) - 1) as usize];
            let told = recorder.read().quantile(percent as f64 / 100.0).as_nanos() as u64;
            prop_assert!(exact <= told && told <= exact + exact / 4, "{told} for {exact}");
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_list(
            mut values in prop::collection::vec(0u64..1 << 40, 1..80), percent in 1usize..=100,
        ) {
            let recorder = Recorder::new();
            values.iter().for_each(|value| recorder.record(Duration::from_nanos(*value)));
            let read = recorder.read();
            values.sort_unstable();
            let exact = values[(values.len() * percent).div_ceil(100) - 1];
            let told = read.quantile(percent as f64 / 100.0).as_nanos() as u64;
            prop_assert!(exact <= told && told <= exact + exact / 4, "{told} for {exact}");
            prop_assert_eq!(read.count() as usize, values.len());
            prop_assert_eq!(read.max().as_nanos() as u64, values[values.len() - 1]);
        }
    }
}
