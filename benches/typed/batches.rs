//! Threads that go over keys in an order without a pattern, batch by batch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::suite::Shape;
use crate::threads::together;

const SEED: u64 = 7;

/// Keys that are visited before those of the first batches come again, at least.
const ORDER: usize = 1 << 17;

/// As many random keys.
pub(crate) fn random_keys(n: usize) -> Vec<u128> {
    let mut rng = SmallRng::seed_from_u64(SEED);
    (0..n).map(|_| rng.random()).collect()
}

/// Each of them in a random order, again and again in other ones.
pub(crate) fn shuffled<K: Clone>(keys: &[K], thread: usize) -> Vec<K> {
    let mut rng = SmallRng::seed_from_u64(SEED + 1 + thread as u64);
    let mut once = keys.to_vec();
    let mut order = Vec::with_capacity(ORDER + keys.len());
    while order.len() < ORDER {
        once.shuffle(&mut rng);
        order.extend_from_slice(&once);
    }
    order
}

/// Has each thread go over the keys of its order, and do what `make` has made for it. Nanoseconds per operation and
/// thread: the 10th percentile of the batches, and their median.
///
/// The first thread to be done stops the others: all were at it all the time.
pub(crate) fn go_over<K: Sync, Work: FnMut(&K)>(
    shape: &Shape,
    orders: &[Vec<K>],
    make: impl Fn(usize) -> Work + Sync,
) -> Vec<f64> {
    let stop = AtomicBool::new(false);
    let each = together(shape.threads, |thread, gate| {
        let mut work = make(thread);
        let mut keys = orders[thread].iter().cycle();
        let mut batch = || {
            let clock = Instant::now();
            keys.by_ref().take(shape.batch).for_each(&mut work);
            clock.elapsed().as_nanos() as f64 / shape.batch as f64
        };
        for _ in 0..shape.batches.min(WARM_UP) {
            batch();
        }
        gate.wait();
        let mut batches = Vec::with_capacity(shape.batches);
        loop {
            batches.push(batch());
            // Nothing is read that another thread has written before it stopped this one.
            if batches.len() >= shape.batches || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        batches
    });
    if each.iter().any(|batches| batches.len() < shape.batches / 2) {
        eprintln!("typed: a thread hardly ran while another one did; the figure says little");
    }
    let each = each
        .into_iter()
        .map(|batches| quantiles(batches, [0.1, 0.5]));
    mean(&each.collect::<Vec<_>>())
}

/// Batches before the clock runs.
const WARM_UP: usize = 20;

/// Those parts of the figures lie below.
pub(crate) fn quantiles<const N: usize>(mut figures: Vec<f64>, shares: [f64; N]) -> [f64; N] {
    figures.sort_unstable_by(f64::total_cmp);
    shares.map(|share| figures[((figures.len() - 1) as f64 * share) as usize])
}

/// Of each figure, over the threads.
fn mean<const N: usize>(each: &[[f64; N]]) -> Vec<f64> {
    (0..N)
        .map(|figure| each.iter().map(|figures| figures[figure]).sum::<f64>() / each.len() as f64)
        .collect()
}
