//! Faults that users of other lease and lock services have reported, and what this one does.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use tickwheel::{
    AcquireError, Clock, EndReason, FenceGate, FencingToken, Grant, LeaseGuardOptions, Leases,
    Lost, ManualClock, Timers, Timestamp,
};

use crate::remote::{Mode, Remote};
use crate::{Bed, at, secs};

/// etcd-io/etcd#10686: an expiry that failed once was never tried again, and its remaining time became negative.
#[test]
fn an_expiry_whose_hook_panics_is_an_expiry() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    let timers = timers.build_hand_driven().unwrap();
    let builder = Leases::builder().on_end(|ended| assert_ne!(ended.generation, 1, "on purpose"));
    let leases: Leases<String> = builder.build(&timers);
    let grant = leases.try_acquire("r", "A", secs(10)).unwrap();
    clock.set(at(20));
    timers.turn_fully().unwrap();
    assert_eq!(timers.stats().panics, 1, "reported");
    assert!(leases.holder("r").is_none());
    assert_eq!(leases.time_to_live("r"), None);
    assert_eq!(grant.status(), Err(Lost::Expired));
    assert!(leases.try_acquire("r", "B", secs(10)).is_ok());
}

/// etcd-io/etcd#17132, #13294, #9395, #20273, #13491, #9924: a restart gave leases their full time again. Here no
/// lease outlives its process, and no holder gets more time by a restart.
#[test]
fn a_restart_gives_nobody_more_time() {
    let mut high = FencingToken::new(0);
    let mut before: Option<Grant<String, String>> = None;
    for _ in 0..3 {
        let bed = Bed::with(|builder| builder.tokens_from(high).start_delay(secs(600)));
        assert_eq!(bed.holder(), None);
        if let Some(before) = &before {
            assert_eq!(bed.leases.renew(before), Err(Lost::Foreign));
        }
        assert!(bed.ask("A", 600).unwrap_err().is_held());
        bed.go(600);
        let grant = bed.ask("A", 600).unwrap();
        assert_eq!(grant.deadline(), at(1200));
        high = bed.leases.high_water();
        before = Some(grant);
    }
}

/// etcd-io/etcd#7446: a renewal moved its next time only when its result was read.
#[test]
fn renewals_keep_their_pace_though_nobody_reads_results() {
    for mode in [Mode::Answer, Mode::Hold] {
        let remote = Remote::new();
        remote.set(mode);
        let guard = remote.guard(LeaseGuardOptions::new(&remote.timers).jitter(0), 60);
        for second in 1..60 {
            remote.go(second);
        }
        assert_eq!(remote.renewals(), [20, 40], "{mode:?}");
        drop(guard);
        remote.forget();
    }
    let remote = Remote::new();
    let _guard = remote.guard(LeaseGuardOptions::new(&remote.timers).jitter(0), 60);
    for second in 1..=600 {
        remote.go(second);
    }
    assert_eq!(remote.renewals().len(), 30, "3 in 60");
}

/// hashicorp/consul#1172: a lease lived for twice its time.
#[test]
fn a_lease_ends_at_its_time_and_not_at_twice_that() {
    let bed = Bed::new();
    let _grant = bed.ask("A", 10).unwrap();
    bed.set(10);
    assert!(bed.ask("B", 10).is_ok());
}

/// redisson/redisson#7272, #1626, #7277: a release before the renewal was registered left a renewal for ever.
#[test]
fn no_renewal_outlives_a_release_however_soon_that_comes() {
    let bed = Bed::new();
    let (done, drives) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                bed.clock.advance(secs(10) / 3);
                bed.timers.turn_fully().unwrap();
                drives.fetch_add(1, Ordering::Release);
            }
        });
        for round in 0..20_000 {
            if let Ok(guard) = bed.leases.hold("r", "A", secs(10)) {
                if round % 100 == 0 {
                    let before = drives.load(Ordering::Acquire);
                    while drives.load(Ordering::Acquire) < before + 4 {
                        std::thread::yield_now();
                    }
                }
                drop(guard);
            }
            assert!(bed.leases.holder("r").is_none());
        }
        done.store(true, Ordering::Release);
    });
    assert!(bed.leases.is_empty());
    bed.clock.advance(secs(100));
    bed.drive();
    assert_eq!(bed.timers.len(), 0, "no timer is left");
}

