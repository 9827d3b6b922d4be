//! Resources that nobody holds: they are remembered, so many and no more, and nobody gets to see them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::{sync::Barrier, thread};

use tickwheel::{EndReason, FenceGate, Leases, ManualClock, Timers};

use crate::{Bed, at, secs};

/// How many are remembered at most.
pub(crate) const IDLE: usize = 1024;

/// How many more may not have been dropped yet: the map lets go of what was taken out of it by and by.
pub(crate) const SLACK: usize = 1024;

/// A million, but where each takes twenty times as long.
const RESOURCES: u32 = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

/// A name that is counted.
pub(crate) struct Name(Arc<AtomicUsize>, u32);

impl Name {
    pub(crate) fn new(count: &Arc<AtomicUsize>, id: u32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count), id)
    }
}

impl Clone for Name {
    fn clone(&self) -> Self {
        Self::new(&self.0, self.1)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Hash for Name {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.1.hash(state);
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Name {}

fn hand_driven() -> (ManualClock, Timers) {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    (clock, timers.build_hand_driven().unwrap())
}

#[test]
fn however_many_are_used_once_no_more_than_a_few_are_left_behind() {
    let (_clock, timers) = hand_driven();
    let names = Arc::new(AtomicUsize::new(0));
    let leases: Leases<Name, ()> = Leases::new(&timers);
    for id in 0..RESOURCES {
        let grant = leases.try_acquire(Name::new(&names, id), (), secs(10));
        leases.release(&grant.unwrap()).unwrap();
        if id % 1000 == 0 {
            let left = names.load(Ordering::Relaxed);
            assert!(left <= IDLE + SLACK, "{left} names after {id} leases");
            assert!(timers.is_empty(), "what is idle has no timer");
        }
    }
    assert!(leases.is_empty());
    drop((leases, timers));
    assert_eq!(names.load(Ordering::Relaxed), 0);
}

#[test]
fn what_has_expired_or_was_revoked_leaves_no_more_behind() {
    let (clock, timers) = hand_driven();
    let names = Arc::new(AtomicUsize::new(0));
    let leases: Leases<Name, ()> = Leases::builder().lock_delay(secs(5)).build(&timers);
    for round in 0..20 {
        for id in 0..2000 {
            let name = || Name::new(&names, round * 2000 + id);
            drop(leases.try_acquire(name(), (), secs(10)).unwrap());
            if id % 2 == 0 {
                assert!(leases.revoke(&name()).is_some());
            }
        }
        clock.advance(secs(20));
        while timers.turn_fully().unwrap().fired > 0 {}
        let left = names.load(Ordering::Relaxed);
        assert!(left <= IDLE + SLACK, "{left} names in round {round}");
        assert!(timers.is_empty() && leases.is_empty());
    }
}

#[test]
fn what_is_idle_takes_no_place_in_a_runtime_that_is_full() {
    let bed = Bed::on(Timers::builder().limit(1), |builder| builder);
    for resource in 0..5000 {
        let grant = bed
            .leases
            .try_acquire(resource.to_string(), "A", secs(10))
            .unwrap();
        bed.leases.release(&grant).unwrap();
    }
    // Nor for anybody else.
    assert!(bed.timers.arm(secs(1), |_| {}).is_ok());
}

#[test]
fn what_is_idle_is_not_seen() {
    let bed = Bed::new();
    for resource in 0..100 {
        let grant = bed
            .leases
            .try_acquire(resource.to_string(), "A", secs(10))
            .unwrap();
        bed.leases.release(&grant).unwrap();
    }
    let kept = bed.ask("B", 10).unwrap();
    assert_eq!(bed.leases.len(), 1);
    assert!(bed.leases.holder("7").is_none() && bed.leases.time_to_live("7").is_none());
    assert_eq!((bed.leases.waiters("7"), bed.leases.revoke("7")), (0, None));
    let mut seen = Vec::new();
    bed.leases.for_each(|lease, left| {
        seen.push((lease.resource().clone(), lease.token(), left));
    });
    assert_eq!(seen, [("r".to_string(), kept.token(), secs(10))]);
    #[cfg(feature = "serde")]
    {
        let snapshot = bed.leases.snapshot();
        assert_eq!((snapshot.grants.len(), snapshot.delays.len()), (1, 0));
        assert_eq!(snapshot.grants[0].resource, "r");
    }
}

#[test]
fn who_comes_back_to_an_idle_resource_finds_it_as_new() {
    let bed = Bed::with(|builder| builder.lock_delay(secs(5)).max_hold(secs(30)));
    for round in 0..10 {
        let start = round * 100;
        bed.go(start);
        let one = bed.ask("A", 20).unwrap();
        bed.leases.release(&one).unwrap();
        let two = bed.ask("B", 20).unwrap();
        assert!(one.token() < two.token());
        assert_eq!(
            two.deadline(),
            at(start + 20),
            "nothing is left of the first"
        );
        bed.set(start + 15);
        assert_eq!(
            bed.leases.renew(&two),
            Ok(at(start + 30)),
            "the longest hold"
        );
        bed.go(start + 30);
        assert!(bed.ask("C", 20).is_err(), "the lock delay");
        bed.go(start + 35);
        assert!(bed.holder().is_none() && bed.timers.is_empty());
    }
    let reasons: Vec<_> = bed.ends().iter().map(|end| end.1).collect();
    assert_eq!(
        reasons,
        [EndReason::Released, EndReason::Absolute].repeat(10)
    );
}

#[test]
fn a_visit_may_end_what_it_visits() {
    let bed = Bed::new();
    for resource in 0..10 {
        let ttl = secs(if resource < 5 { 10 } else { 20 });
        let _grant = bed
            .leases
            .try_acquire(resource.to_string(), "A", ttl)
            .unwrap();
    }
    bed.set(10);
    let mut visited = 0;
    bed.leases.for_each(|lease, left| {
        assert_eq!(left, secs(10), "what has expired is not visited");
        assert!(bed.leases.revoke(lease.resource()).is_some());
        visited += 1;
    });
    assert_eq!((visited, bed.leases.len()), (5, 0));
}

/// Each round uses one of few resources again, and drives the others out by many that are used once. So each is found idle,
/// on its way out, and gone.
#[test]
fn of_64_threads_that_use_and_drive_out_the_same_resources_one_at_a_time_holds_each() {
    const THREADS: u64 = 64;
    const HOT: usize = 4;
    let (_clock, timers) = hand_driven();
    let names = Arc::new(AtomicUsize::new(0));
    let leases: Leases<Name, u64> = Leases::new(&timers);
    let inside: [AtomicU64; HOT] = Default::default();
    let gates: [FenceGate; HOT] = Default::default();
    let start = Barrier::new(THREADS as usize);
    let granted: usize = thread::scope(|scope| {
        let (leases, names, inside, gates, start) = (&leases, &names, &inside, &gates, &start);
        let threads: Vec<_> = (1..=THREADS)
            .map(|me| {
                scope.spawn(move || {
                    start.wait();
                    let mut granted = 0;
                    for round in 0..50_u32 {
                        let hot = (me as usize + round as usize) % HOT;
                        if let Ok(grant) =
                            leases.try_acquire(Name::new(names, hot as u32), me, secs(10))
                        {
                            granted += 1;
                            let before = inside[hot].swap(me, Ordering::AcqRel);
                            assert_eq!(before, 0, "{me} meets {before}");
                            assert!(gates[hot].check(grant.token()).is_ok(), "tokens increase");
                            let holding = leases.holder(&Name::new(names, hot as u32));
                            assert_eq!(holding.unwrap().token(), grant.token());
                            assert_eq!(inside[hot].swap(0, Ordering::AcqRel), me);
                            leases.release(&grant).unwrap();
                        }
                        for cold in 0..40 {
                            let id = (me as u32 * 50 + round) * 40 + cold + HOT as u32;
                            let once = leases.try_acquire(Name::new(names, id), me, secs(10));
                            leases.release(&once.unwrap()).unwrap();
                        }
                    }
                    granted
                })
            })
            .collect();
        let threads = threads.into_iter();
        threads.map(|thread| thread.join().unwrap()).sum()
    });
    assert!(granted > 0 && leases.is_empty() && timers.is_empty());
    let cold = THREADS as usize * 50 * 40;
    assert_eq!(leases.high_water().get() as usize, granted + cold);
    drop((leases, timers));
    assert_eq!(names.load(Ordering::Relaxed), 0, "nobody is left behind");
}
