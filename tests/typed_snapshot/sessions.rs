//! Sessions that live on.
//!
//! Properties:
//! * who was logged in is logged in, by the same id, and who was logged out is not; values, versions, principals, generations and both
//!   deadlines are as they were; touches move the idle deadline as ever, and the absolute one never moves;
//! * a snapshot holds no id, and with another key it is an error;
//! * what has expired meanwhile is told of with its reason, whichever of the two deadlines it was;
//! * generations go on; when a session was started is never later than now.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::snapshot::{RestoreError, RestoreReport, SessionStoreSnapshot, SessionsSnapshot};
use tickwheel::{
    EndReason, SessionId, SessionLimits, SessionPolicy, SessionStore, Sessions, Timestamp,
    UpdateError,
};

use crate::{KEY, Machine, NANO, secs, stored};

pub(crate) const POLICY: SessionPolicy = SessionPolicy::new().idle(secs(300)).absolute(secs(1000));

/// Neither `Clone` nor `PartialEq`.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Basket(Vec<String>);

pub(crate) type Ends = Arc<Mutex<Vec<(Option<String>, EndReason, u64, Timestamp)>>>;

pub(crate) fn store(machine: &Machine, policy: SessionPolicy) -> (SessionStore<Basket>, Ends) {
    let ends = Ends::default();
    let log = Arc::clone(&ends);
    let store = SessionStore::builder(&machine.timers, policy)
        .digest_key(KEY)
        .on_end(move |ended| {
            let key = ended.key.map(|key| String::from(&*key));
            let end = (key, ended.reason, ended.generation, ended.deadline);
            log.lock().unwrap().push(end);
        });
    (store.build().unwrap(), ends)
}

pub(crate) fn basket(item: &str) -> Basket {
    Basket(vec![item.into()])
}

pub(crate) fn save(
    store: &SessionStore<Basket>,
    machine: &Machine,
) -> SessionStoreSnapshot<Basket> {
    stored(&store.snapshot_at(machine.anchor))
}

/// Three sessions at noon, all started 200 seconds before, alice's second one touched at noon.
fn at_noon() -> (SessionStoreSnapshot<Basket>, [SessionId; 3]) {
    let machine = Machine::before(secs(200));
    let (store, _) = store(&machine, POLICY);
    let (first, _) = store.create("alice", basket("pear")).unwrap();
    let (second, _) = store.create("alice", basket("plum")).unwrap();
    let (third, _) = store.create_anonymous(basket("fig")).unwrap();
    machine.pass(secs(200));
    assert!(store.get(&second).is_some());
    (save(&store, &machine), [first, second, third])
}

#[test]
fn who_was_logged_in_is_logged_in() {
    let (snapshot, [first, second, third]) = at_noon();
    let machine = Machine::after(secs(10));
    let (store, _) = store(&machine, POLICY);
    let report = store.restore(snapshot, machine.options()).unwrap();
    assert_eq!((report.restored, report.expired), (3, 0));
    for (id, item, idle, generation) in [
        (&first, "pear", 90, 1),
        (&second, "plum", 290, 2),
        (&third, "fig", 90, 3),
    ] {
        let session = store.peek(id).unwrap();
        assert_eq!(
            (session.0.as_slice(), session.version),
            (&[item.into()][..], 0)
        );
        assert_eq!(session.generation, generation);
        assert_eq!(session.created, Timestamp::from_duration(secs(5_000 - 210)));
        let left = store.time_to_live(id).unwrap();
        assert_eq!(
            (left.idle, left.absolute),
            (Some(secs(idle)), Some(secs(790)))
        );
    }
    // A touch moves the one and not the other, and never beyond it.
    let left = store.touch(&first).unwrap();
    assert_eq!(
        (left.idle, left.absolute),
        (Some(secs(300)), Some(secs(790)))
    );
    for _ in 0..3 {
        machine.pass(secs(250));
        assert!(store.get(&first).is_some());
    }
    let left = store.time_to_live(&first).unwrap();
    assert_eq!((left.idle, left.absolute), (Some(secs(40)), Some(secs(40))));
    machine.pass(secs(40));
    assert!(store.get(&first).is_none());
    assert_eq!(store.revoke_all("alice"), 0);
}

#[test]
fn who_was_logged_out_is_not_logged_in() {
    let before = Machine::noon();
    let (old, _) = store(&before, POLICY.cycle_grace(secs(30)));
    let (gone, _) = old.create("alice", basket("pear")).unwrap();
    let (cycled, _) = old.create("bob", basket("plum")).unwrap();
    old.revoke(&gone).unwrap();
    let fresh = old.cycle_id(&cycled).unwrap();
    let snapshot = save(&old, &before);
    for (down, former) in [(30 - 1, true), (30, false)] {
        let machine = Machine::after(secs(down));
        let (store, _) = store(&machine, POLICY);
        store.restore(snapshot.clone(), machine.options()).unwrap();
        assert!(store.peek(&gone).is_none());
        assert!(store.peek(&fresh).is_some());
        assert_eq!(store.peek(&cycled).is_some(), former);
        assert!(store.cycle_id(&cycled).is_err());
        assert!(store.cycle_id(&fresh).is_ok());
        assert_eq!((store.revoke_all("bob"), store.len()), (1, 0));
    }
}

