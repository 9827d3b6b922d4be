//! Every figure of one peer, measured in a process of its own so that no other has had
//! its hands in the memory before.

use std::time::Duration;

use crate::peers::Peer;
use crate::workloads::{IDLE_TICKS, Population, Scenario};
use crate::{CONTENDERS, ours, rounds};

/// What `measure` returns, in that order: heading and digits after the point.
///
/// Nanoseconds per timer, or per tick; microseconds where a single advance is meant.
pub(crate) const COLUMNS: [(&str, usize); 9] = [
    ("arm, ns", 1),
    ("cancel+arm, ns", 1),
    ("rearm, ns", 1),
    ("refresh, ns", 1),
    ("expire, ns", 1),
    ("p99.9 advance, µs", 2),
    ("worst advance, µs", 2),
    ("idle tick, ns", 1),
    ("B/timer", 1),
];

/// Timed passes: many over few timers, few over many.
const OPERATIONS: usize = 2_000_000;

/// Arming is timed from empty, which makes a peer that deletes lazily grow with each pass.
const MOST_ARMS: usize = 20;

pub(crate) fn measure<P: Peer>(scenario: &Scenario) -> Vec<f64> {
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
    let mut population = Population::<P>::mixed(scenario);
    let advances = population.advances();
    let idle_tick = nanos(population.idle()) / IDLE_TICKS as f64;
    let (p999, worst) = tail(&advances);
    vec![
        arm, cancel_arm, rearm, refresh, expire, p999, worst, idle_tick, bytes,
    ]
}

/// Of sorted times: that which one in a thousand exceeds, and the longest. Microseconds.
pub(crate) fn tail(sorted: &[Duration]) -> (f64, f64) {
    let last = sorted.len() - 1;
    let micros = |at: usize| nanos(sorted[at]) / 1e3;
    (micros(last * 999 / 1000), micros(last))
}

pub(crate) fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// Does one job of the table and prints what it found on one line.
pub(crate) fn print(job: &str, scenario: &Scenario) -> Result<(), String> {
    let figures = match job {
        ours::TICKLESS => ours::tickless(scenario),
        ours::JUMP => ours::jump(),
        name => {
            let contender = CONTENDERS.iter().find(|contender| contender.name == name);
            let contender = contender.ok_or_else(|| format!("{name}: no such job"))?;
            (contender.measure)(scenario)
        }
    };
    rounds::print(&figures);
    Ok(())
}
