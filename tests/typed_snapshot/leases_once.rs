//! What a snapshot of leases is taken up for: once, and only if there is anything after it; and what is in none.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use tickwheel::snapshot::{LeasesSnapshot, RestoreError};
use tickwheel::{EndReason, FencingToken, Leases, ManualClock, Timers, Timestamp};

use crate::{Machine, Told, secs};

#[test]
fn a_grant_that_was_released_is_not_revived_by_a_second_restoration() {
    for from in [0, 1000] {
        let before = Machine::before(secs(10));
        let leases: Leases<String> = Leases::new(&before.timers);
        let token = leases.try_acquire("r", "A", secs(60)).unwrap().token();
        let snapshot = leases.snapshot_at(before.anchor);

        let after = Machine::after(secs(10));
        let leases: Leases<String> = Leases::builder()
            .tokens_from(FencingToken::new(from))
            .build(&after.timers);
        let report = leases.restore(snapshot.clone(), after.options()).unwrap();
        assert_eq!(report.restored, 1, "from {from}");
        let grant = leases.resume("r", token).unwrap();
        leases.release(&grant).unwrap();
        let again = leases.restore(snapshot, after.options());
        assert_eq!(again, Err(RestoreError::InUse), "from {from}");
        assert!(leases.holder("r").is_none(), "from {from}");
        let next = leases.try_acquire("r", "B", secs(60)).unwrap().token();
        assert_eq!(next.get(), from.max(token.get()) + 1);
    }
}

#[test]
fn a_snapshot_after_which_there_is_no_token_is_refused_and_changes_nothing() {
    let machine = Machine::before(secs(10));
    let leases: Leases<String> = Leases::new(&machine.timers);
    let grant = leases.try_acquire("r", "A", secs(60)).unwrap();
    let good = leases.snapshot_at(machine.anchor);
    let mut bad: LeasesSnapshot<String> = good.clone();
    bad.high_water = u64::MAX;

    let after = Machine::after(secs(10));
    let leases: Leases<String> = Leases::new(&after.timers);
    let refused = leases.restore(bad, after.options());
    assert!(matches!(refused, Err(RestoreError::Malformed(_))));
    assert!(leases.restore(good, after.options()).is_ok());
    assert!(leases.resume("r", grant.token()).is_some());
}

#[test]
fn a_start_delay_is_in_no_snapshot_and_a_lock_delay_is() {
    let machine = Machine::before(secs(10));
    let leases: Leases<String> = Leases::builder()
        .start_delay(secs(100))
        .lock_delay(secs(30))
        .build(&machine.timers);
    let mut waiting = pin!(leases.acquire("r", "A", secs(60)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    let snapshot = leases.snapshot_at(machine.anchor);
    assert!(snapshot.delays.is_empty() && snapshot.grants.is_empty());

    // A lease from before that is lost meanwhile has a delay of its own, though the other is longer.
    let earlier: Leases<String> = Leases::new(&machine.timers);
    let _held = earlier.try_acquire("q", "B", secs(60)).unwrap();
    let snapshot = earlier.snapshot_at(machine.anchor);
    let leases: Leases<String> = Leases::builder()
        .start_delay(secs(100))
        .lock_delay(secs(30))
        .build(&machine.timers);
    leases.restore(snapshot, machine.options()).unwrap();
    assert!(leases.revoke("q").is_some());
    let snapshot = leases.snapshot_at(machine.anchor);
    let delays: Vec<_> = snapshot
        .delays
        .iter()
        .map(|delay| &delay.resource)
        .collect();
    assert_eq!(delays, ["q"]);
    machine.pass(secs(30));
    assert!(leases.snapshot_at(machine.anchor).delays.is_empty());
    let early = leases.try_acquire("q", "C", secs(60));
    assert!(early.unwrap_err().is_held(), "the start delay goes on");
}

/// The driver comes by as soon as it is called, and late: while the lease that it was called for is being restored.
#[test]
fn a_lease_that_expires_while_it_is_restored_is_told_of() {
    let before = Machine::before(secs(10));
    let leases: Leases<String> = Leases::new(&before.timers);
    let _grant = leases.try_acquire("r", "A", secs(60)).unwrap();
    let snapshot = leases.snapshot_at(before.anchor);

    let (clock, driver) = (ManualClock::new(), Arc::new(Mutex::new(None::<Timers>)));
    let (late, called) = (clock.clone(), Arc::clone(&driver));
    let wake = move || {
        if let Some(timers) = called.lock().unwrap().take() {
            late.advance(secs(100));
            assert_eq!(timers.turn_fully().unwrap().fired, 1);
        }
    };
    let builder = Timers::builder().clock(clock.clone()).wake(wake);
    let timers = builder.build_hand_driven().unwrap();
    let after = Machine::on(clock, timers, secs(0), secs(10));
    let told = Told::default();
    let hook = told.clone();
    let leases: Leases<String> = Leases::builder()
        .on_end(move |ended| hook.add(ended.reason, ended.deadline))
        .build(&after.timers);
    assert_eq!(after.timers.next_timeout(), None);
    *driver.lock().unwrap() = Some(after.timers.clone());
    let report = leases.restore(snapshot, after.options()).unwrap();
    assert_eq!((report.restored, report.untimed), (1, 0));
    assert!(driver.lock().unwrap().is_none(), "it was called");

    after.pass(secs(1));
    let deadline = Timestamp::from_duration(secs(60));
    assert_eq!(told.take(), [(EndReason::Absolute, deadline)]);
    assert!(after.timers.is_empty());
}
