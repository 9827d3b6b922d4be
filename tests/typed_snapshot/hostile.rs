//! What is no snapshot, or none of these.
//!
//! Properties:
//! * bytes that were cut off or changed are an error of the format, or a snapshot like any other; nothing that can be read makes a
//!   restoration panic, and what lives afterwards has no more left than the snapshot says;
//! * another version, entries that occur twice, and numbers that were never given are errors, and nothing has changed;
//! * times at the ends of their range are times.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tickwheel::AcquireError;
use tickwheel::snapshot::{LeasesSnapshot, RestoreError};

use crate::kinds::{AsCodes, AsLeases, AsStore, Kind, for_each_kind};
use crate::{Machine, secs};

for_each_kind!(
    another_version_is_an_error,
    what_was_cut_off_is_an_error,
    whatever_was_changed_nothing_panics,
    times_at_the_ends_of_their_range_are_times,
    a_snapshot_from_the_far_past_has_expired_and_one_from_the_future_has_not,
);

const TTL: Duration = secs(600);

fn at_noon<K: Kind>() -> Value {
    let machine = Machine::noon();
    let store = K::start(&machine, TTL);
    store.begin();
    serde_json::to_value(store.save(&machine)).unwrap()
}

/// Restores what was made of a snapshot, on a machine that starts at noon.
fn restore<K: Kind>(snapshot: &Value) -> (K, Result<usize, RestoreError>) {
    let machine = Machine::noon();
    let store = K::start(&machine, TTL);
    let snapshot = serde_json::from_value(snapshot.clone()).unwrap();
    let report = store.restore(snapshot, machine.options());
    (store, report.map(|report| report.restored))
}

fn another_version_is_an_error<K: Kind>() {
    for found in [0, 2, u32::MAX] {
        let mut snapshot = at_noon::<K>();
        snapshot["version"] = json!(found);
        let (store, refused) = restore::<K>(&snapshot);
        assert_eq!(refused, Err(RestoreError::Version { found }));
        assert_eq!((store.left(), store.told().take()), (None, vec![]));
        let text = RestoreError::Version { found }.to_string();
        assert!(text.contains(&found.to_string()));
    }
}

fn what_was_cut_off_is_an_error<K: Kind>() {
    let text = at_noon::<K>().to_string();
    let snapshot: K::Snapshot = serde_json::from_str(&text).unwrap();
    for end in 0..text.len() {
        assert!(serde_json::from_str::<K::Snapshot>(&text[..end]).is_err());
    }
    let bytes = postcard::to_allocvec(&snapshot).unwrap();
    for end in 0..bytes.len() {
        assert!(postcard::from_bytes::<K::Snapshot>(&bytes[..end]).is_err());
    }
}

/// All that is no list and no table, in some order.
fn leaves<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| leaves(value, found)),
        Value::Object(values) => values.values_mut().for_each(|value| leaves(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(value),
    }
}

fn whatever_was_changed_nothing_panics<K: Kind>() {
    let whole = at_noon::<K>();
    let odd = prop_oneof![
        Just(json!(0)),
        Just(json!(1)),
        Just(json!(u64::MAX)),
        Just(json!(u64::MAX - 1)),
        Just(json!(u32::MAX)),
        Just(json!(1u64 << 63)),
        Just(json!(null)),
        Just(json!("")),
        Just(json!(-1)),
        Just(json!({"secs": u64::MAX, "nanos": 999_999_999})),
        Just(json!({"secs": 0, "nanos": 0})),
        any::<u64>().prop_map(|number| json!(number)),
    ];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), odd), 1..6);
    let bytes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    proptest!(|(changes in changes, bytes in bytes)| {
        let mut snapshot = whole.clone();
        for (at, odd) in changes {
            let mut found = Vec::new();
            leaves(&mut snapshot, &mut found);
            let at = at.index(found.len());
            *found[at] = odd;
        }
        if let Ok(snapshot) = serde_json::from_value::<K::Snapshot>(snapshot) {
            check::<K>(snapshot);
        }
        let snapshot: K::Snapshot = serde_json::from_value(whole.clone()).unwrap();
        let mut stored = postcard::to_allocvec(&snapshot).unwrap();
        for (at, byte) in bytes {
            let at = at.index(stored.len());
            stored[at] = byte;
        }
        if let Ok(snapshot) = postcard::from_bytes::<K::Snapshot>(&stored) {
            check::<K>(snapshot);
        }
    });
}

