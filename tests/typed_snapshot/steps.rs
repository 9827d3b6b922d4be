//! Accepted steps.
//!
//! Properties: a step that was accepted before a restart is replayed after it, for as long as it would have been, and no longer;
//! another key is an error.

use std::time::Duration;

use tickwheel::snapshot::{ReplaySnapshot, RestoreError};
use tickwheel::{ManualClock, ReplayError, ReplayGuard, Timers};

use crate::{KEY, Machine, NANO, secs, stored};

const WINDOW: Duration = secs(90);

fn started(machine: &Machine) -> ReplayGuard {
    ReplayGuard::with_digest_key(&machine.timers, WINDOW, KEY).unwrap()
}

/// Ada's step 7 is accepted at noon, Bob's step 3 a minute before.
fn at_noon() -> ReplaySnapshot {
    let machine = Machine::before(secs(60));
    let guard = started(&machine);
    guard.accept("bob", 3).unwrap();
    machine.pass(secs(60));
    guard.accept("ada", 6).unwrap();
    guard.accept("ada", 7).unwrap();
    stored(&guard.snapshot_at(machine.anchor))
}

#[test]
fn a_step_is_accepted_once_before_and_after() {
    let machine = Machine::after(secs(10));
    let guard = started(&machine);
    let report = guard.restore(at_noon(), machine.options()).unwrap();
    assert_eq!(
        (report.restored, report.expired, guard.remembered()),
        (2, 0, 2)
    );
    assert_eq!(guard.accept("ada", 6), Err(ReplayError::Replayed));
    assert_eq!(guard.accept("ada", 7), Err(ReplayError::Replayed));
    assert_eq!(guard.accept("bob", 3), Err(ReplayError::Replayed));
    assert_eq!(guard.accept("ada", 8), Ok(()));
    assert_eq!(guard.accept("cyd", 3), Ok(()));
}

#[test]
fn a_step_is_remembered_until_its_window_is_over() {
    for (passed, replayed) in [
        (secs(80) - NANO, true),
        (secs(80), false),
        (secs(80) + NANO, false),
    ] {
        let machine = Machine::after(secs(10));
        let guard = started(&machine);
        guard.restore(at_noon(), machine.options()).unwrap();
        machine.pass(passed);
        assert_eq!(guard.accept("ada", 7).is_err(), replayed, "at {passed:?}");
    }
    // Bob's was over before the restart.
    let machine = Machine::after(secs(30));
    let guard = started(&machine);
    let report = guard.restore(at_noon(), machine.options()).unwrap();
    assert_eq!(
        (report.restored, report.expired, guard.remembered()),
        (1, 1, 1)
    );
    machine.pass(WINDOW);
    assert_eq!(guard.remembered(), 0);
}

#[test]
fn it_is_stored_again_and_again() {
    let mut snapshot = at_noon();
    for round in 1..=5 {
        let machine = Machine::after(secs(10 * round));
        let guard = started(&machine);
        guard.restore(snapshot, machine.options()).unwrap();
        snapshot = stored(&guard.snapshot_at(machine.anchor));
    }
    let machine = Machine::after(WINDOW - NANO);
    let guard = started(&machine);
    guard.restore(snapshot, machine.options()).unwrap();
    assert_eq!(guard.accept("ada", 7), Err(ReplayError::Replayed));
    machine.clock.advance(NANO);
    assert_eq!(guard.accept("ada", 7), Ok(()));
}

#[test]
fn what_does_not_fit_is_an_error_or_counted() {
    let machine = Machine::noon();
    let other = ReplayGuard::with_digest_key(&machine.timers, WINDOW, [8; 32]).unwrap();
    let refused = other.restore(at_noon(), machine.options());
    assert_eq!(refused, Err(RestoreError::OtherKey));
    assert_eq!(other.accept("ada", 7), Ok(()));

    let guard = started(&machine);
    guard.accept("ada", 1).unwrap();
    let refused = guard.restore(at_noon(), machine.options());
    assert_eq!(refused, Err(RestoreError::InUse));

    let mut twice = at_noon();
    twice.subjects.push(twice.subjects[0].clone());
    let refused = started(&machine).restore(twice, machine.options());
    assert!(matches!(refused, Err(RestoreError::Malformed(_))));

    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).limit(1);
    let timers = timers.build_hand_driven().unwrap();
    let narrow = Machine::on(clock, timers, Duration::ZERO, Duration::ZERO);
    let report = started(&narrow)
        .restore(at_noon(), narrow.options())
        .unwrap();
    assert_eq!((report.restored, report.refused), (1, 1));
}
