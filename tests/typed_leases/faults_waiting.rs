//! Who waits is answered, once, whatever fails meanwhile; and nobody holds or waits whom nobody knows of.

use std::io::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use tickwheel::{AcquireError, Ended, Leases, ManualClock, Timers};

use crate::{Bed, Task, at, ready, secs};

#[test]
fn a_token_store_that_fails_refuses_all_who_wait_however_many() {
    for expires in [false, true] {
        let (down, calls) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (is_down, count): (_, Arc<AtomicUsize>) = (Arc::clone(&down), Arc::clone(&calls));
        let bed = Bed::with(|builder| {
            builder.persist_tokens(1, move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                let down = is_down.load(Ordering::Relaxed);
                (!down).then_some(()).ok_or_else(|| Error::other("down"))
            })
        });
        let one = bed.ask("A", 10).unwrap();
        let task = Task::new();
        let mut all: Vec<_> = (0..20_000)
            .map(|_| bed.leases.acquire("r", "B", secs(10)))
            .collect();
        for waiting in &mut all {
            assert!(task.poll(waiting).is_pending());
        }
        down.store(true, Ordering::Relaxed);
        if expires {
            bed.go(10);
        } else {
            bed.leases.release(&one).unwrap();
        }
        assert_eq!(bed.leases.waiters("r"), 0);
        assert_eq!(calls.load(Ordering::Relaxed), 2, "asked once for all");
        assert_eq!(task.wakes(), 20_000);
        for waiting in &mut all {
            let answer = ready(task.poll(waiting));
            assert!(matches!(answer, Err(AcquireError::Unpersisted(_))));
        }
        assert!(bed.timers.is_empty());
        down.store(false, Ordering::Relaxed);
        assert!(bed.ask("B", 10).is_ok(), "the next request asks again");
    }
}

/// Leases whose hook panics when "one" ends.
fn touchy() -> (ManualClock, Timers, Leases<String>) {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    let timers = timers.build_hand_driven().unwrap();
    let leases = Leases::builder()
        .on_end(|ended: Ended<&String, &String>| assert!(ended.value != "one", "on purpose"))
        .build(&timers);
    (clock, timers, leases)
}

#[test]
fn a_hook_that_panics_as_a_lease_is_granted_leaves_nobody_holding_it() {
    let (clock, timers, leases) = touchy();
    let _one = leases.try_acquire("r", "one", secs(10)).unwrap();
    clock.set(at(10));
    let asked = catch_unwind(AssertUnwindSafe(|| {
        leases
            .try_acquire("r", "two", Duration::MAX)
            .map(|grant| grant.token())
    }));
    assert!(asked.is_err(), "the panic is told");
    assert!(leases.holder("r").is_none() && timers.is_empty());
    assert!(leases.try_acquire("r", "three", secs(10)).is_ok());
}

#[test]
fn a_hook_that_panics_as_somebody_is_queued_leaves_no_place_that_is_nobodys() {
    let (clock, timers, leases) = touchy();
    let _one = leases.try_acquire("r", "one", secs(10)).unwrap();
    let (task, mut two) = (Task::new(), leases.acquire("r", "two", secs(10)));
    assert!(task.poll(&mut two).is_pending());
    clock.set(at(10));
    let mut three = leases.acquire("r", "three", Duration::MAX);
    let asked = catch_unwind(AssertUnwindSafe(|| task.poll(&mut three).is_pending()));
    assert!(asked.is_err(), "the panic is told");
    assert_eq!(leases.waiters("r"), 0);
    let two = ready(task.poll(&mut two)).unwrap();
    leases.release(&two).unwrap();
    assert!(leases.is_empty() && timers.is_empty());
}

#[test]
fn who_is_granted_after_a_delay_keeps_its_timer_where_others_take_every_place() {
    let bed = Bed::on(Timers::builder().limit(4), |builder| {
        builder.start_delay(secs(5))
    });
    let (task, mut one) = (Task::new(), bed.leases.acquire("r", "A", secs(10)));
    let mut two = bed.leases.acquire("r", "B", secs(10));
    assert!(task.poll(&mut one).is_pending() && task.poll(&mut two).is_pending());
    let mut second = 0;
    let mut wait = |until| {
        while second < until {
            second += 1;
            while bed.timers.arm(secs(1000), |_| {}).is_ok() {}
            bed.go(second);
        }
    };
    wait(5);
    assert_eq!(bed.holder().as_deref(), Some("A"));
    wait(15);
    assert_eq!(task.wakes(), 2, "B has it as the lease of A ends");
    let grant = ready(task.poll(&mut two)).unwrap();
    assert_eq!((grant.deadline(), grant.is_live()), (at(25), true));
}

#[test]
fn what_is_found_expired_by_a_count_is_so_for_good() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    bed.set(10);
    assert_eq!(bed.leases.len(), 0);
    bed.clock.jump(at(5));
    assert_eq!(bed.leases.len(), 0);
    assert!(bed.holder().is_none() && !grant.is_live());
    assert_eq!(bed.ends().len(), 1);
}

#[test]
fn who_waits_no_longer_is_not_counted() {
    let bed = Bed::new();
    let _one = bed.ask("A", 100).unwrap();
    let task = Task::new();
    let mut short = bed.leases.acquire("r", "B", secs(10)).timeout(secs(1));
    let mut long = bed.leases.acquire("r", "C", secs(10));
    assert!(task.poll(&mut short).is_pending() && task.poll(&mut long).is_pending());
    assert_eq!(bed.leases.waiters("r"), 2);
    bed.set(1);
    assert_eq!(bed.leases.waiters("r"), 1);
    let answer = task.poll(&mut short);
    assert!(matches!(answer, Poll::Ready(Err(AcquireError::TimedOut))));
}

#[test]
fn what_is_handed_on_as_it_is_counted_is_counted() {
    let bed = Bed::new();
    let _one = bed.ask("A", 10).unwrap();
    let (task, mut two) = (Task::new(), bed.leases.acquire("r", "B", secs(10)));
    assert!(task.poll(&mut two).is_pending());
    bed.set(10);
    assert_eq!((bed.leases.len(), bed.holder().as_deref()), (1, Some("B")));
    assert_eq!(task.wakes(), 1);
}
