//! Leases that are taken up again.
//!
//! Properties:
//! * a grant lives on under its token: its holder takes it up, renews and releases it; nobody else gets the resource before its
//!   deadline; renewals end at the cap it had;
//! * tokens strictly increase across a restoration, whatever is larger: those of the snapshot, or those known otherwise; with the
//!   mark kept besides, no number is used twice however stale the snapshot;
//! * lock delays go on, those of leases that have expired meanwhile too;
//! * who waits is not in a snapshot; a runtime without room for timers keeps the grants all the same.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::snapshot::{LeasesSnapshot, RestoreError, RestorePolicy};
use tickwheel::{
    AcquireError, EndReason, FenceGate, FencingToken, Leases, LeasesBuilder, Lost, ManualClock,
    Timers, Timestamp,
};

use crate::{Machine, NANO, Told, secs, stored};

type Snapshot = LeasesSnapshot<String>;

const TTL: Duration = secs(60);

fn save(leases: &Leases<String>, machine: &Machine) -> Snapshot {
    stored(&leases.snapshot_at(machine.anchor))
}

fn started(machine: &Machine) -> Leases<String> {
    Leases::new(&machine.timers)
}

/// The holder of `report`, half a minute before its deadline, at noon.
fn held() -> (Snapshot, FencingToken) {
    let machine = Machine::before(TTL / 2);
    let leases = started(&machine);
    let grant = leases.try_acquire("report", "worker 1", TTL).unwrap();
    machine.pass(TTL / 2);
    (save(&leases, &machine), grant.token())
}

#[test]
fn the_holder_takes_it_up_again_renews_and_releases() {
    let (snapshot, token) = held();
    let machine = Machine::after(secs(10));
    let leases = started(&machine);
    leases.restore(snapshot, machine.options()).unwrap();

    assert!(leases.resume("report", FencingToken::new(99)).is_none());
    assert!(leases.resume("another", token).is_none());
    let grant = leases.resume("report", token).unwrap();
    assert_eq!((grant.token(), &**grant.holder()), (token, "worker 1"));
    assert_eq!(grant.status(), Ok(secs(20)));

    machine.pass(secs(19));
    assert_eq!(leases.renew(&grant), Ok(machine.now() + TTL));
    machine.pass(TTL - NANO);
    assert_eq!(leases.renew(&grant), Ok(machine.now() + TTL));
    assert_eq!(leases.release(&grant), Ok(()));
    assert!(leases.resume("report", token).is_none());
    let next = leases.try_acquire("report", "worker 2", TTL).unwrap();
    assert!(next.token() > token);
}

#[test]
fn nobody_else_has_it_before_its_deadline() {
    for (passed, taken) in [
        (secs(20) - NANO, true),
        (secs(20), false),
        (secs(20) + NANO, false),
    ] {
        let (snapshot, token) = held();
        let machine = Machine::after(secs(10));
        let leases = started(&machine);
        leases.restore(snapshot, machine.options()).unwrap();
        let grant = leases.resume("report", token).unwrap();
        machine.clock.advance(passed);
        let other = leases.try_acquire("report", "worker 2", TTL);
        assert_eq!(
            other.is_err_and(|error| error.is_held()),
            taken,
            "at {passed:?}"
        );
        let expected = if taken { Ok(NANO) } else { Err(Lost::Expired) };
        assert_eq!(grant.status(), expected);
    }
}

#[test]
fn a_guard_keeps_it() {
    let (snapshot, token) = held();
    let machine = Machine::after(secs(10));
    let leases = started(&machine);
    leases.restore(snapshot, machine.options()).unwrap();
    let guard = leases
        .guard(leases.resume("report", token).unwrap())
        .unwrap();
    for _ in 0..100 {
        machine.pass(secs(5));
        assert!(!guard.is_lost());
    }
    assert_eq!(guard.token(), token);
    drop(guard);
    assert!(leases.is_empty());
}

#[test]
fn renewals_end_at_the_cap_it_had() {
    let machine = Machine::before(secs(30));
    let leases: Leases<String> = Leases::builder().max_hold(secs(100)).build(&machine.timers);
    let grant = leases.try_acquire("report", "worker 1", TTL).unwrap();
    machine.pass(secs(30));
    let snapshot = save(&leases, &machine);

    // Here nothing is capped.
    let machine = Machine::after(secs(10));
    let leases = started(&machine);
    leases.restore(snapshot, machine.options()).unwrap();
    let grant = leases.resume("report", grant.token()).unwrap();
    assert_eq!(leases.renew(&grant), Ok(machine.now() + secs(60)));
    machine.pass(secs(10));
    assert_eq!(leases.renew(&grant), Ok(machine.now() + secs(50)));
}

