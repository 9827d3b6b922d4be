//! A day at a login service: sessions that end when idle, and at the latest after a working day; an id that changes
//! when its holder logs in; so many devices for each; a log of every end.
//!
//! ```text
//! cargo run --example idle_sessions --features typed
//! ```

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{
    Clock, EndReason, ManualClock, SessionId, SessionPolicy, SessionStore, Timers, UpdateError,
    WhenFull,
};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// What a session holds.
#[derive(Clone, Debug, PartialEq)]
struct Visit {
    device: &'static str,
    basket: Vec<&'static str>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    let policy = SessionPolicy::new()
        .idle(30 * MINUTE)
        .absolute(10 * HOUR)
        .cycle_grace(Duration::from_secs(10))
        .max_per_principal(3)
        .when_full(WhenFull::EndOldest)
        .reclaim_tolerance(MINUTE);

    let audit = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&audit);
    let store = SessionStore::<Visit>::with_events(&timers, policy, move |end| {
        let who = end.key.as_deref().unwrap_or("somebody").to_owned();
        println!("      | {who} on the {}: {}", end.value.device, end.reason);
        log.lock()
            .unwrap()
            .push((who, end.value.device, end.reason));
    })?;
    let at = |what: &str| {
        let minutes = clock.now().as_nanos() / 60_000_000_000;
        println!("{:>2}:{:02} | {what}", 8 + minutes / 60, minutes % 60);
    };
    let visit = |device| Visit {
        device,
        basket: Vec::new(),
    };

    at("a visitor comes to the shop and takes a lamp");
    let (visitor, session) = store.create_anonymous(visit("laptop"))?;
    store.update(
        &visitor,
        &session,
        Visit {
            basket: vec!["lamp"],
            ..(*session.value).clone()
        },
    )?;

    clock.advance(20 * MINUTE);
    at("it is Alice: she logs in, and the session gets another id");
    let alice = store.cycle_id_as(&visitor, "alice")?;
    assert_ne!(alice, visitor);
    assert_eq!(store.get(&alice).unwrap().basket, ["lamp"]);
    assert!(
        !store.contains(&visitor),
        "whoever knows that one has nothing"
    );

    clock.advance(20 * MINUTE);
    at("she logs in on her phone and her tablet");
    let (phone, _) = store.create("alice", visit("phone"))?;
    let (tablet, _) = store.create("alice", visit("tablet"))?;
    assert_eq!(store.list("alice").len(), 3);

    clock.advance(9 * MINUTE);
    at("she uses the laptop and the phone, the tablet lies on the sofa");
    let cookie = alice.to_text();
    let alice = SessionId::parse(&cookie)?;
    assert!(store.get(&alice).is_some() && store.get(&phone).is_some());

    clock.advance(21 * MINUTE);
    at("half an hour without the tablet");
    assert!(store.get(&tablet).is_none());
    assert_eq!(
        audit.lock().unwrap().pop(),
        Some(("alice".into(), "tablet", EndReason::Idle))
    );

    at("a slow request has read the basket; she logs out before it writes");
    let seen = store.get(&alice).unwrap();
    store.remove(&alice)?;
    let late = store.update(&alice, &seen, visit("laptop"));
    assert_eq!(late.unwrap_err(), UpdateError::Gone);
    assert!(store.get(&alice).is_none(), "nothing brings it back");
    audit.lock().unwrap().clear();

    at("she logs in on four devices, one more than she may");
    for device in ["laptop", "watch", "television"] {
        store.create("alice", visit(device))?;
    }
    assert!(!store.contains(&phone), "the oldest has made room");
    assert_eq!(
        audit.lock().unwrap().pop(),
        Some(("alice".into(), "phone", EndReason::Capacity))
    );

    at("she has lost the watch, and ends its session from the list");
    let list = store.list("alice");
    let (watch, _) = list
        .iter()
        .find(|(session, _)| session.device == "watch")
        .unwrap();
    store.revoke_listed("alice", watch.generation)?;

    at("she changes her password: a new id here, and all others end");
    let (here, _) = store.create("alice", visit("desktop"))?;
    let here = store.cycle_id(&here)?;
    assert_eq!(store.revoke_others(&here)?, 2);
    assert_eq!(store.list("alice").len(), 1);

    at("she works on, never idle for long");
    let start = clock.now();
    while store.get(&here).is_some() {
        clock.advance(25 * MINUTE);
    }
    assert_eq!(clock.now() - start, 10 * HOUR);
    at("ten hours are over, used or not");
    assert_eq!(
        audit.lock().unwrap().pop(),
        Some(("alice".into(), "desktop", EndReason::Absolute))
    );

    at("Bob logs in, and goes home; nobody calls again");
    store.create("bob", visit("terminal"))?;
    while timers.advance_to_next(&clock) > 0 {}
    at("his session was ended without anybody asking");
    assert_eq!(
        audit.lock().unwrap().pop(),
        Some(("bob".into(), "terminal", EndReason::Idle))
    );
    assert_eq!((store.len(), store.resident()), (0, 0));

    at("the service stops while Carol is there");
    store.create("carol", visit("terminal"))?;
    drop(store);
    assert_eq!(
        audit.lock().unwrap().pop(),
        Some(("carol".into(), "terminal", EndReason::Shutdown))
    );
    Ok(())
}
