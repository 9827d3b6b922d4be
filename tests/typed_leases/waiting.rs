//! Who waits: in order, and without a trace.

use std::time::Duration;

use tickwheel::{AcquireError, EndReason, Shutdown, Timers, Timestamp};

use crate::{Bed, Task, at, ready, secs};

#[test]
fn who_waits_is_served_in_the_order_of_asking() {
    let bed = Bed::new();
    let mut grant = bed.ask("first", 10).unwrap();
    let mut waiting: Vec<_> = (0..5)
        .map(|n| {
            let mut acquire = bed.leases.acquire("r", format!("{n}"), secs(10));
            let task = Task::new();
            assert!(task.poll(&mut acquire).is_pending());
            (task, acquire)
        })
        .collect();
    assert_eq!(bed.leases.waiters("r"), 5);
    for n in 0..5 {
        bed.leases.release(&grant).unwrap();
        assert!(bed.ask("overtakes", 10).unwrap_err().is_held());
        let wakes: Vec<_> = waiting.iter().map(|(task, _)| task.wakes()).collect();
        let expected: Vec<_> = (0..5).map(|m| usize::from(m <= n)).collect();
        assert_eq!(wakes, expected, "one at a time, in order");
        let (task, acquire) = &mut waiting[n];
        grant = ready(task.poll(acquire)).unwrap();
        assert_eq!(
            (grant.holder().as_str(), grant.token().get()),
            (&*n.to_string(), n as u64 + 2)
        );
    }
    assert_eq!(bed.leases.waiters("r"), 0);
}

#[test]
fn a_lease_that_is_free_is_had_at_the_first_poll() {
    let bed = Bed::new();
    let mut acquire = bed.leases.acquire("r", "A", secs(10));
    assert_eq!(bed.holder(), None, "futures are lazy");
    let grant = ready(Task::new().poll(&mut acquire)).unwrap();
    assert!(grant.is_live());
    drop(acquire);
    assert!(grant.is_live(), "it is its owner's now");
}

#[test]
fn an_expiry_and_a_revocation_hand_over_too() {
    let bed = Bed::new();
    let _grant = bed.ask("A", 10).unwrap();
    let (task, mut acquire) = (Task::new(), bed.leases.acquire("r", "B", secs(10)));
    assert!(task.poll(&mut acquire).is_pending());
    bed.go(10);
    assert_eq!(task.wakes(), 1);
    let grant = ready(task.poll(&mut acquire)).unwrap();
    assert_eq!(grant.deadline(), at(20), "from the handing over on");

    let (task, mut acquire) = (Task::new(), bed.leases.acquire("r", "C", secs(10)));
    assert!(task.poll(&mut acquire).is_pending());
    assert!(bed.leases.revoke("r").is_some());
    assert!(ready(task.poll(&mut acquire)).unwrap().is_live());
}

#[test]
fn who_waits_waits_for_the_lock_delay_too() {
    for by_expiry in [true, false] {
        let bed = Bed::with(|builder| builder.lock_delay(secs(5)));
        let _grant = bed.ask("A", if by_expiry { 10 } else { 20 }).unwrap();
        let (task, mut acquire) = (Task::new(), bed.leases.acquire("r", "B", secs(10)));
        assert!(task.poll(&mut acquire).is_pending());
        bed.go(10);
        assert_eq!(bed.leases.revoke("r").is_some(), !by_expiry);
        let (late, mut later) = (Task::new(), bed.leases.acquire("r", "C", secs(10)));
        assert!(late.poll(&mut later).is_pending());
        bed.go(13);
        assert!(task.wakes() == 0 && task.poll(&mut acquire).is_pending());
        bed.go(15);
        assert_eq!((task.wakes(), late.wakes()), (1, 0));
        assert!(ready(task.poll(&mut acquire)).is_ok());
    }
}

#[test]
fn who_is_dropped_while_waiting_leaves_the_queue() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    let tasks = [(); 3].map(|()| Task::new());
    let mut waiting: Vec<_> = tasks
        .iter()
        .map(|task| {
            let mut acquire = bed.leases.acquire("r", "B", secs(10));
            assert!(task.poll(&mut acquire).is_pending());
            acquire
        })
        .collect();
    drop(waiting.remove(0)); // the first
    drop(waiting.remove(1)); // the last
    assert_eq!((bed.leases.waiters("r"), bed.timers.len()), (1, 2));
    assert_eq!(tasks.each_ref().map(Task::wakers), [0, 1, 0]);
    bed.leases.release(&grant).unwrap();
    assert_eq!(tasks.each_ref().map(Task::wakes), [0, 1, 0]);
    assert!(ready(tasks[1].poll(&mut waiting[0])).is_ok());
}

