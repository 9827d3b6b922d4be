//! The trace of connection timers, replayed.

use std::time::{Duration, Instant};

use crate::figures::{nanos, tail};
use crate::harness::Column;
use crate::memory;
use crate::peers::Peer;
use crate::quiet::undisturbed;
use crate::suite::Setting;
use crate::trace::{Act, IDLE, Trace};

pub(crate) const COLUMNS: [Column; 4] = [
    ("an event of the trace, ns", 1),
    ("p99.9 advance in the trace, µs", 2),
    ("worst advance in the trace, µs", 2),
    ("peak of the trace, B/timer", 1),
];

const SEED: u64 = 7;

/// Replays it twice: once as a whole, and once with a clock around every advance.
pub(crate) fn replay<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    let trace = Trace::new(SEED, scenario.n);
    let (whole, bytes) = play::<P>(&trace, |peer, tick| peer.advance(tick));
    let mut times = undisturbed(|| {
        let mut times = Vec::with_capacity(usize::try_from(trace.end).unwrap_or(0) + 1);
        play::<P>(&trace, |peer, tick| {
            let clock = Instant::now();
            let fired = peer.advance(tick);
            times.push(clock.elapsed());
            fired
        });
        times
    });
    times.sort_unstable();
    let (p999, worst) = tail(&times);
    vec![nanos(whole) / trace.events.len() as f64, p999, worst, bytes]
}

/// How long the trace took, advances included, and how many bytes the peer had at most for each
/// timer that was armed at the busiest moment.
fn play<P: Peer>(trace: &Trace, mut advance: impl FnMut(&mut P, u64) -> u64) -> (Duration, f64) {
    let mut keys: Vec<_> = (0..trace.connections).map(|_| None).collect();
    let before = memory::live();
    let mut peer = P::new(0);
    let (mut fired, mut armed, mut most_armed, mut most_bytes) = (0, 0_u64, 0, 0);
    let mut events = trace.events.iter().peekable();
    let elapsed = peer.within(|peer| {
        let clock = Instant::now();
        for tick in 0..=trace.end {
            if tick > 0 {
                let now = advance(peer, tick);
                fired += now;
                armed -= now;
            }
            while let Some(event) = events.next_if(|event| u64::from(event.tick) == tick) {
                let key = &mut keys[event.connection as usize];
                let due = tick + IDLE;
                match (event.act, key.take()) {
                    (Act::Open, _) => {
                        *key = Some(peer.arm(due, event.connection));
                        armed += 1;
                    }
                    (Act::Push, Some(old)) => *key = Some(peer.rearm(old, due, event.connection)),
                    (Act::Close, Some(old)) => {
                        peer.cancel(old);
                        armed -= 1;
                    }
                    (Act::Push | Act::Close, None) => unreachable!("it is open"),
                }
            }
            most_armed = most_armed.max(armed);
            most_bytes = most_bytes.max(memory::live().saturating_sub(before));
        }
        clock.elapsed()
    });
    assert_eq!(fired, trace.fired, "{}: as the trace says", P::NAME);
    for key in keys.into_iter().flatten() {
        peer.release(key);
    }
    (elapsed, most_bytes as f64 / most_armed as f64)
}
