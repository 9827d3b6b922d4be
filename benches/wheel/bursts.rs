//! What is rare, and what is always: a tick in which everything is due, a tick in which nothing
//! is, a long sleep, and timers that come and go.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::figures::nanos;
use crate::harness::Column;
use crate::memory;
use crate::peers::Peer;
use crate::quiet::undisturbed;
use crate::suite::Setting;
use crate::workloads::{FAR, SPAN, Scenario};

pub(crate) const BURST_COLUMNS: [Column; 3] = [
    ("arm into one tick, ns", 1),
    ("fire in one tick, ns", 1),
    ("worst advance before it, µs", 2),
];

/// Arms all for the same tick, and goes there tick by tick.
pub(crate) fn burst<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    undisturbed(|| burst_once::<P>(scenario))
}

fn burst_once<P: Peer>(scenario: &Scenario) -> Vec<f64> {
    let due = scenario.start + SPAN;
    let (mut peer, keys, arming) = filled::<P>(scenario, |_| due);
    let mut worst = Duration::ZERO;
    for tick in scenario.start + 1..due {
        let clock = Instant::now();
        let fired = peer.advance(tick);
        worst = worst.max(clock.elapsed());
        assert_eq!(fired, 0, "{}: nothing is due at {tick} yet", P::NAME);
    }
    let clock = Instant::now();
    let fired = peer.advance(due);
    let firing = clock.elapsed();
    assert_eq!(fired, scenario.n as u64, "{}: all are due at once", P::NAME);
    release(&mut peer, keys);
    let per_timer = |time| nanos(time) / scenario.n as f64;
    vec![per_timer(arming), per_timer(firing), nanos(worst) / 1e3]
}

pub(crate) const NOTHING_COLUMNS: [Column; 1] = [("nothing due, ns", 1)];

/// Ticks in which nothing is due.
const TICKS: u64 = 20_000;

/// Advances tick by tick while everything that is armed is due in half an hour.
pub(crate) fn nothing<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    let (mut peer, keys, _) = filled::<P>(scenario, |at| at + FAR);
    let clock = Instant::now();
    for tick in 1..=TICKS {
        let fired = black_box(&mut peer).advance(scenario.start + tick);
        assert_eq!(fired, 0, "{}: nothing is due at {tick} yet", P::NAME);
    }
    let elapsed = clock.elapsed();
    release(&mut peer, keys);
    vec![nanos(elapsed) / TICKS as f64]
}

pub(crate) const JUMP_COLUMNS: [Column; 1] = [("12 hours at once, ns", 0)];

const DAY: u64 = 24 * 60 * 60 * 1_000;
const JUMPS: u32 = 20;

/// Advances by half a day at once, over timers that are spread over a day.
pub(crate) fn jump<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    let n = scenario.n as u64;
    let mut total = Duration::ZERO;
    for _ in 0..JUMPS {
        let mut peer = P::new(scenario.n);
        let keys: Vec<_> = peer.within(|peer| {
            let ids = 1..=u32::try_from(n).expect("a timer's number has 32 bits");
            ids.map(|id| peer.arm(u64::from(id) * DAY / n, id))
                .collect()
        });
        let clock = Instant::now();
        let fired = peer.advance(DAY / 2);
        total += clock.elapsed();
        assert_eq!(fired, n / 2, "{}: half of {n} timers are due", P::NAME);
        release(&mut peer, keys);
    }
    vec![nanos(total) / f64::from(JUMPS)]
}

pub(crate) const CHURN_COLUMNS: [Column; 2] =
    [("when armed, B/timer", 1), ("after churn, B/timer", 1)];

/// Timers that come and go, and how many of them in a tick.
const REPLACED: usize = 2_000_000;
const A_TICK: usize = 100;

/// Replaces the oldest timer by one that is due half a minute to a minute and a half later,
/// again and again, while time goes on: bytes for each armed timer, before and after.
pub(crate) fn churn<P: Peer>(setting: &Setting) -> Vec<f64> {
    let scenario = &setting.scenario();
    let (n, before) = (scenario.n, memory::live());
    let (mut peer, mut keys, _) = filled::<P>(scenario, |at| at + SPAN / 2);
    let keys_take = keys.capacity() * size_of::<Option<P::Key>>();
    let per_timer = || (memory::live().saturating_sub(before + keys_take)) as f64 / n as f64;
    let armed = per_timer();
    peer.within(|peer| {
        for replaced in 0..REPLACED {
            let tick = (replaced / A_TICK) as u64;
            if replaced % A_TICK == 0 && tick > 0 {
                let fired = peer.advance(scenario.start + tick);
                assert_eq!(fired, 0, "{}: nothing gets that old", P::NAME);
            }
            let at = replaced % n;
            if let Some(key) = keys[at].take() {
                peer.cancel(key);
            }
            let id = u32::try_from(at).expect("a timer's number has 32 bits");
            let due = scenario.fresh(replaced / n)[at] + tick + SPAN / 2;
            keys[at] = Some(peer.arm(due, id));
        }
    });
    let after = per_timer();
    release(&mut peer, keys);
    vec![armed, after]
}

// --- what they share ---

/// A peer in which every timer of the scenario is armed, the keys, and how long that took.
fn filled<P: Peer>(
    scenario: &Scenario,
    due: impl Fn(u64) -> u64,
) -> (P, Vec<Option<P::Key>>, Duration) {
    let mut keys = Vec::with_capacity(scenario.n);
    let mut peer = P::new(scenario.n);
    peer.advance(scenario.start);
    let arming = peer.within(|peer| {
        let clock = Instant::now();
        for (&at, id) in scenario.first.iter().zip(0..) {
            keys.push(Some(peer.arm(due(at), id)));
        }
        clock.elapsed()
    });
    (peer, keys, arming)
}

fn release<P: Peer, K: Into<Option<P::Key>>>(peer: &mut P, keys: Vec<K>) {
    for key in keys.into_iter().filter_map(Into::into) {
        peer.release(key);
    }
}
