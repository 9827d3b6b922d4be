//! Properties: an id is made by the store, known to the client alone, changed in one step; one that ended is never
//! anybody's again; principals have their sessions listed and ended.

use super::*;
use tickwheel::{
    CycleError, SessionGone, SessionId, StartError, TouchPolicy, UpdateError, WhenFull,
};

#[test]
fn ids_are_text_and_back_and_no_two_are_alike() {
    let rig = by_id();
    let store = rig.store(idle(10 * S));
    let mut texts = std::collections::BTreeSet::new();
    for _ in 0..1000 {
        let (id, _) = store.create("p", "v").unwrap();
        let text = id.to_text();
        assert!(
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        );
        let parsed = SessionId::parse(&text).unwrap();
        assert_eq!(parsed, id);
        assert!(store.contains(&parsed));
        assert!(texts.insert(text));
    }
}

/// aio-libs/aiohttp-session#273: an id that a client made up is never adopted.
#[test]
fn an_id_that_a_client_made_up_leads_nowhere() {
    let rig = by_id();
    let store = rig.store(idle(10 * S));
    let made_up = SessionId::parse(&"A".repeat(SessionId::LEN)).unwrap();
    let (id, seen) = store.create("p", "v").unwrap();
    // That of the session, but for its last character, as of somebody who saw the rest.
    let mut text = id.to_text();
    let last = if text.pop() == Some('A') { 'B' } else { 'A' };
    text.push(last);
    let guessed = SessionId::parse(&text).unwrap();
    for wrong in [made_up, guessed] {
        assert!(store.get(&wrong).is_none() && store.peek(&wrong).is_none());
        assert!(!store.contains(&wrong));
        assert_eq!(store.touch(&wrong), Err(SessionGone));
        assert_eq!(store.time_to_live(&wrong), Err(SessionGone));
        assert_eq!(
            store.update(&wrong, &seen, "w").unwrap_err(),
            UpdateError::Gone
        );
        assert_eq!(store.modify(&wrong, |v| v).unwrap_err(), SessionGone);
        assert_eq!(store.cycle_id(&wrong).unwrap_err(), CycleError::Gone);
        assert_eq!(
            store.cycle_id_as(&wrong, "q").unwrap_err(),
            CycleError::Gone
        );
        assert_eq!(store.revoke(&wrong), Err(SessionGone));
        assert_eq!(store.remove(&wrong), Err(SessionGone));
        assert_eq!(store.revoke_others(&wrong), Err(SessionGone));
    }
    assert_eq!(store.len(), 1);
    assert!(store.contains(&id));
    assert_eq!(
        store.time_to_live(&id).unwrap().deadline,
        Timestamp::ZERO + 10 * S
    );
}

/// camlworks/dream#44, OpenLiberty/open-liberty#33369: no debug output shows an id.
#[test]
fn no_debug_output_shows_an_id_or_a_value() {
    let rig: Rig<Option<Arc<str>>, String> = Rig::new();
    let store = SessionStore::new(&rig.timers, idle(10 * S)).unwrap();
    let (id, session) = store.create("p", String::from("swordfish")).unwrap();
    let shown = format!("{id:?} {store:?}");
    assert!(
        !shown.contains(&id.to_text()) && !shown.contains("swordfish"),
        "{shown}"
    );
    assert!(!format!("{session:?}").contains(&id.to_text()));
}

#[test]
fn the_id_of_another_store_leads_nowhere() {
    let rig = by_id();
    let (one, other) = (rig.store(idle(10 * S)), rig.store(idle(10 * S)));
    let (id, _) = one.create("p", "v").unwrap();
    assert!(one.contains(&id) && !other.contains(&id));
}

#[test]
fn a_cycled_id_is_dead_and_the_session_goes_on() {
    let rig = by_id();
    let store = rig.store(idle(10 * S).absolute(30 * S));
    let (old, session) = store.create("alice", "v").unwrap();
    rig.at(5);
    let new = store.cycle_id(&old).unwrap();
    assert_ne!(old, new);
    assert!(store.get(&old).is_none());
    assert_eq!(store.cycle_id(&old).unwrap_err(), CycleError::Gone);
    let seen = store.peek(&new).unwrap();
    assert_eq!(
        (seen.generation, seen.version, seen.created),
        (session.generation, 0, session.created)
    );
    // A touch, and the absolute deadline is as it was.
    let left = store.time_to_live(&new).unwrap();
    assert_eq!((left.idle, left.absolute), (Some(10 * S), Some(25 * S)));
    assert_eq!(store.list("alice").len(), 1);
    for _ in 0..4 {
        rig.go(6 * S);
        store.get(&new).unwrap();
    }
    rig.at(30);
    assert!(store.get(&new).is_none());
    let ends = rig.ends();
    assert_eq!(ends.len(), 1, "cycling is no end");
    assert_eq!(
        (ends[0].reason, ends[0].generation),
        (EndReason::Absolute, session.generation)
    );
}

