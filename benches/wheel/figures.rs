//! What a peer's usual operations cost, and how long single calls take.

use std::time::Duration;

use crate::harness::Column;
use crate::peers::Peer;
use crate::quiet::undisturbed;
use crate::suite::Setting;
use crate::workloads::{IDLE_TICKS, Population};

/// What `measure` returns, in that order: heading and digits after the point.
///
/// Nanoseconds per timer, or per tick; microseconds where a single advance is meant.
pub(crate) const COLUMNS: [Column; 9] = [
    ("arm, ns", 1),
    ("cancel+arm, ns", 1),
    ("rearm, ns", 1),
    ("refresh, ns", 1),
    ("expire, ns", 1),
    ("p99.9 advance, µs", 2),
    ("worst advance, µs", 2),
    ("idle tick, ns", 1),
    ("memory, B/timer", 1),
];

/// Timed passes: many over few timers, few over many.
const OPERATIONS: usize = 2_000_000;

/// Arming is timed from empty, which makes a peer that deletes lazily grow with each pass.
const MOST_ARMS: usize = 20;

pub(crate) fn life<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    let passes = (OPERATIONS / scenario.n).clamp(2, 200);
    let per_timer = |total: Duration, passes: usize| nanos(total) / (passes * scenario.n) as f64;
    let mean = |pass: &mut dyn FnMut() -> Duration, passes| {
        let total = (0..passes).map(|_| pass()).sum();
        per_timer(total, passes)
    };

    let mut population = Population::<P>::new(scenario);
    let bytes = population.bytes_per_timer();
    let arm = mean(
        &mut || {
            population.cancel();
            population.arm()
        },
        passes.min(MOST_ARMS),
    );
    population.shuffle();
    let cancel_arm = mean(&mut || population.cancel_arm(), passes);
    let rearm = mean(&mut || population.rearm(), passes);
    population.put_off();
    let refresh = mean(&mut || population.refresh(), passes);
    drop(population);

    let expire = per_timer(Population::<P>::mixed(scenario).expire(), 1);
    let (advances, idle) = undisturbed(|| {
        let mut population = Population::<P>::mixed(scenario);
        (population.advances(), population.idle())
    });
    let idle_tick = nanos(idle) / IDLE_TICKS as f64;
    let (p999, worst) = tail(&advances);
    vec![
        arm, cancel_arm, rearm, refresh, expire, p999, worst, idle_tick, bytes,
    ]
}

pub(crate) const LATENCY_COLUMNS: [Column; 12] = [
    ("advance p50, µs", 2),
    ("advance p90, µs", 2),
    ("advance p99, µs", 2),
    ("advance p99.9, µs", 2),
    ("advance p99.99, µs", 2),
    ("advance worst, µs", 2),
    ("arm p50, µs", 3),
    ("arm p90, µs", 3),
    ("arm p99, µs", 3),
    ("arm p99.9, µs", 3),
    ("arm p99.99, µs", 3),
    ("arm worst, µs", 3),
];

const SHARES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

pub(crate) fn latency<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    let advances = undisturbed(|| Population::<P>::mixed(scenario).advances());
    let arms = undisturbed(|| Population::<P>::scattered(scenario).arms());
    let shares = |times: &[Duration]| SHARES.map(|share| quantile(times, share));
    [shares(&advances), shares(&arms)].concat()
}

pub(crate) const TICKLESS_COLUMNS: [Column; 2] =
    [("advances, tickless", 0), ("expire, tickless, ns", 1)];

pub(crate) fn tickless<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    let (advances, elapsed) = Population::<P>::mixed(scenario).tickless();
    vec![advances as f64, nanos(elapsed) / scenario.n as f64]
}

/// Of sorted times: that which one in a thousand exceeds, and the longest. Microseconds.
pub(crate) fn tail(sorted: &[Duration]) -> (f64, f64) {
    (quantile(sorted, 0.999), quantile(sorted, 1.0))
}

/// Of sorted times: that which so many of them do not exceed. Microseconds.
fn quantile(sorted: &[Duration], share: f64) -> f64 {
    let at = (sorted.len() - 1) as f64 * share;
    nanos(sorted[at as usize]) / 1e3
}

pub(crate) fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