#[test]
fn versions_and_principals_are_as_they_were() {
    let before = Machine::noon();
    let (old, _) = store(&before, POLICY);
    let (id, seen) = old.create_anonymous(basket("pear")).unwrap();
    let newer = old.update(&id, &seen, basket("plum")).unwrap();
    let id = old.cycle_id_as(&id, "alice").unwrap();
    let machine = Machine::noon();
    let (store, _) = store(&machine, POLICY);
    store
        .restore(save(&old, &before), machine.options())
        .unwrap();
    let conflict = store.update(&id, &seen, basket("late"));
    assert_eq!(conflict.unwrap_err(), UpdateError::Conflict { version: 1 });
    assert!(store.update(&id, &newer, basket("fig")).is_ok());
    assert_eq!(store.revoke_all("alice"), 1);
}

#[test]
fn no_id_is_stored_and_with_another_key_nothing_is_restored() {
    let machine = Machine::noon();
    let (old, _) = store(&machine, POLICY);
    let (id, _) = old.create("alice", basket("pear")).unwrap();
    let snapshot = save(&old, &machine);
    let text = serde_json::to_string(&snapshot).unwrap();
    let bytes = postcard::to_allocvec(&snapshot).unwrap();
    let id_text = id.to_text();
    assert!(!text.contains(&id_text) && !format!("{snapshot:?}").contains(&id_text));
    // What follows the selector in an id, and any part of it that is long enough to matter.
    for part in decoded(&id_text)[8..].windows(4) {
        assert!(!bytes.windows(4).any(|bytes| bytes == part));
    }
    assert!(!bytes.windows(8).any(|bytes| bytes == &KEY[..8]));

    for other in [
        SessionStore::<Basket>::builder(&machine.timers, POLICY)
            .digest_key([8; 32])
            .build(),
        SessionStore::new(&machine.timers, POLICY),
    ] {
        let other = other.unwrap();
        let refused = other.restore(snapshot.clone(), machine.options());
        assert_eq!(refused, Err(RestoreError::OtherKey));
        assert_eq!((other.len(), other.peek(&id).is_some()), (0, false));
    }
}

/// The bytes of a text in base64url.
fn decoded(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = text.chars().flat_map(|symbol| {
        let value = ALPHABET.find(symbol).unwrap();
        (0..6).rev().map(move |bit| value >> bit & 1)
    });
    let bits: Vec<usize> = bits.collect();
    let byte = |bits: &[usize]| bits.iter().fold(0, |byte, bit| byte << 1 | bit);
    bits.chunks(8)
        .map(|bits| u8::try_from(byte(bits)).unwrap())
        .collect()
}

#[test]
fn what_has_expired_is_told_of_with_its_reason() {
    // Idle at 100 for the first and the third, at 300 for the second; all at 800 in any case.
    for (down, reasons) in [
        (99, vec![]),
        (100, vec![(1, EndReason::Idle), (3, EndReason::Idle)]),
        (
            300,
            vec![
                (1, EndReason::Idle),
                (2, EndReason::Idle),
                (3, EndReason::Idle),
            ],
        ),
    ] {
        let (snapshot, ids) = at_noon();
        let machine = Machine::after(secs(down));
        let (store, ends) = store(&machine, POLICY);
        let report = store.restore(snapshot, machine.options()).unwrap();
        assert_eq!(report.expired, reasons.len());
        let told = ends.lock().unwrap().clone();
        for (end, (generation, reason)) in told.iter().zip(&reasons) {
            let at = if *generation == 2 { 300 } else { 100 };
            let principal = (*generation != 3).then(|| "alice".to_owned());
            let deadline = Timestamp::from_duration(secs(5_000 - (down - at)));
            assert_eq!(*end, (principal, *reason, *generation, deadline));
        }
        assert_eq!(told.len(), reasons.len());
        assert_eq!(store.len(), 3 - reasons.len());
        let live = ids.iter().filter(|id| store.contains(id)).count();
        assert_eq!(live, 3 - reasons.len());
    }
    // Touched to the end, it is the other deadline that is over.
    let before = Machine::noon();
    let (old, _) = store(&before, POLICY);
    let (id, _) = old.create("alice", basket("pear")).unwrap();
    for _ in 0..4 {
        before.pass(secs(200));
        old.touch(&id).unwrap();
    }
    for (down, reason) in [(199, None), (200, Some(EndReason::Absolute))] {
        let machine = Machine::after(secs(800 + down));
        let (store, ends) = store(&machine, POLICY);
        store
            .restore(save(&old, &before), machine.options())
            .unwrap();
        let told = ends.lock().unwrap().first().map(|end| end.1);
        assert_eq!((told, store.len()), (reason, usize::from(reason.is_none())));
    }
}