/// redisson/redisson#3712, #2515, #3194: after a loss a stale entry kept the next hold from being renewed.
#[test]
fn the_hold_after_a_loss_is_renewed_as_any_other() {
    let bed = Bed::new();
    let lost = bed.leases.hold("r", "A", secs(9)).unwrap();
    bed.set(9); // stalled: nothing was driven
    assert!(lost.is_lost());
    let again = bed.leases.hold("r", "A", secs(9)).unwrap();
    drop(lost);
    for second in 10..=(9 + 3 * 9) {
        bed.go(second);
        assert!(!again.is_lost(), "at {second}");
    }
    assert!(again.token().get() == 2 && again.grant().is_live());
}

/// lukas-krecan/ShedLock#74, thomhurst/Dekaf#1662, dashpay/platform#4476: a late release or renewal by the old holder
/// hit the new one's lease.
#[test]
fn a_late_holder_is_told_that_it_has_lost_and_does_nothing_to_the_next() {
    let bed = Bed::new();
    let old = bed.ask("A", 30).unwrap();
    bed.go(30);
    let new = bed.ask("A", 30).unwrap(); // even in the same name
    bed.go(40);
    assert_eq!(bed.leases.release(&old), Err(Lost::Expired));
    assert_eq!(bed.leases.renew(&old), Err(Lost::Expired));
    assert_eq!(old.status(), Err(Lost::Expired));
    assert_eq!((new.deadline(), new.is_live()), (at(60), true));
    bed.go(59);
    assert!(new.is_live());
    bed.go(60);
    assert_eq!(new.status(), Err(Lost::Expired));
}

/// A clock in whose `n`th reading other things happen: what is read is the time before them.
struct Pausing {
    clock: ManualClock,
    left: Arc<AtomicUsize>,
    meanwhile: Weak<OnceLock<Box<dyn Fn() + Send + Sync>>>,
}

impl Clock for Pausing {
    fn now(&self) -> Timestamp {
        let now = self.clock.now();
        let last = |left: usize| left.checked_sub(1);
        let left = self
            .left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, last);
        if left == Ok(1) {
            let meanwhile = self.meanwhile.upgrade();
            if let Some(meanwhile) = meanwhile.as_ref().and_then(|hook| hook.get()) {
                meanwhile();
            }
        }
        now
    }
}

/// lukas-krecan/ShedLock#132: a time that was read before a pause let two acquisitions succeed.
#[test]
fn a_time_that_was_read_before_a_pause_makes_no_second_holder() {
    for somebody_comes in [true, false] {
        for reading in 1..12 {
            let clock = ManualClock::new();
            let left = Arc::new(AtomicUsize::new(0));
            let meanwhile: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>> = Arc::default();
            let pausing = Pausing {
                clock: clock.clone(),
                left: Arc::clone(&left),
                meanwhile: Arc::downgrade(&meanwhile),
            };
            let timers = Timers::builder()
                .clock(pausing)
                .build_hand_driven()
                .unwrap();
            let leases: Leases<String> = Leases::new(&timers);
            let other: Arc<OnceLock<Grant<String, String>>> = Arc::default();
            let (hands, shared) = (leases.clone(), Arc::clone(&other));
            let pause = move || {
                clock.set(at(6));
                if somebody_comes {
                    if let Ok(grant) = hands.try_acquire("r", "T2", secs(5)) {
                        assert!(shared.set(grant).is_ok());
                    }
                }
            };
            assert!(meanwhile.set(Box::new(pause)).is_ok());
            left.store(reading, Ordering::Release);
            let mine = leases.try_acquire("r", "T1", secs(5));
            left.store(0, Ordering::Release);
            let case = format!("reading {reading}, somebody comes: {somebody_comes}");
            let others = other.get().is_some_and(Grant::is_live);
            match mine {
                // What was granted before the pause is over; what is returned lives, or did so just now.
                Ok(grant) => assert!(!(grant.is_live() && others), "{case}"),
                Err(AcquireError::Lapsed) => {}
                Err(error) => assert!(others && error.is_held(), "{case}: {error}"),
            }
            assert_eq!(
                leases.len(),
                leases.holder("r").into_iter().count(),
                "{case}"
            );
        }
    }
}