#[test]
fn tokens_go_on_above_all_that_are_known() {
    for (known, next) in [(0, 4), (2, 4), (3, 4), (1000, 1001)] {
        let before = Machine::noon();
        let leases = started(&before);
        for resource in ["a", "b", "c"] {
            let grant = leases.try_acquire(resource, "worker", TTL).unwrap();
            leases.release(&grant).unwrap();
        }
        let snapshot = save(&leases, &before);
        assert_eq!((snapshot.high_water, snapshot.grants.len()), (3, 0));

        let machine = Machine::noon();
        let builder = Leases::builder().tokens_from(FencingToken::new(known));
        let leases: Leases<String> = builder.build(&machine.timers);
        leases.restore(snapshot, machine.options()).unwrap();
        assert_eq!(leases.high_water().get(), next - 1);
        let grant = leases.try_acquire("a", "worker", TTL).unwrap();
        assert_eq!(grant.token().get(), next);
    }
}

/// Something durable, and leases that keep their mark there.
fn marked(machine: &Machine, mark: &Arc<Mutex<FencingToken>>) -> Leases<String> {
    let last = *mark.lock().unwrap();
    let mark = Arc::clone(mark);
    let builder: LeasesBuilder<String, String> = Leases::builder().tokens_from(last);
    builder
        .persist_tokens(10, move |to| {
            *mark.lock().unwrap() = to;
            Ok::<(), std::io::Error>(())
        })
        .build(&machine.timers)
}

#[test]
fn no_token_is_used_twice_however_stale_the_snapshot_if_the_mark_is_kept() {
    let mark = Arc::new(Mutex::new(FencingToken::new(0)));
    let gate = FenceGate::new();
    let mut largest = FencingToken::new(0);
    let mut stale = None;
    for round in 0..6 {
        let machine = Machine::after(secs(round));
        let leases = marked(&machine, &mark);
        if let Some(snapshot) = stale.clone() {
            leases.restore(snapshot, machine.options()).unwrap();
        }
        for resource in 0..7 {
            let grant = leases
                .try_acquire(format!("{round}/{resource}"), "worker", TTL)
                .unwrap();
            assert!(grant.token() > largest);
            assert!(grant.token() <= *mark.lock().unwrap(), "not durable");
            assert_eq!(gate.check(grant.token()), Ok(()));
            largest = grant.token();
        }
        // Taken once, and then the process crashes again and again.
        let snapshot = save(&leases, &machine);
        stale = stale.or(Some(snapshot));
    }
}

#[test]
fn a_mark_that_was_lost_does_not_bring_tokens_back() {
    // The snapshot knows of 25 tokens, the mark of none: it is moved beyond both, before a token is handed out.
    let before = Machine::noon();
    let leases = started(&before);
    for resource in 0..25 {
        let _grant = leases
            .try_acquire(resource.to_string(), "worker", TTL)
            .unwrap();
    }
    let snapshot = save(&leases, &before);
    let machine = Machine::noon();
    let mark = Arc::new(Mutex::new(FencingToken::new(0)));
    let leases = marked(&machine, &mark);
    leases.restore(snapshot, machine.options()).unwrap();
    assert_eq!(mark.lock().unwrap().get(), 0);
    let grant = leases.try_acquire("fresh", "worker", TTL).unwrap();
    assert_eq!((grant.token().get(), mark.lock().unwrap().get()), (26, 35));
}

#[test]
fn the_fence_refuses_who_was_overtaken_while_the_snapshot_was_stale() {
    let (snapshot, token) = held();
    // After the snapshot it was released, and somebody else has written. Then the process crashed.
    let gate = FenceGate::new();
    assert_eq!(gate.check(FencingToken::new(token.get() + 1)), Ok(()));
    let machine = Machine::after(secs(1));
    let leases = started(&machine);
    leases.restore(snapshot, machine.options()).unwrap();
    let grant = leases.resume("report", token).unwrap();
    assert!(gate.check(grant.token()).is_err());
}

fn delayed(machine: &Machine, told: &Told) -> Leases<String> {
    let log = told.clone();
    Leases::builder()
        .lock_delay(secs(15))
        .on_end(move |ended| log.add(ended.reason, ended.deadline))
        .build(&machine.timers)
}