#[test]
fn generations_go_on() {
    let (snapshot, _) = at_noon();
    assert_eq!(snapshot.last_generation, 3);
    let machine = Machine::after(secs(3600));
    let (store, ends) = store(&machine, POLICY);
    // None of them lives, and all the same.
    store.restore(snapshot, machine.options()).unwrap();
    let told: Vec<_> = ends.lock().unwrap().iter().map(|end| end.2).collect();
    assert_eq!(told, [1, 2, 3]);
    let (_, session) = store.create("alice", basket("pear")).unwrap();
    assert_eq!(session.generation, 4);
}

#[test]
fn a_session_of_the_future_was_started_now() {
    // The wall clock was set back by two years.
    let (snapshot, [first, ..]) = at_noon();
    let machine = Machine::before(secs(2 * 365 * 86_400));
    let (store, _) = store(&machine, POLICY);
    store.restore(snapshot, machine.options()).unwrap();
    let left = store.time_to_live(&first).unwrap();
    assert_eq!(
        (left.idle, left.absolute),
        (Some(secs(100)), Some(secs(800)))
    );
    assert_eq!(
        store.peek(&first).unwrap().created,
        Timestamp::from_duration(secs(4_800))
    );
    let mut text = serde_json::to_value(save(&store, &machine)).unwrap();
    text["sessions"][0]["created"] = serde_json::json!({"secs": u64::MAX, "nanos": 0});
    let snapshot: SessionStoreSnapshot<Basket> = serde_json::from_value(text).unwrap();
    let (store, _) = self::store(&machine, POLICY);
    store.restore(snapshot, machine.options()).unwrap();
    assert_eq!(store.peek(&first).unwrap().created, machine.now());
}

fn visits(machine: &Machine) -> Sessions<String, u64> {
    Sessions::new(&machine.timers, POLICY)
}

#[test]
fn limits_of_its_own_stay_with_a_session() {
    let before = Machine::noon();
    let old = visits(&before);
    let limits = |idle, absolute| SessionLimits { idle, absolute };
    for (key, limits) in [
        ("endless", SessionLimits::NONE),
        ("idle", limits(Some(secs(50)), None)),
        ("absolute", limits(None, Some(secs(50)))),
    ] {
        old.start_with(key.into(), 0, Some("alice"), limits)
            .unwrap();
    }
    let snapshot: SessionsSnapshot<String, u64> = stored(&old.snapshot_at(before.anchor));
    let text = serde_json::to_string(&snapshot.sessions[0]).unwrap();
    assert!(
        text.ends_with(r#""idle":null,"absolute":null,"deadline":null}"#),
        "{text}"
    );

    let machine = Machine::after(secs(20));
    let visits = visits(&machine);
    visits.restore(snapshot, machine.options()).unwrap();
    let left = |key| {
        visits
            .time_to_live(key)
            .map(|left| (left.idle, left.absolute))
    };
    assert_eq!(left("endless"), Ok((None, None)));
    assert_eq!(left("idle"), Ok((Some(secs(30)), None)));
    assert_eq!(left("absolute"), Ok((None, Some(secs(30)))));
    visits.touch("idle").unwrap();
    visits.touch("absolute").unwrap();
    assert_eq!(left("idle"), Ok((Some(secs(50)), None)));
    assert_eq!(left("absolute"), Ok((None, Some(secs(30)))));
    machine.pass(secs(1_000_000));
    assert_eq!(visits.len(), 1);
}

#[test]
fn what_was_restored_is_replaced_and_removed_as_any() {
    let before = Machine::noon();
    let old = visits(&before);
    for key in ["a", "b", "c"] {
        old.start(key.into(), 1).unwrap();
    }
    let machine = Machine::noon();
    let visits = visits(&machine);
    let report = visits
        .restore(stored(&old.snapshot_at(before.anchor)), machine.options())
        .unwrap();
    assert_eq!(report, {
        let mut expected = RestoreReport::default();
        (expected.restored, expected.elapsed) = (3, report.elapsed);
        expected
    });
    assert_eq!(visits.start("a".into(), 2).unwrap().generation, 4);
    visits.remove("b").unwrap();
    assert!(
        !visits
            .touch_or_start("c".into(), || 2)
            .unwrap()
            .is_started()
    );
    assert!(
        visits
            .touch_or_start("b".into(), || 2)
            .unwrap()
            .is_started()
    );
    let values = ["a", "b", "c"].map(|key| *visits.peek(key).unwrap().value);
    assert_eq!((values, visits.len()), ([2, 2, 1], 3));
}

#[test]
fn a_nanosecond_before_its_end_it_is_reclaimed_by_the_driver() {
    let (snapshot, _) = at_noon();
    let machine = Machine::after(secs(100) - NANO);
    let (store, ends) = store(&machine, POLICY);
    store.restore(snapshot, machine.options()).unwrap();
    assert_eq!(store.len(), 3);
    // Nobody asks for them.
    machine.pass(secs(1));
    let told: Vec<_> = ends.lock().unwrap().iter().map(|end| end.2).collect();
    assert_eq!(told, [1, 3]);
    machine.pass(Duration::from_secs(1000));
    assert_eq!(ends.lock().unwrap().len(), 3);
}
