//! One grant: its life, its end, and what a bad request comes to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tickwheel::{AcquireError, EndReason, Grant, Leases, Lost, ManualClock, Timers, Timestamp};

use crate::{Bed, Task, at, secs};

/// Whether a grant seems to live, by one of the ways to tell.
type Look = fn(&Bed, &Grant<String, String>) -> bool;

#[test]
fn a_grant_lives_up_to_its_deadline_and_not_at_it_on_every_path() {
    for (offset, lives) in [(-1i64, true), (0, false), (1, false)] {
        let paths: [(&str, Look); 8] = [
            ("is_live", |_, grant| grant.is_live()),
            ("status", |_, grant| grant.status().is_ok()),
            ("holder", |bed, _| bed.leases.holder("r").is_some()),
            ("time_to_live", |bed, _| {
                bed.leases.time_to_live("r").is_some()
            }),
            ("len", |bed, _| bed.leases.len() == 1),
            ("renew", |bed, grant| bed.leases.renew(grant).is_ok()),
            ("release", |bed, grant| bed.leases.release(grant).is_ok()),
            ("try_acquire", |bed, _| bed.ask("B", 9).is_err()),
        ];
        for (path, look) in paths {
            let bed = Bed::new();
            let grant = bed.ask("A", 10).unwrap();
            let now = at(10).as_nanos().checked_add_signed(offset).unwrap();
            bed.clock.set(Timestamp::from_nanos(now));
            assert_eq!(
                look(&bed, &grant),
                lives,
                "{path} at the deadline {offset:+} ns"
            );
        }
        let bed = Bed::new();
        let _grant = bed.ask("A", 10).unwrap();
        let now = at(10).as_nanos().checked_add_signed(offset).unwrap();
        bed.clock.set(Timestamp::from_nanos(now));
        assert_eq!(bed.leases.revoke("r").is_some(), lives, "revoke {offset:+}");
    }
}

#[test]
fn what_has_expired_is_told_of_without_traffic_at_the_tick_that_follows() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    bed.go(9);
    assert_eq!(bed.ends(), []);
    bed.go(10);
    assert_eq!(bed.ends(), [("A".into(), EndReason::Absolute, 10, 1)]);
    assert!(bed.timers.is_empty());
    assert_eq!(bed.leases.renew(&grant), Err(Lost::Expired));
}

#[test]
fn a_renewal_counts_from_when_it_is_made_and_keeps_the_token() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    for second in [3, 9, 18] {
        bed.go(second);
        assert_eq!(bed.leases.renew(&grant), Ok(at(second + 10)));
        assert_eq!(grant.deadline(), at(second + 10));
        assert_eq!(grant.token().get(), 1);
    }
    assert_eq!(bed.leases.high_water().get(), 1);
    bed.go(27);
    assert!(grant.is_live());
    assert_eq!(bed.leases.time_to_live("r"), Some(secs(1)));
    bed.go(28);
    assert_eq!(bed.ends(), [("A".into(), EndReason::Absolute, 28, 1)]);
}

#[test]
fn a_renewal_on_a_clock_that_has_gone_back_moves_no_deadline_back() {
    let bed = Bed::new();
    bed.set(100);
    let grant = bed.ask("A", 10).unwrap();
    bed.clock.jump(at(50));
    assert_eq!(bed.leases.renew(&grant), Ok(at(110)));
}

#[test]
fn what_was_seen_expired_stays_so_when_the_clock_goes_back() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    bed.set(10); // nobody drives
    assert!(!grant.is_live());
    bed.clock.jump(at(5));
    assert!(!grant.is_live());
    assert_eq!(bed.leases.renew(&grant), Err(Lost::Expired));
    assert_eq!(bed.holder(), None);
    assert_eq!(bed.ends().len(), 1);
}

#[test]
fn a_release_is_idempotent_and_frees_at_once() {
    let bed = Bed::with(|builder| builder.lock_delay(secs(5)));
    let grant = bed.ask("A", 10).unwrap();
    assert_eq!(bed.leases.release(&grant), Ok(()));
    assert_eq!(bed.leases.release(&grant), Ok(()));
    assert_eq!(bed.leases.renew(&grant), Err(Lost::Released));
    let other = bed.ask("B", 10).unwrap(); // without a delay
    assert_eq!(bed.leases.release(&grant), Ok(()));
    assert!(other.is_live());
    assert_eq!(bed.ends(), [("A".into(), EndReason::Released, 10, 1)]);
}

#[test]
fn a_revocation_ends_it_for_its_holder() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    assert_eq!(bed.leases.revoke("r"), Some(grant.token()));
    assert_eq!(bed.leases.revoke("r"), None);
    assert_eq!(bed.leases.renew(&grant), Err(Lost::Revoked));
    assert_eq!(bed.leases.release(&grant), Err(Lost::Revoked));
    assert_eq!(grant.status(), Err(Lost::Revoked));
    assert_eq!(bed.ends(), [("A".into(), EndReason::Revoked, 10, 1)]);
    assert!(bed.timers.is_empty());
}

