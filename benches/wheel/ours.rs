//! What only the wheel is asked to do: sleep until there is work, and jump over years.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tickwheel::{Tick, Ticks, Wheel};

use crate::figures::{nanos, tail};
use crate::peers::Tickwheel;
use crate::workloads::{Population, Scenario};

/// The name of the job, and what it measures.
pub(crate) const TICKLESS: &str = "tickless";

pub(crate) const TICKLESS_COLUMNS: [(&str, usize); 4] = [
    ("advances", 0),
    ("expire, ns", 1),
    ("p99.9 advance, µs", 2),
    ("worst advance, µs", 2),
];

pub(crate) const JUMP: &str = "jump";

pub(crate) const JUMP_COLUMNS: [(&str, usize); 2] = [
    ("10 years, empty, ns", 1),
    ("10 years, 50 of 100 timers due, ns", 1),
];

const YEAR: u64 = 365 * 24 * 60 * 60 * 1_000;
const JUMPS: u32 = 1_000;
const SPARSE: u64 = 100;

/// Fires everything, advancing to `next_work()` and nowhere else.
///
/// Each advance is timed, a clock call included; asking what is next is not.
pub(crate) fn tickless(scenario: &Scenario) -> Vec<f64> {
    let mut population = Population::<Tickwheel>::mixed(scenario);
    let wheel = &mut population.peer.wheel;
    let mut fired = 0;
    let mut times = Vec::new();
    while let Some(next) = wheel.next_work() {
        let clock = Instant::now();
        fired += wheel.advance(next, |_, expired| {
            black_box(expired.value);
        });
        times.push(clock.elapsed());
    }
    population.assert_all(fired as u64);
    let total: Duration = times.iter().sum();
    times.sort_unstable();
    let (p999, worst) = tail(&times);
    vec![
        times.len() as f64,
        nanos(total) / scenario.n as f64,
        p999,
        worst,
    ]
}

/// One advance by ten years, over nothing and over timers spread across twenty years.
pub(crate) fn jump() -> Vec<f64> {
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
