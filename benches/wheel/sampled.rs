//! The Criterion groups: every workload, on every peer, at two sizes.
//!
//! One iteration is one pass over all timers; the throughput is per timer. Each sample
//! begins with a peer of its own, prepared while the clock stands.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

use crate::peers::Peer;
use crate::workloads::{Population, Scenario};
use crate::{CONTENDERS, Contender};

const SIZES: [usize; 2] = [10_000, 1_000_000];

/// Enough to see that everything runs.
const QUICK: [usize; 1] = [500];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    Arm,
    CancelArm,
    Rearm,
    Refresh,
    Expire,
}

const WORKLOADS: [(Workload, &str); 5] = [
    (Workload::Arm, "arm"),
    (Workload::CancelArm, "cancel_arm"),
    (Workload::Rearm, "rearm"),
    (Workload::Refresh, "refresh"),
    (Workload::Expire, "expire"),
];

pub(crate) fn run(quick: bool) {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for n in if quick { &QUICK[..] } else { &SIZES[..] } {
        let scenario = Scenario::new(*n, 0);
        for (workload, name) in WORKLOADS {
            group(&mut criterion, name, workload, &scenario);
        }
    }
    criterion.final_summary();
}

fn group(criterion: &mut Criterion, name: &str, workload: Workload, scenario: &Scenario) {
    let mut group = criterion.benchmark_group(name);
    group
        .throughput(Throughput::Elements(scenario.n as u64))
        .sampling_mode(SamplingMode::Flat);
    for Contender { name, sample, .. } in CONTENDERS {
        group.bench_function(BenchmarkId::new(name, scenario.n), |bencher| {
            bencher.iter_custom(|passes| sample(workload, scenario, passes));
        });
    }
    group.finish();
}

/// Times `passes` passes of `workload`.
pub(crate) fn sample<P: Peer>(workload: Workload, scenario: &Scenario, passes: u64) -> Duration {
    match workload {
        Workload::Arm => {
            let mut population = Population::<P>::new(scenario);
            times(passes, || {
                population.cancel();
                population.arm()
            })
        }
        Workload::CancelArm => {
            let mut population = Population::<P>::scattered(scenario);
            times(passes, || population.cancel_arm())
        }
        Workload::Rearm => {
            let mut population = Population::<P>::scattered(scenario);
            times(passes, || population.rearm())
        }
        Workload::Refresh => {
            let mut population = Population::<P>::scattered(scenario);
            population.put_off();
            times(passes, || population.refresh())
        }
        Workload::Expire => times(passes, || Population::<P>::mixed(scenario).expire()),
    }
}

fn times(passes: u64, mut pass: impl FnMut() -> Duration) -> Duration {
    (0..passes).map(|_| pass()).sum()
}
