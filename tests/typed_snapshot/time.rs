//! How much is left after a restoration.
//!
//! Properties, for each kind:
//! * left = left at the snapshot - max(0, time between the wall clocks - margin); what has nothing left has expired; with
//!   `KeepRemaining` no time has passed;
//! * so nothing ever has more left than it had, however often it is stored, and whatever the wall clocks do;
//! * half-open: a nanosecond before the deadline it is stored, is restored and lives, at the deadline none of these;
//! * what has expired meanwhile is told of once, with its reason and its deadline;
//! * no deadline is stored as none, and any other to the nanosecond.

use std::time::Duration;

use tickwheel::snapshot::{RestoreError, RestoreOptions, RestorePolicy};
use tickwheel::{EndReason, Shutdown, Timestamp};

use crate::kinds::{Kind, for_each_kind};
use crate::{Machine, NANO, secs};

for_each_kind!(
    time_flows_while_the_process_is_down,
    or_stands_still_if_that_is_asked_for,
    a_margin_forgives_a_wall_clock_that_is_ahead,
    at_its_deadline_a_thing_is_neither_stored_nor_restored_nor_alive,
    what_has_expired_meanwhile_is_told_of_once,
    a_deadline_before_the_clock_began_is_its_origin,
    storing_it_again_and_again_never_lengthens_a_life,
    a_wall_clock_that_is_set_back_lengthens_no_life,
    long_lives_and_endless_ones_are_stored_exactly,
    with_the_machines_own_wall_clock_it_is_the_same,
    something_that_was_used_is_not_restored_over,
    a_runtime_that_is_shut_down_restores_nothing,
);

const TTL: Duration = secs(600);

/// A snapshot at noon, with that much left.
fn at_noon<K: Kind>(left: Duration) -> K::Snapshot {
    let machine = Machine::before(TTL - left);
    let store = K::start(&machine, TTL);
    store.begin();
    machine.pass(TTL - left);
    assert_eq!(store.left(), Some(left));
    store.save(&machine)
}

fn time_flows_while_the_process_is_down<K: Kind>() {
    for down in [
        Duration::ZERO,
        NANO,
        secs(60),
        secs(300) - NANO,
        secs(300),
        secs(300) + NANO,
        secs(3600),
    ] {
        let machine = Machine::after(down);
        let snapshot = at_noon::<K>(secs(300));
        let (store, report) = K::restarted(&machine, TTL, snapshot, machine.options());
        let left = secs(300).checked_sub(down).filter(|left| !left.is_zero());
        assert_eq!(store.left(), left, "after {down:?}");
        assert_eq!(report.elapsed, down);
        let lives = usize::from(left.is_some());
        assert_eq!((report.restored, report.expired), (lives, 1 - lives));
        assert_eq!((report.refused, report.occupied), (0, 0));
    }
}

fn or_stands_still_if_that_is_asked_for<K: Kind>() {
    let [early, noon, late] = [
        Machine::before(secs(3600)),
        Machine::noon(),
        Machine::after(secs(3600)),
    ];
    for machine in [early, noon, late] {
        let options = machine.options().policy(RestorePolicy::KeepRemaining);
        let snapshot = at_noon::<K>(secs(300));
        let (store, report) = K::restarted(&machine, TTL, snapshot, options);
        assert_eq!(store.left(), Some(secs(300)));
        assert_eq!((report.restored, report.elapsed), (1, Duration::ZERO));
    }
}