#[test]
fn who_is_dropped_with_the_lease_in_hand_passes_it_on() {
    let bed = Bed::with(|builder| builder.lock_delay(secs(5)));
    let grant = bed.ask("A", 10).unwrap();
    let [one, two] = [(); 2].map(|()| Task::new());
    let mut first = bed.leases.acquire("r", "B", secs(10));
    let mut second = bed.leases.acquire("r", "C", secs(10));
    assert!(one.poll(&mut first).is_pending() && two.poll(&mut second).is_pending());
    bed.leases.release(&grant).unwrap();
    assert_eq!(bed.holder().as_deref(), Some("B"));
    drop(first); // was woken, and never polled
    assert_eq!((bed.holder().as_deref(), two.wakes()), (Some("C"), 1));
    let grant = ready(two.poll(&mut second)).unwrap();
    bed.leases.release(&grant).unwrap();
    assert!(bed.timers.is_empty() && bed.leases.is_empty());
    let reasons: Vec<_> = bed.ends().into_iter().map(|end| (end.0, end.1)).collect();
    let released = |holder: &str| (holder.to_owned(), EndReason::Released);
    assert_eq!(reasons, ["A", "B", "C"].map(released));
}

#[test]
fn who_is_dropped_unpolled_or_done_changes_nothing() {
    let bed = Bed::new();
    drop(bed.leases.acquire("r", "A", secs(10)));
    assert!(bed.timers.is_empty());
    let mut refused = bed.leases.acquire("r", "A", Duration::ZERO);
    assert!(matches!(
        ready(Task::new().poll(&mut refused)),
        Err(AcquireError::ZeroTtl)
    ));
    drop(refused);
    assert!(bed.timers.is_empty() && bed.ends().is_empty());
}

#[test]
fn a_lease_that_expires_before_its_task_is_polled_has_lapsed() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    let (task, mut acquire) = (Task::new(), bed.leases.acquire("r", "B", secs(10)));
    assert!(task.poll(&mut acquire).is_pending());
    bed.leases.release(&grant).unwrap();
    bed.go(10);
    assert!(matches!(
        ready(task.poll(&mut acquire)),
        Err(AcquireError::Lapsed)
    ));
    assert!(bed.ask("C", 10).is_ok());
}

#[test]
fn who_waits_gives_up_in_time() {
    let bed = Bed::new();
    let _grant = bed.ask("A", 100).unwrap();
    let (task, acquire) = (Task::new(), bed.leases.acquire("r", "B", secs(10)));
    let mut acquire = acquire.timeout(secs(5));
    bed.set(3); // does not count yet
    assert!(task.poll(&mut acquire).is_pending());
    bed.clock.set(Timestamp::from_nanos(at(8).as_nanos() - 1));
    assert!(task.poll(&mut acquire).is_pending());
    bed.go(8);
    assert_eq!((task.wakes(), bed.leases.waiters("r")), (1, 0));
    assert!(matches!(
        ready(task.poll(&mut acquire)),
        Err(AcquireError::TimedOut)
    ));
    assert_eq!(bed.timers.len(), 1);
}

#[test]
fn a_lease_that_comes_free_when_the_time_is_over_goes_to_the_next() {
    let bed = Bed::new();
    let grant = bed.ask("A", 100).unwrap();
    let [one, two] = [(); 2].map(|()| Task::new());
    let mut first = bed.leases.acquire("r", "B", secs(10)).timeout(secs(5));
    let mut second = bed.leases.acquire("r", "C", secs(10));
    assert!(one.poll(&mut first).is_pending() && two.poll(&mut second).is_pending());
    bed.set(5); // nobody drives
    bed.leases.release(&grant).unwrap();
    assert!(matches!(
        ready(one.poll(&mut first)),
        Err(AcquireError::TimedOut)
    ));
    assert_eq!(ready(two.poll(&mut second)).unwrap().holder(), "C");
}