/// bsm/redislock#93, #94, ORESoftware/live-mutex#106, bman654/clodex#8: without fencing a late holder writes after the
/// next one.
#[test]
fn tokens_increase_whatever_ends_a_grant_and_the_gate_refuses_the_old() {
    let start = |high| Bed::with(|builder| builder.tokens_from(FencingToken::new(high)));
    let (bed, gate) = (start(40), FenceGate::new());
    let expired = bed.ask("A", 10).unwrap();
    assert!(bed.leases.renew(&expired).is_ok());
    assert_eq!(expired.token().get(), 41, "a renewal keeps it");
    bed.go(10);
    let released = bed.ask("B", 10).unwrap();
    assert_eq!(gate.check(released.token()), Ok(()));
    assert!(gate.check(expired.token()).is_err());
    bed.leases.release(&released).unwrap();
    let revoked = bed.ask("A", 10).unwrap();
    assert!(bed.leases.revoke("r").is_some());
    let last = bed.ask("A", 10).unwrap();
    let next = start(bed.leases.high_water().get()).ask("A", 10).unwrap();
    let tokens = [&expired, &released, &revoked, &last, &next].map(|grant| grant.token().get());
    assert_eq!(tokens, [41, 42, 43, 44, 45]);
}

/// kubernetes/client-go#448, kubernetes/kubernetes#120824: takeover was judged by somebody else's clock. Here there is one
/// clock in a process; after a restart nobody gets anything for as long as the owner has said.
#[test]
fn after_a_restart_there_are_never_two_holders() {
    let bed = Bed::with(|builder| builder.start_delay(secs(30)));
    bed.set(29);
    let until = at(30);
    assert!(matches!(bed.ask("B", 10), Err(AcquireError::Delayed { until: at }) if at == until));
    let (task, mut acquire) = (crate::Task::new(), bed.leases.acquire("r", "C", secs(10)));
    assert!(task.poll(&mut acquire).is_pending());
    bed.go(30);
    assert_eq!((task.wakes(), bed.holder().as_deref()), (1, Some("C")));
    assert!(bed.leases.try_acquire("other", "B", secs(10)).is_ok());
}

/// kubernetes/kubernetes#114872: a challenger applied its own, shorter time to the holder's lease.
#[test]
fn a_lease_lives_as_long_as_its_own_time_says() {
    let bed = Bed::new();
    let _grant = bed.ask("A", 60).unwrap();
    for second in [11, 59] {
        bed.go(second);
        let held = bed.ask("B", 10);
        assert!(matches!(held, Err(AcquireError::Held { deadline, .. }) if deadline == at(60)));
    }
    bed.go(60);
    assert!(bed.ask("B", 10).is_ok());
}

/// HarperFast/harper#2498: the answer to a renewal that was given up released the lease.
#[test]
fn an_answer_to_a_renewal_that_was_given_up_takes_nothing_away() {
    let remote = Remote::new();
    let guard = remote.guard(LeaseGuardOptions::new(&remote.timers).jitter(0), 60);
    remote.set(Mode::Hold);
    remote.go(20); // asked, and no answer
    remote.set(Mode::Answer);
    remote.go(40); // asked again, and answered: until 100
    assert_eq!(guard.deadline(), Some(at(100)));
    remote.answer(); // the first one, late: it says until 80
    assert_eq!(guard.deadline(), Some(at(100)));
    assert!(!guard.is_lost() && remote.releases() == 0);
    assert_eq!((guard.token().get(), guard.grant().is_live()), (1, true));
}

/// stacklok/mecatl#1343: may a holder renew what has expired and nobody took? No; it may acquire again.
#[test]
fn an_expired_lease_is_not_renewed_though_nobody_took_it() {
    for somebody_comes in [false, true] {
        let bed = Bed::new();
        let grant = bed.ask("A", 10).unwrap();
        bed.set(11);
        let other = somebody_comes.then(|| bed.ask("B", 10).unwrap());
        bed.set(12);
        assert_eq!(bed.leases.renew(&grant), Err(Lost::Expired));
        let again = bed.ask("A", 10);
        assert_eq!(again.is_ok(), other.is_none());
        if let Ok(again) = again {
            assert_eq!(again.token().get(), 2);
        }
        assert_eq!(bed.ends()[0], ("A".into(), EndReason::Absolute, 10, 1));
    }
}
