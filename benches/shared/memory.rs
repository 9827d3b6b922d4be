//! What stays resident: per timer, and after many came and went.

use crate::cross::{Relay, Time};
use crate::peers::{Hand, Peer};
use crate::resident::resident;
use crate::workloads::{Replaced, SPAN, Shape, Ticks};

/// Bytes per timer, armed and filed where the driver will look for it.
pub(crate) fn bytes_per_timer<P: Peer>(shape: &Shape) -> Vec<f64> {
    let ticks = Ticks::new(shape.n, 0, SPAN);
    let peer = P::new(1);
    let mut hand = peer.hand(0);
    let before = resident();
    let mut timer = <P::Hand<'_> as Hand>::blank();
    for (at, id) in ticks.of(0).zip(0..) {
        hand.arm(&mut timer, at, id);
    }
    peer.drive(0);
    let taken = resident().saturating_sub(before);
    vec![taken as f64 / shape.n as f64]
}

/// Replaces timers while nobody drives: KiB by which the process has grown, and what it had
/// before, once every timer had been replaced a few times.
pub(crate) fn churn<P: Peer>(shape: &Shape) -> Vec<f64> {
    let peer = P::new(1);
    let mut replaced = Replaced::new(peer.hand(0), shape.n, 0);
    let grown = grown(shape.passes, |passes| {
        for _ in 0..passes {
            replaced.pass(0);
        }
    });
    replaced.cancel_all();
    grown
}

/// The same where one thread arms and another one cancels.
pub(crate) fn churn_cross<P: Peer + Sync>(shape: &Shape) -> Vec<f64>
where
    P::Timer: Send,
{
    let relay = Relay::<P>::new(shape.n / 2);
    grown(2 * shape.passes, |batches| {
        relay.run(batches, Time::Rests);
    })
}

fn grown(passes: usize, mut run: impl FnMut(usize)) -> Vec<f64> {
    run(passes.div_ceil(50));
    let before = resident();
    run(passes);
    let kib = [resident() as f64 - before as f64, before as f64];
    kib.map(|bytes| bytes / 1024.0).to_vec()
}