/// Restores it, uses what there is then, and stores it again.
fn check<K: Kind>(snapshot: K::Snapshot) {
    let machine = Machine::noon();
    let store = K::start(&machine, TTL);
    let restored = store.restore(snapshot, machine.options());
    let left = store.left();
    assert_ne!(left, Some(Duration::ZERO));
    let again = store.save(&machine);
    let next = Machine::after(secs(1));
    let other = K::start(&next, TTL);
    if restored.is_ok() {
        let _report = other.restore(again, next.options()).unwrap();
        assert!(other.left() <= left);
    } else {
        assert_eq!((left, K::count(&again)), (None, 0));
    }
    machine.pass(2 * TTL);
    next.pass(Duration::from_secs(u64::MAX));
}

fn times_at_the_ends_of_their_range_are_times<K: Kind>() {
    let last = json!({"secs": u64::MAX, "nanos": 999_999_999});
    let first = json!({"secs": 0, "nanos": 0});
    let noon = at_noon::<K>();
    let deadline = |time: &Value| {
        let mut snapshot = noon.clone();
        K::set_deadline(&mut snapshot, time);
        snapshot
    };
    // Beyond the range of the clock is never.
    let (store, restored) = restore::<K>(&deadline(&last));
    assert_eq!((restored, store.left()), (Ok(1), Some(Duration::MAX)));
    let (store, restored) = restore::<K>(&deadline(&Value::Null));
    assert_eq!((restored, store.left()), (Ok(1), Some(Duration::MAX)));
    // Zero is a time, and long past.
    let (store, restored) = restore::<K>(&deadline(&first));
    assert_eq!((restored, store.left()), (Ok(0), None));
    // What no number of seconds can say is an error of the format.
    for odd in [
        json!({"secs": u64::MAX, "nanos": 1_000_000_000u32}),
        json!({"secs": -1, "nanos": 0}),
        json!(1_900_000_000u64),
    ] {
        assert!(serde_json::from_value::<K::Snapshot>(deadline(&odd)).is_err());
    }
}

fn a_snapshot_from_the_far_past_has_expired_and_one_from_the_future_has_not<K: Kind>() {
    let mut snapshot = at_noon::<K>();
    snapshot["taken_at"] = json!({"secs": u64::MAX, "nanos": 0});
    let (store, restored) = restore::<K>(&snapshot);
    // Its deadline was over when it was taken, it says.
    assert_eq!((restored, store.left()), (Ok(0), None));
    K::set_deadline(
        &mut snapshot,
        &json!({"secs": u64::MAX, "nanos": 999_999_999}),
    );
    let (store, restored) = restore::<K>(&snapshot);
    let left = Duration::from_nanos(999_999_999);
    assert_eq!((restored, store.left()), (Ok(1), Some(left)));

    let mut snapshot = at_noon::<K>();
    snapshot["taken_at"] = json!({"secs": 0, "nanos": 0});
    // All the time until noon has passed for it, and its deadline is what it was.
    let (store, restored) = restore::<K>(&snapshot);
    assert_eq!((restored, store.left()), (Ok(1), Some(TTL)));
    K::set_deadline(&mut snapshot, &json!({"secs": 600, "nanos": 0}));
    let (store, restored) = restore::<K>(&snapshot);
    assert_eq!((restored, store.left()), (Ok(0), None));
}

fn leases(grants: &Value, high_water: u64) -> Value {
    json!({
        "version": 1,
        "taken_at": {"secs": crate::NOON.as_secs(), "nanos": 0},
        "high_water": high_water,
        "grants": grants,
        "delays": [],
    })
}

fn grant(resource: &str, token: u64) -> Value {
    json!({
        "resource": resource, "holder": "worker", "token": token,
        "time_to_live": null, "deadline": null, "cap": null,
    })
}

