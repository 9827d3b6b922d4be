//! Criterion: every workload that is about time, every shape, every peer.
//!
//! One iteration is one pass over all timers, or one batch; the throughput is per operation. Each
//! sample begins with a peer of its own, prepared while the clock stands.

use std::collections::BTreeSet;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

use super::{Options, Shape, Suite, Workload};

/// Samples; or, where only that is wanted or nothing can be sampled, runs everything once.
pub(crate) fn run<S: Shape>(
    suite: &Suite<S>,
    options: &Options,
    quick: bool,
) -> Result<(), String> {
    let all = || suite.parts.iter().chain(suite.workloads);
    if quick || !all().any(|workload| workload.sampled) {
        return all().try_for_each(|workload| once(workload, options));
    }
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for workload in all().filter(|workload| workload.sampled) {
        group(&mut criterion, workload, (workload.shapes)(options));
    }
    criterion.final_summary();
    Ok(())
}

fn group<S: Shape>(criterion: &mut Criterion, workload: &Workload<S>, shapes: Vec<S>) {
    let mut group = criterion.benchmark_group(workload.name);
    group.sampling_mode(SamplingMode::Flat);
    for shape in shapes {
        let (_, operations) = shape.passes(1);
        group.throughput(Throughput::Elements(operations as u64));
        for peer in workload.peers {
            let id = BenchmarkId::new(peer.name, shape.name());
            group.bench_function(id, |bencher| {
                bencher.iter_custom(|passes| sample(peer.measure, shape, passes));
            });
        }
    }
    group.finish();
}

/// As long as so many passes take.
fn sample<S: Shape>(measure: fn(&S) -> Vec<f64>, shape: S, passes: u64) -> Duration {
    let passes = usize::try_from(passes).expect("fewer passes than bytes of memory");
    let (shape, operations) = shape.passes(passes);
    let nanos = measure(&shape)[0];
    Duration::from_secs_f64(nanos * (passes * operations) as f64 / 1e9)
}

/// Runs every peer once, small enough to see that it works.
fn once<S: Shape>(workload: &Workload<S>, options: &Options) -> Result<(), String> {
    let mut done = BTreeSet::new();
    for shape in (workload.shapes)(options) {
        let shape = shape.quick();
        // What differs in size alone is the same now.
        if !done.insert(shape.name()) {
            continue;
        }
        for peer in workload.peers {
            let (found, wanted) = ((peer.measure)(&shape), workload.columns.len());
            if found.len() < wanted {
                let (name, peer) = (workload.name, peer.name);
                return Err(format!("{name}, {peer}: {wanted} figures, not {found:?}"));
            }
        }
    }
    println!("{} ran once; `--table` measures it", workload.name);
    Ok(())
}
