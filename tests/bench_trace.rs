//! The trace of connection timers that the benches replay.
//!
//! - One seed gives one trace, event by event; another seed gives another.
//! - It is in order of time, and each connection opens once, and closes once or not at all.
//! - As many timers fire as it says, and no event comes after its timer has fired.
//! - It is what its description says: 95 in 100 timers are cancelled, and each is pushed out a few times.

#[path = "../benches/wheel/trace.rs"]
mod trace;

use std::collections::BTreeMap;

use trace::{Act, IDLE, Trace};

const SEED: u64 = 7;
const CONNECTIONS: usize = 10_000;

/// FNV-1a, 64 bits, of everything in the events.
fn digest(trace: &Trace) -> u64 {
    let words = trace
        .events
        .iter()
        .flat_map(|event| [event.tick, event.connection, event.act as u32]);
    words
        .flat_map(u32::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

fn count(trace: &Trace, act: Act) -> usize {
    trace.events.iter().filter(|event| event.act == act).count()
}

#[test]
fn one_seed_gives_one_trace() {
    let trace = Trace::new(SEED, CONNECTIONS);
    assert_eq!(trace.events.len(), 77_568);
    assert_eq!(trace.fired, 526);
    assert_eq!(digest(&trace), 0x6fca_d43d_4ed1_9194);
    assert_ne!(
        digest(&trace),
        digest(&Trace::new(SEED + 1, CONNECTIONS)),
        "another seed gives another trace"
    );
}

#[test]
fn it_is_in_order_of_time() {
    let trace = Trace::new(SEED, CONNECTIONS);
    for pair in trace.events.windows(2) {
        assert!(pair[0].tick <= pair[1].tick, "{pair:?}");
    }
    assert_eq!(count(&trace, Act::Open), trace.connections);
}

#[test]
fn as_many_timers_fire_as_it_says() {
    let trace = Trace::new(SEED, CONNECTIONS);
    let mut due = BTreeMap::new();
    for event in &trace.events {
        let now = u64::from(event.tick);
        let before = due.get(&event.connection).copied();
        match event.act {
            Act::Open => assert_eq!(before, None, "{event:?} is the first"),
            Act::Push | Act::Close => {
                let due = before.expect("it has opened, and not closed");
                assert!(now < due, "{event:?} when its timer has fired at {due}");
            }
        }
        if event.act == Act::Close {
            due.remove(&event.connection);
        } else {
            due.insert(event.connection, now + IDLE);
        }
    }
    assert_eq!(due.len() as u64, trace.fired);
    let last_event = trace.events.last().map(|event| u64::from(event.tick));
    let last_firing = due.into_values().max();
    assert_eq!(last_event.max(last_firing), Some(trace.end));
}

#[test]
fn most_timers_are_pushed_out_and_then_cancelled() {
    let trace = Trace::new(SEED, CONNECTIONS);
    let timers = trace.connections as f64;
    let cancelled = count(&trace, Act::Close) as f64 / timers;
    assert!(
        (0.93..0.96).contains(&cancelled),
        "{cancelled} of the timers"
    );
    let pushed = count(&trace, Act::Push) as f64 / timers;
    assert!((3.0..6.0).contains(&pushed), "{pushed} times each");
}
