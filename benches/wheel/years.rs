//! What only this wheel is asked to do: jump over years.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tickwheel::{Tick, Ticks, Wheel};

use crate::figures::nanos;
use crate::harness::Column;

pub(crate) const COLUMNS: [Column; 2] = [
    ("10 years, empty, ns", 1),
    ("10 years, 50 of 100 timers due, ns", 1),
];

const YEAR: u64 = 365 * 24 * 60 * 60 * 1_000;
const JUMPS: u32 = 1_000;
const SPARSE: u64 = 100;

/// One advance by ten years, over nothing and over timers spread across twenty years.
pub(crate) fn years() -> Vec<f64> {
    vec![jump_empty(), jump_sparse()]
}

fn jump_empty() -> f64 {
    let mut wheel: Wheel<u64> = Wheel::new();
    let clock = Instant::now();
    for _ in 0..JUMPS {
        let next = wheel.now() + Ticks::new(10 * YEAR);
        black_box(&mut wheel).advance(next, |_, _| {});
    }
    nanos(clock.elapsed()) / f64::from(JUMPS)
}

fn jump_sparse() -> f64 {
    let mut total = Duration::ZERO;
    for _ in 0..JUMPS {
        let mut wheel = Wheel::with_capacity(SPARSE as usize);
        for timer in 1..=SPARSE {
            wheel.arm(Tick::new(timer * 20 * YEAR / SPARSE), timer);
        }
        let clock = Instant::now();
        let fired = wheel.advance(Tick::new(10 * YEAR), |_, expired| {
            black_box(expired.value);
        });
        total += clock.elapsed();
        assert_eq!(
            fired as u64,
            SPARSE / 2,
            "half of {SPARSE} timers are due after half of the time, not {fired}"
        );
    }
    nanos(total) / f64::from(JUMPS)
}
