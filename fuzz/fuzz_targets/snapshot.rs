//! Snapshots that nobody has taken: of sessions, of a store of sessions, of leases, of one-time codes, of accepted steps. Each
//! is refused with the error that a plain reading finds, or restored; then there lives what the rule says, for as long
//! as it says and no nanosecond longer, also through the next snapshot.

#![no_main]

#[path = "../snapshot/codes.rs"]
mod codes;
#[path = "../snapshot/kind.rs"]
mod kind;
#[path = "../snapshot/leases.rs"]
mod leases;
#[path = "../snapshot/machine.rs"]
mod machine;
#[path = "../snapshot/sessions.rs"]
mod sessions;
#[path = "../snapshot/steps.rs"]
mod steps;

use std::collections::BTreeMap;
use std::time::Duration;

use kind::Kind;
use libfuzzer_sys::fuzz_target;
use machine::{Machine, Passed};
use tickwheel::snapshot::RestoreError;

/// What precedes the snapshot in the bytes.
const HEAD: usize = 6;

fn run<K: Kind>(head: [u8; HEAD], bytes: &[u8]) {
    let [_, format, policy, high, low, margin] = head;
    let json = format % 2 == 1;
    let read = if json {
        serde_json::from_slice(bytes).ok()
    } else {
        postcard::from_bytes(bytes).ok()
    };
    let Some(mut snapshot): Option<K::Snapshot> = read else {
        return; // an error of the format
    };
    // Else most are refused at once.
    if format / 2 % 4 > 0 {
        K::fold(&mut snapshot);
    }
    let machine = Machine::at(i16::from_be_bytes([high, low]));
    let passed = Passed {
        counts: policy % 2 == 0,
        margin: Duration::from_secs(u64::from(margin)),
    };
    let store = K::start(&machine);
    let restored = store.restore(snapshot.clone(), machine.options(&passed));
    let report = match (K::flaw(&snapshot), restored) {
        (None, Ok(report)) => report,
        (Some(flaw), Err(found)) => {
            let same = match (flaw, found) {
                (RestoreError::Malformed(_), RestoreError::Malformed(_)) => true,
                (flaw, found) => flaw == found,
            };
            assert!(same, "{flaw:?} is refused as {found:?}");
            assert_eq!(
                (store.len(), store.told()),
                (0, 0),
                "{found:?} has changed it"
            );
            return;
        }
        (flaw, restored) => panic!("{flaw:?} gives {restored:?}"),
    };
    let expected = K::expect(&snapshot, &machine, &passed);
    assert_eq!(report.restored, expected.restored);
    assert_eq!(report.expired, expected.expired);
    assert_eq!((report.refused, report.occupied), (expected.refused, 0));
    assert_eq!(store.told(), expected.told);
    assert_eq!(
        report.elapsed,
        machine.elapsed(&passed, K::taken_at(&snapshot))
    );
    store.is_asked(&snapshot, &expected.lives);
    grow_old(&store, &machine, expected.lives);
    store.goes_on(&snapshot);
    // Long after the end of all of it nothing is left that has an end.
    machine.pass(Duration::from_secs(u64::MAX));
}

/// Each thing lives up to its deadline and not at it, here and in who takes over.
fn grow_old<K: Kind>(store: &K, machine: &Machine, mut lives: BTreeMap<K::Id, u64>) {
    for nth in 0..4 {
        compare(store, machine, &lives);
        let next = lives.values().copied().filter(|until| *until < u64::MAX);
        let Some(next) = next.min() else { break };
        machine.clock.advance(machine.until(next - 1));
        compare(store, machine, &lives);
        machine.clock.advance(Duration::from_nanos(1));
        if nth % 2 == 0 {
            machine.timers.turn_fully().unwrap();
        }
        lives.retain(|_, until| *until > next);
    }
    compare(store, machine, &lives);
}

/// What lives is what another snapshot says, and lives on for as long after it.
fn compare<K: Kind>(store: &K, machine: &Machine, lives: &BTreeMap<K::Id, u64>) {
    let snapshot = store.save(machine);
    let bytes = postcard::to_allocvec(&snapshot).unwrap();
    let again: K::Snapshot = postcard::from_bytes(&bytes).unwrap();
    let now = Passed {
        counts: true,
        margin: Duration::ZERO,
    };
    assert!(
        K::flaw(&again).is_none(),
        "it takes what it would not restore"
    );
    let expected = K::expect(&again, machine, &now);
    assert_eq!(&expected.lives, lives);
    assert_eq!(expected.expired, 0);
    // A second later, in another process.
    let later = Machine::after(machine, Duration::from_secs(1));
    let other = K::start(&later);
    other.restore(again.clone(), later.options(&now)).unwrap();
    let left = K::expect(&again, &later, &now).lives;
    let end = |until: u64| until.saturating_sub(1_000_000_000);
    for (id, until) in &left {
        let before = machine.left(lives[id]);
        let after = later.left(*until);
        assert_eq!(after, before.map(|before| end(before)), "of {id:?}");
    }
    assert_eq!(K::expect(&other.save(&later), &later, &now).lives, left);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((head, bytes)) = bytes.split_first_chunk::<HEAD>() else {
        return;
    };
    match head[0] % 5 {
        0 => run::<sessions::ByKey>(*head, bytes),
        1 => run::<sessions::Stored>(*head, bytes),
        2 => run::<leases::Held>(*head, bytes),
        3 => run::<codes::Issued>(*head, bytes),
        _ => run::<steps::Accepted>(*head, bytes),
    }
});