fn a_margin_forgives_a_wall_clock_that_is_ahead<K: Kind>() {
    let hour = secs(3600);
    // An hour ahead, forgiven: nothing has passed. A second more counts as a second.
    for (ahead, left) in [
        (hour, Some(secs(300))),
        (hour + secs(1), Some(secs(299))),
        (hour + secs(300) - NANO, Some(NANO)),
        // The other side: it has lived for an hour too long by then.
        (hour + secs(300), None),
    ] {
        let machine = Machine::after(ahead);
        let options = machine.options().skew_margin(hour);
        let (store, _) = K::restarted(&machine, TTL, at_noon::<K>(secs(300)), options);
        assert_eq!(store.left(), left, "{ahead:?} ahead");
    }
    let machine = Machine::before(hour);
    let options = machine.options().skew_margin(hour);
    let (store, _) = K::restarted(&machine, TTL, at_noon::<K>(secs(300)), options);
    assert_eq!(store.left(), Some(secs(300)));
}

fn at_its_deadline_a_thing_is_neither_stored_nor_restored_nor_alive<K: Kind>() {
    for (passed, lives) in [(TTL - NANO, 1), (TTL, 0), (TTL + NANO, 0)] {
        // Stored. The driver has not come by.
        let machine = Machine::noon();
        let store = K::start(&machine, TTL);
        store.begin();
        machine.clock.advance(passed);
        assert_eq!(K::count(&store.save(&machine)), lives, "at {passed:?}");

        // Restored.
        let machine = Machine::after(passed);
        let snapshot = at_noon::<K>(TTL);
        let (store, report) = K::restarted(&machine, TTL, snapshot, machine.options());
        assert_eq!(
            (report.restored, store.left().is_some()),
            (lives, lives == 1)
        );

        // Alive.
        let machine = Machine::noon();
        let snapshot = at_noon::<K>(TTL);
        let (store, _) = K::restarted(&machine, TTL, snapshot, machine.options());
        machine.clock.advance(passed);
        assert_eq!(usize::from(store.left().is_some()), lives, "at {passed:?}");
        assert_eq!(K::count(&store.save(&machine)), lives, "at {passed:?}");
    }
}

fn what_has_expired_meanwhile_is_told_of_once<K: Kind>() {
    let machine = Machine::after(secs(1000));
    let snapshot = at_noon::<K>(secs(300));
    let (store, report) = K::restarted(&machine, TTL, snapshot, machine.options());
    assert_eq!((report.restored, report.expired), (0, 1));
    let deadline = Timestamp::from_nanos(machine.now().as_nanos() - 700_000_000_000);
    assert_eq!(store.told().take(), [(K::REASON, deadline)]);
    machine.pass(secs(10_000));
    assert_eq!(store.left(), None);
    assert_eq!(K::count(&store.save(&machine)), 0);
    let told = store.told().clone();
    drop(store);
    assert_eq!(told.take(), []);

    // What lives is told of when it ends, and not before.
    let machine = Machine::after(secs(100));
    let snapshot = at_noon::<K>(secs(300));
    let (store, _) = K::restarted(&machine, TTL, snapshot, machine.options());
    assert_eq!(store.told().take(), []);
    let deadline = machine.now() + secs(200);
    machine.pass(secs(201));
    assert_eq!(store.told().take(), [(K::REASON, deadline)]);
    drop(store);
}

fn a_deadline_before_the_clock_began_is_its_origin<K: Kind>() {
    let machine = Machine::after(secs(1_000_000));
    let snapshot = at_noon::<K>(secs(300));
    let (store, _) = K::restarted(&machine, TTL, snapshot, machine.options());
    assert_eq!(store.told().take(), [(K::REASON, Timestamp::ZERO)]);
}

fn storing_it_again_and_again_never_lengthens_a_life<K: Kind>() {
    // Four hundred seconds, in which it is stored and restored five times.
    let mut snapshot = at_noon::<K>(secs(300));
    let mut wall = Duration::ZERO;
    for left in [280, 260, 240, 220, 200] {
        // Ten seconds down, ten seconds up.
        wall += secs(10);
        let machine = Machine::after(wall);
        let (store, _) = K::restarted(&machine, TTL, snapshot, machine.options());
        assert_eq!(store.left(), Some(secs(left + 10)));
        machine.pass(secs(10));
        wall += secs(10);
        assert_eq!(store.left(), Some(secs(left)));
        snapshot = store.save(&machine);
    }
    // At once, as often.
    for _ in 0..5 {
        let machine = Machine::after(wall);
        let (store, _) = K::restarted(&machine, TTL, snapshot, machine.options());
        assert_eq!(store.left(), Some(secs(200)));
        snapshot = store.save(&machine);
    }
}