#[test]
fn a_cycled_id_does_until_exactly_the_end_of_its_grace() {
    for (after, leads) in [(Duration::ZERO, true), (2 * S - NANO, true), (2 * S, false)] {
        let rig = by_id();
        let store = rig.store(idle(60 * S).cycle_grace(2 * S));
        let (old, seen) = store.create("alice", "v").unwrap();
        store.create("alice", "elsewhere").unwrap();
        let new = store.cycle_id(&old).unwrap();
        rig.go(after);
        assert_eq!(store.contains(&old), leads, "{after:?}");
        assert_eq!(store.peek(&old).is_some(), leads);
        assert_eq!(store.get(&old).is_some(), leads);
        assert_eq!(store.touch(&old).is_ok(), leads);
        assert_eq!(store.time_to_live(&old).is_ok(), leads);
        assert_eq!(store.update(&old, &seen, "w").is_ok(), leads);
        // But it is not an id to get another one with, nor to throw others out.
        assert_eq!(store.cycle_id(&old).unwrap_err(), CycleError::Gone);
        assert_eq!(
            store.cycle_id_as(&old, "mallory").unwrap_err(),
            CycleError::Gone
        );
        assert_eq!(store.revoke_others(&old), Err(SessionGone));
        assert!(store.contains(&new));
        let again = store.cycle_id(&new).unwrap();
        assert!(!store.contains(&old) && store.contains(&new) && store.contains(&again));
        assert!(store.remove(&new).is_ok(), "a logout on its way is one");
        assert!(!store.contains(&again));
    }
}

#[test]
fn an_update_under_an_id_is_a_touch_unless_that_is_manual() {
    for (policy, deadline) in [
        (TouchPolicy::OnAccess, 15),
        (TouchPolicy::OnWrite, 15),
        (TouchPolicy::Manual, 10),
    ] {
        let rig = by_id();
        let store = rig.store(idle(10 * S).touch(policy));
        let (id, seen) = store.create("alice", "v").unwrap();
        rig.at(5);
        store.update(&id, &seen, "w").unwrap();
        let left = store.time_to_live(&id).unwrap();
        assert_eq!(left.deadline, Timestamp::ZERO + deadline * S, "{policy:?}");
    }
}

#[test]
fn grace_does_not_outlive_the_session() {
    let rig = by_id();
    let store = rig.store(idle(10 * S).cycle_grace(3600 * S));
    let (old, _) = store.create("alice", "v").unwrap();
    let new = store.cycle_id(&old).unwrap();
    store.revoke(&new).unwrap();
    assert!(!store.contains(&old));
    let (old, _) = store.create("alice", "v").unwrap();
    store.cycle_id(&old).unwrap();
    rig.at(10);
    assert!(!store.contains(&old));
}

#[test]
fn a_login_cycles_the_id_and_names_the_principal() {
    let rig = by_id();
    let store = rig.store(
        idle(10 * S)
            .max_per_principal(1)
            .when_full(WhenFull::EndOldest),
    );
    let (first, _) = store.create("alice", "at home").unwrap();
    let (anonymous, _) = store.create_anonymous("basket").unwrap();
    let id = store.cycle_id_as(&anonymous, "alice").unwrap();
    assert!(!store.contains(&anonymous) && !store.contains(&first));
    let listed: Vec<_> = store
        .list("alice")
        .iter()
        .map(|(session, _)| *session.value)
        .collect();
    assert_eq!(listed, ["basket"]);
    assert_eq!(rig.reasons(), [EndReason::Capacity]);
    // The same again changes only the id; another principal takes it over.
    let id = store.cycle_id_as(&id, "alice").unwrap();
    let id = store.cycle_id_as(&id, "bob").unwrap();
    assert!(store.list("alice").is_empty());
    assert_eq!(
        (store.list("bob").len(), store.principals(), store.len()),
        (1, 1, 1)
    );
    store.remove(&id).unwrap();
    let end = rig.ends().pop().unwrap();
    assert_eq!(
        (end.key.as_deref(), end.reason),
        (Some("bob"), EndReason::Removed)
    );
}

