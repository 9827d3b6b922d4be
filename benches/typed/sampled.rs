//! The Criterion groups: every workload that is about time, every shape, every peer.
//!
//! One iteration is one batch; the throughput is per operation. Each sample begins with a peer
//! of its own, prepared while the clock stands.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

use crate::suite::{Kind, Shape, WORKLOADS, Workload};

pub(crate) fn run(quick: bool) {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for workload in &WORKLOADS {
        if workload.kind == Kind::Time {
            group(&mut criterion, workload, quick);
        } else if quick {
            once(workload);
        }
    }
    criterion.final_summary();
}

fn group(criterion: &mut Criterion, workload: &Workload, quick: bool) {
    let mut group = criterion.benchmark_group(workload.name);
    group.sampling_mode(SamplingMode::Flat);
    for shape in workload.shapes {
        let shape = if quick { shape.quick() } else { *shape };
        group.throughput(Throughput::Elements(shape.batch as u64));
        for peer in workload.peers {
            group.bench_function(BenchmarkId::new(peer.name, shape.name), |bencher| {
                bencher.iter_custom(|batches| sample(peer.measure, shape, batches));
            });
        }
    }
    group.finish();
}

/// As long as `batches` batches take.
fn sample(measure: fn(&Shape) -> Vec<f64>, shape: Shape, batches: u64) -> Duration {
    let batches = usize::try_from(batches).expect("fewer batches than bytes of memory");
    let nanos = measure(&Shape { batches, ..shape })[0];
    Duration::from_secs_f64(nanos * (batches * shape.batch) as f64 / 1e9)
}

/// What Criterion has no way to sample is in the tables only.
fn once(workload: &Workload) {
    for shape in workload.shapes {
        for peer in workload.peers {
            (peer.measure)(&shape.quick());
        }
    }
    println!("{} ran once; `--table` measures it", workload.name);
}