fn until(leases: &Leases<String>) -> Option<Timestamp> {
    match leases.try_acquire("report", "worker 2", TTL) {
        Err(AcquireError::Delayed { until }) => Some(until),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_lock_delay_goes_on() {
    for (down, left) in [(0, Some(12)), (11, Some(1)), (12, None), (13, None)] {
        let (before, told) = (Machine::noon(), Told::default());
        let leases = delayed(&before, &told);
        let _grant = leases.try_acquire("report", "worker 1", TTL).unwrap();
        assert!(leases.revoke("report").is_some());
        before.pass(secs(3));
        let snapshot = save(&leases, &before);
        assert_eq!((snapshot.grants.len(), snapshot.delays.len()), (0, 1));

        let machine = Machine::after(secs(3 + down));
        // Whatever the delay of these.
        let leases = started(&machine);
        leases.restore(snapshot, machine.options()).unwrap();
        assert_eq!(until(&leases), left.map(|left| machine.now() + secs(left)));
    }
}

#[test]
fn what_has_expired_meanwhile_has_its_lock_delay_from_its_deadline_on() {
    for (down, left) in [(30, Some(15)), (40, Some(5)), (44, Some(1)), (45, None)] {
        let (snapshot, _) = held();
        let (machine, told) = (Machine::after(secs(down)), Told::default());
        let leases = delayed(&machine, &told);
        let report = leases.restore(snapshot, machine.options()).unwrap();
        assert_eq!((report.restored, report.expired), (0, 1));
        let deadline = Timestamp::from_duration(secs(5_000 - (down - 30)));
        assert_eq!(told.take(), [(EndReason::Absolute, deadline)]);
        assert_eq!(until(&leases), left.map(|left| machine.now() + secs(left)));
    }
}

#[test]
fn who_waits_is_not_stored_and_who_waits_later_is_served() {
    let before = Machine::noon();
    let leases = started(&before);
    let grant = leases.try_acquire("report", "worker 1", TTL).unwrap();
    let waits = leases.acquire_blocking("report", "worker 2", TTL, Some(Duration::ZERO));
    assert!(matches!(waits, Err(AcquireError::TimedOut)));
    let snapshot = save(&leases, &before);
    assert_eq!(snapshot.grants.len(), 1);

    let machine = Machine::noon();
    let leases = started(&machine);
    leases.restore(snapshot, machine.options()).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| leases.acquire_blocking("report", "worker 3", TTL, None));
        while leases.waiters("report") == 0 {
            std::thread::yield_now();
        }
        machine.pass(TTL);
        let next = waiter.join().unwrap().unwrap();
        assert!(next.token() > grant.token());
    });
}

#[test]
fn a_runtime_without_room_for_timers_keeps_the_grants() {
    let before = Machine::noon();
    let leases = started(&before);
    for resource in 0..10 {
        let _grant = leases
            .try_acquire(resource.to_string(), "worker 1", TTL)
            .unwrap();
    }
    let snapshot = save(&leases, &before);

    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).limit(3);
    let timers = timers.build_hand_driven().unwrap();
    let machine = Machine::on(clock, timers, Duration::ZERO, Duration::ZERO);
    let leases = started(&machine);
    let report = leases.restore(snapshot, machine.options()).unwrap();
    assert_eq!((report.restored, leases.len()), (10, 10));
    assert_eq!(report.untimed, 7, "found to be over when somebody asks");
    for resource in 0..10 {
        let other = leases.try_acquire(resource.to_string(), "worker 2", TTL);
        assert!(other.unwrap_err().is_held());
    }
    machine.pass(TTL);
    assert_eq!(leases.len(), 0);
    assert!(leases.try_acquire("9", "worker 2", TTL).is_ok());
}

#[test]
fn what_was_granted_meanwhile_stays() {
    // Somebody has asked before the snapshot was restored; by another handle, with tokens that are known to be larger.
    let (snapshot, token) = held();
    let machine = Machine::noon();
    let leases = started(&machine);
    let living = leases.try_acquire("report", "worker 2", TTL).unwrap();
    let refused = leases.restore(snapshot, machine.options());
    assert_eq!(refused, Err(RestoreError::InUse));
    assert!(living.is_live());
    assert_eq!(living.token(), token); // which is why it is refused
}

#[test]
fn nothing_is_said_of_no_end_but_none() {
    let before = Machine::noon();
    let leases = started(&before);
    let grant = leases
        .try_acquire("report", "worker 1", Duration::MAX)
        .unwrap();
    let snapshot = save(&leases, &before);
    let text = serde_json::to_string(&snapshot.grants[0]).unwrap();
    let expected = r#"{"resource":"report","holder":"worker 1","token":1,"time_to_live":null,"deadline":null,"cap":null}"#;
    assert_eq!(text, expected);

    let machine = Machine::after(secs(1_000_000_000));
    let leases = started(&machine);
    leases.restore(snapshot, machine.options()).unwrap();
    let grant = leases.resume("report", grant.token()).unwrap();
    assert_eq!(leases.renew(&grant), Ok(Timestamp::NEVER));
    assert_eq!(grant.status(), Ok(Duration::MAX));
}

#[test]
fn a_hook_may_use_the_leases_and_panic() {
    let (snapshot, _) = held();
    let machine = Machine::after(secs(100));
    let handle = Arc::new(Mutex::new(None::<Leases<String>>));
    let inside = Arc::clone(&handle);
    let leases: Leases<String> = Leases::<String, String>::builder()
        .on_end(move |ended| {
            // Once: what has expired. Later it is dropped with the leases.
            let Some(leases) = inside.lock().unwrap().take() else {
                return;
            };
            assert_eq!(ended.value, "worker 1");
            let _grant = leases
                .try_acquire(ended.key.as_str(), "the hook", TTL)
                .unwrap();
            panic!("by the hook");
        })
        .build(&machine.timers);
    *handle.lock().unwrap() = Some(leases.clone());
    let options = machine.options().policy(RestorePolicy::KeepDeadline);
    let restore = std::panic::AssertUnwindSafe(|| leases.restore(snapshot, options));
    assert!(std::panic::catch_unwind(restore).is_err());
    assert_eq!(leases.holder("report").unwrap().holder(), "the hook");
}