#[test]
fn a_login_for_which_there_is_no_room_changes_nothing() {
    let rig = by_id();
    let store = rig.store(idle(10 * S).max_per_principal(1).max_sessions(2));
    let (first, _) = store.create("alice", "at home").unwrap();
    let (anonymous, _) = store.create_anonymous("basket").unwrap();
    assert_eq!(
        store.cycle_id_as(&anonymous, "alice").unwrap_err(),
        CycleError::Full
    );
    assert!(store.contains(&first) && store.contains(&anonymous));
    assert_eq!(store.create("carol", "v").unwrap_err(), StartError::Full);
    rig.at(5);
    store.touch(&anonymous).unwrap();
    rig.at(10); // the first is due, and makes room
    store.cycle_id_as(&anonymous, "alice").unwrap();
    assert_eq!(rig.reasons(), [EndReason::Idle]);
}

#[test]
fn ending_all_or_all_others_leaves_no_other() {
    let rig = by_id();
    let store = rig.store(idle(10 * S));
    let ids: Vec<_> = (0..5)
        .map(|_| store.create("alice", "v").unwrap().0)
        .collect();
    let (bob, _) = store.create("bob", "v").unwrap();
    let (nobody, _) = store.create_anonymous("v").unwrap();
    assert_eq!(store.revoke_others(&ids[2]).unwrap(), 4);
    assert!((0..5).all(|n| store.contains(&ids[n]) == (n == 2)));
    assert_eq!(store.revoke_others(&ids[0]), Err(SessionGone));
    assert_eq!(store.revoke_others(&nobody), Ok(0));
    assert_eq!(store.revoke_all("alice"), 1);
    assert_eq!(store.revoke_all("alice"), 0);
    assert!(store.contains(&bob) && store.contains(&nobody));
    assert_eq!(rig.reasons(), [EndReason::Revoked; 5]);
}

#[test]
fn one_of_a_list_can_be_ended_without_its_id() {
    let rig = by_id();
    let store = rig.store(idle(10 * S));
    let (phone, _) = store.create("alice", "phone").unwrap();
    rig.at(1);
    let (laptop, session) = store.create("alice", "laptop").unwrap();
    let (bob, _) = store.create("bob", "v").unwrap();
    let list = store.list("alice");
    assert_eq!(
        list.iter()
            .map(|(s, ttl)| (*s.value, ttl.idle))
            .collect::<Vec<_>>(),
        [("phone", Some(9 * S)), ("laptop", Some(10 * S))]
    );
    assert_eq!(
        store.revoke_listed("bob", session.generation),
        Err(SessionGone)
    );
    assert_eq!(
        *store.revoke_listed("alice", session.generation).unwrap(),
        "laptop"
    );
    assert_eq!(
        store.revoke_listed("alice", session.generation),
        Err(SessionGone)
    );
    assert!(store.contains(&phone) && !store.contains(&laptop) && store.contains(&bob));
}

/// expressjs/session#632, tj/connect-redis#328, django/django#5950, vert-x3/vertx-web#2771,
/// auth0/nextjs-auth0#2616, spring-projects/spring-session#1111, alex-oleshkevich/starsessions#58,
/// boj/redistore#2: a slow request does not write back a session that has ended.
#[test]
fn a_slow_request_does_not_bring_back_a_session_that_was_logged_out() {
    let rig = by_id();
    let store = rig.store(idle(10 * S));
    let (id, seen) = store.create("alice", "v").unwrap();
    store.remove(&id).unwrap();
    assert_eq!(
        store.update(&id, &seen, "w").unwrap_err(),
        UpdateError::Gone
    );
    assert_eq!(store.touch(&id), Err(SessionGone));
    assert!(store.get(&id).is_none());
    assert_eq!(store.len(), 0);
}

#[test]
fn of_two_updates_of_one_version_one_is_told_of_the_other() {
    let rig = by_id();
    let store = rig.store(idle(10 * S));
    let (id, seen) = store.create("alice", "v").unwrap();
    let new = store.update(&id, &seen, "w").unwrap();
    assert_eq!((new.version, *new.value), (1, "w"));
    assert_eq!(
        store.update(&id, &seen, "x").unwrap_err(),
        UpdateError::Conflict { version: 1 }
    );
    assert_eq!(*store.get(&id).unwrap().value, "w");
    assert_eq!(
        store
            .modify(&id, |value| if *value == "w" { "y" } else { "z" })
            .unwrap()
            .version,
        2
    );
    // The cycled session is the same: what was seen before still counts.
    let seen = store.get(&id).unwrap();
    let id = store.cycle_id(&id).unwrap();
    assert_eq!(store.update(&id, &seen, "w").unwrap().version, 3);
}