#[test]
fn renewals_end_at_the_longest_hold() {
    let bed = Bed::with(|builder| builder.max_hold(secs(25)));
    let grant = bed.ask("A", 10).unwrap();
    for (second, until) in [(8, 18), (16, 25), (20, 25), (24, 25)] {
        bed.go(second);
        assert_eq!(bed.leases.renew(&grant), Ok(at(until)));
    }
    bed.go(25);
    assert_eq!(bed.leases.renew(&grant), Err(Lost::Expired));
    let again = bed.ask("A", 100).unwrap(); // another grant, another longest hold
    assert_eq!(again.deadline(), at(50));
}

#[test]
fn after_a_loss_nobody_gets_it_for_a_while() {
    // Expired: counted from the deadline, also if it is noticed late.
    let bed = Bed::with(|builder| builder.lock_delay(secs(5)));
    let _grant = bed.ask("A", 10).unwrap();
    bed.set(12);
    let until = at(15);
    assert!(matches!(bed.ask("B", 10), Err(AcquireError::Delayed { until: at }) if at == until));
    assert_eq!((bed.holder(), bed.leases.len()), (None, 0));
    bed.clock.set(Timestamp::from_nanos(until.as_nanos() - 1));
    assert!(bed.ask("B", 10).unwrap_err().is_held());
    bed.go(15);
    assert!(bed.timers.is_empty(), "nothing is left of the delay");
    let _b = bed.ask("B", 10).unwrap();
    // Revoked: counted from the revocation.
    bed.go(17);
    assert!(bed.leases.revoke("r").is_some());
    bed.go(21);
    assert!(bed.ask("C", 10).unwrap_err().is_held());
    bed.go(22);
    let _c = bed.ask("C", 10).unwrap();
}

#[test]
fn a_lock_delay_of_zero_is_none_and_without_end_is_for_ever() {
    let bed = Bed::with(|builder| builder.lock_delay(Duration::ZERO));
    let _grant = bed.ask("A", 10).unwrap();
    bed.set(10);
    let _b = bed.ask("B", 10).unwrap();

    let bed = Bed::with(|builder| builder.lock_delay(Duration::MAX));
    let _grant = bed.ask("A", 10).unwrap();
    bed.go(1_000_000_000);
    assert!(bed.ask("B", 10).unwrap_err().is_held());
}

#[test]
fn requests_that_make_no_sense_have_answers() {
    let bed = Bed::new();
    let zero = bed.leases.try_acquire("r", "A", Duration::ZERO);
    assert!(matches!(zero, Err(AcquireError::ZeroTtl)));
    assert_eq!(
        (bed.holder(), bed.ends().len(), bed.timers.len()),
        (None, 0, 0)
    );

    let short = bed
        .leases
        .try_acquire("r", "A", Duration::from_nanos(1))
        .unwrap();
    assert!(short.is_live());
    bed.clock.advance(Duration::from_nanos(1));
    assert!(!short.is_live());

    let ever = bed.leases.try_acquire("r", "A", Duration::MAX).unwrap();
    assert_eq!(ever.deadline(), Timestamp::NEVER);
    assert_eq!(bed.leases.time_to_live("r"), Some(Duration::MAX));
    bed.clock.set(Timestamp::NEVER); // as far as it goes
    bed.drive();
    assert_eq!(bed.leases.renew(&ever), Ok(Timestamp::NEVER));
    assert_eq!(bed.leases.release(&ever), Ok(()));
    // At the end of time, one second on is never.
    let last = bed.ask("A", 1).unwrap();
    assert_eq!(last.deadline(), Timestamp::NEVER);

    let bed = Bed::new();
    let empty = bed.leases.try_acquire("", "", secs(1)).unwrap();
    assert_eq!(
        (empty.resource().as_str(), empty.holder().as_str()),
        ("", "")
    );
    assert!(bed.leases.holder("").is_some() && bed.leases.holder("r").is_none());
}

#[test]
fn with_a_longest_hold_of_nothing_nothing_is_granted() {
    let bed = Bed::with(|builder| builder.max_hold(Duration::ZERO));
    assert!(matches!(bed.ask("A", 10), Err(AcquireError::ZeroTtl)));
    assert_eq!((bed.holder(), bed.timers.len()), (None, 0));
}

#[test]
fn who_holds_it_may_not_have_it_again() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    let error = bed.ask("A", 10).unwrap_err();
    let held = (grant.token(), at(10));
    assert!(matches!(error, AcquireError::Held { token, deadline } if (token, deadline) == held));
}

#[test]
fn grants_of_other_leases_are_refused() {
    let (one, other) = (Bed::new(), Bed::new());
    let grant = one.ask("A", 10).unwrap();
    let same = other.ask("A", 10).unwrap();
    assert_eq!(grant.token(), same.token());
    assert_eq!(other.leases.renew(&grant), Err(Lost::Foreign));
    assert_eq!(other.leases.release(&grant), Err(Lost::Foreign));
    assert!(grant.is_live() && same.is_live());
}