#[test]
fn no_time_to_wait_asks_once() {
    let bed = Bed::new();
    let ask = || {
        bed.leases
            .acquire("r", "A", secs(10))
            .timeout(Duration::ZERO)
    };
    let grant = ready(Task::new().poll(&mut ask())).unwrap();
    let refused = ready(Task::new().poll(&mut ask()));
    assert!(matches!(refused, Err(AcquireError::TimedOut)));
    bed.leases.release(&grant).unwrap();
    assert!(bed.timers.is_empty());
}

#[test]
fn only_the_last_waker_is_woken() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    let [one, two] = [(); 2].map(|()| Task::new());
    let mut acquire = bed.leases.acquire("r", "B", secs(10));
    assert!(one.poll(&mut acquire).is_pending());
    assert!(two.poll(&mut acquire).is_pending());
    assert_eq!((one.wakers(), two.wakers()), (0, 1));
    bed.leases.release(&grant).unwrap();
    assert_eq!((one.wakes(), two.wakes()), (0, 1));
}

#[test]
fn all_who_wait_end_with_the_runtime_or_the_leases() {
    for by_handle in [false, true] {
        let bed = Bed::new();
        let _grant = bed.ask("A", 10).unwrap();
        let tasks = [(); 3].map(|()| Task::new());
        let mut waiting = tasks.each_ref().map(|task| {
            let mut acquire = bed.leases.acquire("r", "B", secs(10));
            assert!(task.poll(&mut acquire).is_pending());
            acquire
        });
        if by_handle {
            let again = Timers::clone(&bed.timers);
            drop(bed); // the futures are handles: nothing ends
            assert!(tasks[0].poll(&mut waiting[0]).is_pending());
            again.shutdown(Shutdown::FireDue);
        } else {
            bed.timers.shutdown(Shutdown::Drop);
        }
        assert_eq!(tasks.each_ref().map(Task::wakes), [1, 1, 1]);
        for (task, acquire) in tasks.iter().zip(&mut waiting) {
            assert!(matches!(
                ready(task.poll(acquire)),
                Err(AcquireError::ShutDown)
            ));
        }
    }
}

#[test]
#[should_panic(expected = "after it was ready")]
fn a_future_that_is_over_is_not_to_be_polled() {
    let bed = Bed::new();
    let mut acquire = bed.leases.acquire("r", "A", secs(10));
    let _grant = ready(Task::new().poll(&mut acquire));
    let _ = Task::new().poll(&mut acquire);
}

#[test]
fn a_thread_waits_until_the_lease_is_handed_to_it() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    std::thread::scope(|scope| {
        let leases = &bed.leases;
        let thread = scope.spawn(|| leases.acquire_blocking("r", "B", secs(10), None));
        while leases.waiters("r") == 0 {
            std::thread::yield_now();
        }
        leases.release(&grant).unwrap();
        assert_eq!(thread.join().unwrap().unwrap().holder(), "B");
    });
}

#[test]
fn a_thread_gives_up_by_the_clock_of_the_runtime() {
    let bed = Bed::new();
    let _grant = bed.ask("A", 100).unwrap();
    std::thread::scope(|scope| {
        let leases = &bed.leases;
        let thread = scope.spawn(|| leases.acquire_blocking("r", "B", secs(10), Some(secs(5))));
        while leases.waiters("r") == 0 {
            std::thread::yield_now();
        }
        bed.go(5);
        let result = thread.join().unwrap();
        assert!(matches!(result, Err(AcquireError::TimedOut)));
    });
    let now = bed
        .leases
        .acquire_blocking("r", "B", secs(10), Some(Duration::ZERO));
    assert!(matches!(now, Err(AcquireError::TimedOut)));
}

#[cfg(feature = "serde")]
#[test]
fn a_snapshot_shows_whoever_is_next_before_anybody_has_driven() {
    let bed = Bed::new();
    drop(bed.ask("A", 10).unwrap());
    let mut next = bed.leases.acquire("r", "B", secs(30));
    assert!(Task::new().poll(&mut next).is_pending());
    bed.set(10);
    let snapshot = bed.leases.snapshot();
    let holders: Vec<_> = snapshot.grants.iter().map(|grant| &*grant.holder).collect();
    assert_eq!(holders, ["B"]);
}