fn a_wall_clock_that_is_set_back_lengthens_no_life<K: Kind>() {
    let mut snapshot = at_noon::<K>(secs(300));
    for left in [290, 280, 270, 260, 250] {
        // Each process is a year before the last.
        let machine = Machine::before(secs((300 - left) * 3_000_000));
        let (store, report) = K::restarted(&machine, TTL, snapshot, machine.options());
        assert_eq!(report.elapsed, Duration::ZERO);
        assert_eq!(store.left(), Some(secs(left + 10)));
        machine.pass(secs(10));
        snapshot = store.save(&machine);
    }
}

fn long_lives_and_endless_ones_are_stored_exactly<K: Kind>() {
    let years = secs(365 * 86400);
    for ttl in [
        Duration::from_millis(2_569_591_501),
        Duration::new(u64::from(u32::MAX) + 1, 999_999_999),
        500 * years,
        Duration::MAX,
    ] {
        let before = Machine::noon();
        let store = K::start(&before, ttl);
        store.begin();
        let machine = Machine::after(secs(5) + NANO);
        let snapshot = store.save(&before);
        let (store, _) = K::restarted(&machine, ttl, snapshot, machine.options());
        let left = if ttl == Duration::MAX {
            ttl
        } else {
            ttl - secs(5) - NANO
        };
        assert_eq!(store.left(), Some(left), "of {ttl:?}");
    }
}

fn with_the_machines_own_wall_clock_it_is_the_same<K: Kind>() {
    let machine = Machine::noon();
    let store = K::start(&machine, TTL);
    store.begin();
    // The snapshot is of 2030, so that the machine's clock is behind, or has expired all of it.
    let snapshot = store.save(&machine);
    let other = K::start(&machine, TTL);
    let report = other.restore(snapshot, RestoreOptions::new()).unwrap();
    let now = std::time::SystemTime::now();
    let elapsed = now.duration_since(std::time::SystemTime::UNIX_EPOCH + crate::NOON);
    let expired = elapsed.is_ok_and(|elapsed| elapsed >= TTL);
    assert_eq!(report.expired, usize::from(expired));
    assert_eq!(other.left().is_none(), expired);
}

fn something_that_was_used_is_not_restored_over<K: Kind>() {
    let machine = Machine::noon();
    let store = K::start(&machine, TTL);
    store.begin();
    machine.pass(secs(1));
    let snapshot = at_noon::<K>(secs(300));
    let refused = store.restore(snapshot, machine.options());
    assert_eq!(refused, Err(RestoreError::InUse));
    // What lives there lives on.
    assert_eq!(store.left(), Some(TTL - secs(1)));
    assert_eq!(store.told().take(), []);
    // Nor when nothing lives there any more.
    machine.pass(TTL);
    let snapshot = at_noon::<K>(secs(300));
    let refused = store.restore(snapshot, machine.options());
    assert_eq!(refused, Err(RestoreError::InUse));
    assert_eq!(store.left(), None);
}

fn a_runtime_that_is_shut_down_restores_nothing<K: Kind>() {
    let machine = Machine::noon();
    let store = K::start(&machine, TTL);
    drop(machine.timers.shutdown(Shutdown::Drop));
    let snapshot = at_noon::<K>(secs(300));
    let refused = store.restore(snapshot, machine.options());
    assert_eq!(refused, Err(RestoreError::ShutDown));
    assert_eq!(store.left(), None);
    assert_eq!(store.told().take(), [] as [(EndReason, Timestamp); 0]);
}