#[test]
fn what_is_live_is_counted_and_nothing_else() {
    let bed = Bed::new();
    for (resource, ttl) in [("a", 10), ("b", 20), ("c", 30)] {
        let _grant = bed.leases.try_acquire(resource, "A", secs(ttl)).unwrap();
    }
    assert_eq!(bed.leases.len(), 3);
    bed.set(10); // not driven
    assert_eq!(bed.leases.len(), 2);
    assert!(bed.leases.revoke("b").is_some());
    assert_eq!(bed.leases.len(), 1);
    bed.go(30);
    assert!(bed.leases.is_empty() && bed.timers.is_empty());
}

#[test]
fn a_runtime_that_is_full_or_shut_down_grants_nothing() {
    let bed = Bed::on(tickwheel::Timers::builder().limit(1), |builder| builder);
    let one = bed.ask("A", 10).unwrap();
    let two = bed.leases.try_acquire("other", "A", secs(10));
    assert!(matches!(two, Err(AcquireError::Full)));
    bed.leases.release(&one).unwrap();
    let two = bed.leases.try_acquire("other", "A", secs(10)).unwrap();

    bed.timers.shutdown(tickwheel::Shutdown::Drop);
    assert_eq!(bed.leases.renew(&two), Err(Lost::ShutDown));
    assert!(matches!(bed.ask("A", 10), Err(AcquireError::ShutDown)));
    assert_eq!(bed.ends().last().unwrap().1, EndReason::Shutdown);
    assert!(bed.leases.is_empty());
}

#[test]
fn a_shutdown_ends_what_lives_and_expires_what_is_due() {
    let bed = Bed::new();
    let _due = bed.leases.try_acquire("due", "A", secs(10)).unwrap();
    let _live = bed.leases.try_acquire("live", "B", secs(20)).unwrap();
    bed.set(10);
    bed.timers.shutdown(tickwheel::Shutdown::Drop);
    let mut ends = bed.ends();
    ends.sort_by_key(|end| end.3);
    let expected = [
        ("A".into(), EndReason::Absolute, 10, 1),
        ("B".into(), EndReason::Shutdown, 20, 2),
    ];
    assert_eq!(ends, expected);
}

#[test]
fn the_last_handle_ends_what_lives() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    let (told, timers) = (bed.told.clone(), bed.timers.clone());
    let other: Leases<String> = bed.leases.clone();
    drop(bed);
    assert!(grant.is_live());
    drop(other);
    assert_eq!(grant.status(), Err(Lost::ShutDown));
    assert_eq!(told.lock().unwrap()[0].2, EndReason::Shutdown);
    assert!(timers.is_empty() && !timers.is_shut_down());
}

/// Whoever asks has its timer armed, and is stopped for longer than the lease is to live; meanwhile somebody
/// else gets it, and the timer fires.
#[test]
fn who_is_refused_after_its_timer_has_fired_leaves_no_timer() {
    let clock = ManualClock::new();
    let meanwhile: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>> = Arc::default();
    let (hook, done) = (Arc::downgrade(&meanwhile), AtomicBool::new(false));
    let builder = Timers::builder().clock(clock.clone()).wake(move || {
        if !done.swap(true, Ordering::Relaxed) {
            hook.upgrade().unwrap().get().unwrap()();
        }
    });
    let timers = builder.build_hand_driven().unwrap();
    let leases: Leases<String> = Leases::new(&timers);
    let (hands, driver) = (leases.clone(), timers.clone());
    let pause = move || {
        let _grant = hands.try_acquire("r", "B", secs(60)).unwrap();
        clock.advance(secs(10));
        assert_eq!(driver.turn_fully().unwrap().fired, 1, "the timer of A");
    };
    assert!(meanwhile.set(Box::new(pause)).is_ok());
    assert_eq!(timers.next_timeout(), None); // the next to arm calls the hook
    assert!(
        leases
            .try_acquire("r", "A", secs(10))
            .unwrap_err()
            .is_held()
    );
    assert_eq!(timers.turn_fully().unwrap().fired, 0);
    assert_eq!(timers.len(), 1, "that of B");
}

#[test]
fn whoever_is_next_is_visited_and_counted_before_anybody_has_driven() {
    let bed = Bed::new();
    assert!(bed.leases.is_empty());
    drop(bed.ask("A", 10).unwrap());
    let mut next = bed.leases.acquire("r", "B", secs(30));
    assert!(Task::new().poll(&mut next).is_pending());
    bed.set(10);
    let mut visited = Vec::new();
    let visit = |lease: &tickwheel::Holding<String, String>, left| {
        visited.push((lease.holder().clone(), left));
    };
    bed.leases.for_each(visit);
    assert_eq!(visited, [("B".to_string(), secs(30))]);
    assert!(!bed.leases.is_empty() && bed.leases.len() == 1);
}
