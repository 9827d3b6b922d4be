//! What the driver pays: taking in what was armed, and firing it.

use std::time::Duration;

use crate::peers::{Hand, Peer};
use crate::workloads::{SPAN, Shape, Steps, Ticks, per_timer, time};

/// Arms timers and fires all of them: nanoseconds per timer for firing, and for arming.
///
/// What the driver has to do before it can fire counts as firing.
pub(crate) fn drive<P: Peer>(shape: &Shape) -> Vec<f64> {
    let ticks = Ticks::new(shape.n, 0, shape.span);
    let (mut arming, mut firing) = (Duration::ZERO, Duration::ZERO);
    for pass in 0..shape.passes {
        let peer = P::new(1);
        let mut hand = peer.hand(0);
        arming += time(|| {
            let mut timer = <P::Hand<'_> as Hand>::blank();
            for (at, id) in ticks.of(pass).zip(0..) {
                hand.arm(&mut timer, at + (SPAN - shape.span) / 2, id);
            }
        });
        let mut fired = 0;
        firing += time(|| {
            fired = match shape.steps {
                Steps::One => peer.drive(SPAN),
                Steps::PerTick => (1..=SPAN).map(|tick| peer.drive(tick)).sum(),
            }
        });
        let (name, n) = (P::NAME, shape.n);
        assert_eq!(fired, n as u64, "{name}: {fired} of {n} timers fired");
    }
    [firing, arming]
        .map(|total| per_timer(total, shape.passes * shape.n))
        .to_vec()
}