#[test]
fn leases_that_contradict_each_other_are_malformed() {
    for (grants, high_water) in [
        (json!([grant("a", 1), grant("a", 2)]), 2),
        (json!([grant("a", 1), grant("b", 1)]), 2),
        (json!([grant("a", 3)]), 2),
        (json!([grant("a", 0)]), 2),
        (json!([grant("a", u64::MAX)]), 2),
    ] {
        let (store, refused) = restore::<AsLeases>(&leases(&grants, high_water));
        assert!(matches!(refused, Err(RestoreError::Malformed(_))));
        assert_eq!((store.left(), store.told().take()), (None, vec![]));
    }
    let mut twice = leases(&json!([grant("a", 1)]), 1);
    twice["delays"] = json!([{"resource": "a", "until": null}]);
    let (_, refused) = restore::<AsLeases>(&twice);
    assert!(matches!(refused, Err(RestoreError::Malformed(_))));
}

#[test]
fn after_the_last_token_there_is_none() {
    let last = u64::MAX - 1;
    let snapshot = leases(&json!([grant("a", last)]), last);
    let machine = Machine::noon();
    let leases = tickwheel::Leases::<String>::new(&machine.timers);
    let snapshot: LeasesSnapshot<String> = serde_json::from_value(snapshot).unwrap();
    leases.restore(snapshot, machine.options()).unwrap();
    let grant = leases.resume("a", tickwheel::FencingToken::new(last));
    leases.renew(&grant.unwrap()).unwrap();
    let granted = leases.try_acquire("b", "worker", TTL).unwrap();
    assert_eq!(granted.token().get(), u64::MAX);
    let refused = leases.try_acquire("c", "worker", TTL);
    assert!(matches!(refused, Err(AcquireError::TokensExhausted)));
}

#[test]
fn codes_that_contradict_each_other_are_malformed() {
    let twice = |list: &mut Value| {
        let list = list.as_array_mut().unwrap();
        list.push(list[0].clone());
    };
    let whole = at_noon::<AsCodes>();
    let mut subjects = whole.clone();
    twice(&mut subjects["subjects"]);
    let mut purposes = whole.clone();
    twice(&mut purposes["subjects"][0]["purposes"]);
    let mut next = whole.clone();
    next["next_generation"] = json!(0);
    let mut never = whole.clone();
    never["next_generation"] = json!(u64::MAX);
    for snapshot in [subjects, purposes, next, never] {
        let (store, refused) = restore::<AsCodes>(&snapshot);
        assert!(matches!(refused, Err(RestoreError::Malformed(_))));
        assert_eq!(store.left(), None);
    }
    let mut other = whole;
    other["key_check"][0] = json!(0);
    other["key_check"][1] = json!(0);
    let (_, refused) = restore::<AsCodes>(&other);
    assert_eq!(refused, Err(RestoreError::OtherKey));
}

#[test]
fn sessions_that_contradict_each_other_are_malformed() {
    let whole = at_noon::<AsStore>();
    let twice = |change: &[(&str, Value)]| {
        let mut snapshot = whole.clone();
        snapshot["last_generation"] = json!(2);
        let mut second = whole["sessions"][0].clone();
        for (path, value) in change {
            *second.pointer_mut(path).unwrap() = value.clone();
        }
        snapshot["sessions"].as_array_mut().unwrap().push(second);
        snapshot
    };
    let fine = [("/key/selector", json!(1)), ("/generation", json!(2))];
    assert_eq!(restore::<AsStore>(&twice(&fine)).1, Ok(2));
    let mut never = twice(&fine);
    never["last_generation"] = json!(u64::MAX);
    for snapshot in [
        never,
        twice(&[("/generation", json!(2))]),
        twice(&[("/key/selector", json!(1))]),
        twice(&[("/key/selector", json!(1)), ("/generation", json!(3))]),
        twice(&[("/key/selector", json!(1)), ("/generation", json!(0))]),
        twice(&[fine[0].clone(), fine[1].clone(), ("/principal", json!(""))]),
    ] {
        let (store, refused) = restore::<AsStore>(&snapshot);
        assert!(matches!(refused, Err(RestoreError::Malformed(_))));
        assert_eq!((store.left(), store.told().take()), (None, vec![]));
    }
}
