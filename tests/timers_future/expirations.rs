//! Expirations: what is given out when, and when the task that waits is woken.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tickwheel::{ArmError, Clock, Expirations, TimerKey, Timers, Timestamp};

use crate::rig::{Rig, Task, at, block_on, ms};

/// The value of the next one, if there is one now.
fn poll<T>(task: &Task, queue: &mut Expirations<T>) -> Poll<Option<T>> {
    let polled = task.with(|cx| queue.poll_expired(cx));
    polled.map(|expired| expired.map(|expired| expired.value))
}

/// Has a task wait that polls only when it is woken, until nothing is left to happen. Says what it got, and when.
fn serve<T>(rig: &Rig, task: &Task, queue: &mut Expirations<T>) -> Vec<(u64, T)> {
    let (mut log, mut seen) = (Vec::new(), task.wakes());
    loop {
        if task.wakes() > seen {
            seen = task.wakes();
            while let Poll::Ready(Some(value)) = poll(task, queue) {
                log.push((rig.now(), value));
            }
        }
        if rig.timers.advance_to_next(&rig.clock) == 0 {
            return log;
        }
    }
}

#[test]
fn values_come_in_the_order_of_their_times_and_never_early() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    for after in [300, 5, 70_000, 5, 0, 256] {
        queue.insert(after, ms(after));
    }
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some(0)));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    assert_eq!((queue.len(), rig.timers.len()), (5, 1)); // one timer for all of them
    let log = serve(&rig, &task, &mut queue);
    assert_eq!(
        log,
        [(5, 5), (5, 5), (256, 256), (300, 300), (70_000, 70_000)]
    );
    assert_eq!(poll(&task, &mut queue), Poll::Ready(None));
    assert_eq!((queue.error(), rig.timers.len()), (None, 0));
}

#[test]
fn what_is_given_out_says_its_key_and_its_time() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    let key = queue.insert_at('a', Timestamp::from_nanos(1_500_000));
    assert_eq!(queue.deadline(key), Some(at(2))); // rounded up to a tick
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    rig.clock.set(Timestamp::from_nanos(1_999_999));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    rig.go(2);
    let Poll::Ready(Some(expired)) = task.with(|cx| queue.poll_expired(cx)) else {
        panic!("it is due");
    };
    let deadline = rig.timers.resolution().start_of(expired.deadline);
    assert_eq!((expired.key, deadline), (key, at(2)));
    assert_eq!((queue.deadline(key), queue.remove(key)), (None, None));
    assert!(queue.reset(key, ms(1)).is_err());
}

#[test]
fn an_insert_counts_from_the_call() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    rig.go(20);
    queue.insert('a', ms(30));
    rig.go(40); // before anybody polls
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    assert_eq!(serve(&rig, &task, &mut queue), [(50, 'a')]);
}

/// tokio-rs/tokio#1700, tokio-rs/tokio#2285
#[test]
fn a_later_insert_after_a_delivery_hides_nothing() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    for after in 1..=5 {
        queue.insert(after, ms(after));
    }
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    rig.go(1);
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some(1)));
    queue.insert(10, ms(9));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    let log = serve(&rig, &task, &mut queue);
    assert_eq!(log, [(2, 2), (3, 3), (4, 4), (5, 5), (10, 10)]);
}

/// tokio-rs/tokio#849
#[test]
fn a_reset_to_sooner_is_served_then_and_not_at_a_slot_boundary() {
    for first in [70, 130, 199, 200, 4_100, 70_000] {
        let (rig, task) = (Rig::new(), Task::new());
        let mut queue = rig.timers.expirations();
        rig.go(1);
        let key = queue.insert_at('a', at(first));
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
        rig.go(3);
        for sooner in [60, 5] {
            let wakes = task.wakes();
            queue.reset_at(key, at(sooner)).unwrap();
            assert_eq!(task.wakes(), wakes + 1, "it has to sleep for less");
            assert_eq!(poll(&task, &mut queue), Poll::Pending);
        }
        assert_eq!(serve(&rig, &task, &mut queue), [(5, 'a')], "first {first}");
    }
}

/// tokio-rs/tokio#2290
#[test]
fn a_reset_within_a_slot_whose_start_is_past_keeps_nobody_busy() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    let key = queue.insert('a', ms(300));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    rig.go(280);
    while task.wakes() > 0 && poll(&task, &mut queue).is_ready() {}
    let wakes = task.wakes();
    queue.reset_at(key, at(320)).unwrap();
    for now in 281..320 {
        rig.go(now);
        assert_eq!(poll(&task, &mut queue), Poll::Pending, "at {now}");
    }
    assert!(task.wakes() <= wakes + 1, "{} wakes", task.wakes() - wakes);
    assert_eq!(serve(&rig, &task, &mut queue), [(320, 'a')]);
}

/// tokio-rs/tokio#8274
#[test]
fn a_reset_into_the_past_wakes_the_task_at_once() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    let key = queue.insert('a', ms(1_000));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    rig.go(50);
    let wakes = task.wakes();
    queue.reset_at(key, at(10)).unwrap();
    assert_eq!(task.wakes(), wakes + 1);
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some('a')));
}

/// tokio-rs/tokio#6751
#[test]
fn the_task_is_woken_when_the_last_value_is_taken_out() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    let keys = ['a', 'b'].map(|value| queue.insert(value, ms(100_000)));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    assert_eq!((queue.remove(keys[0]), task.wakes()), (Some('a'), 0));
    assert_eq!((queue.remove(keys[1]), task.wakes()), (Some('b'), 1));
    assert_eq!(rig.timers.len(), 0, "nothing is to be waited for");
    assert_eq!(poll(&task, &mut queue), Poll::Ready(None));
}

/// tokio-rs/tokio#6751
#[test]
fn a_thread_that_waits_ends_when_another_one_takes_the_last_value_out() {
    for _ in 0..100 {
        let rig = Rig::new(); // nobody drives it
        let mut queue = rig.timers.expirations();
        let key = queue.insert('a', ms(100_000));
        let queue = Arc::new(Mutex::new(queue));
        thread::scope(|scope| {
            let waits = scope
                .spawn(|| block_on(poll_fn(|cx| queue.lock().unwrap().poll_expired(cx))).is_none());
            thread::yield_now();
            assert_eq!(queue.lock().unwrap().remove(key), Some('a'));
            assert!(waits.join().unwrap());
        });
    }
}

/// tokio-rs/tokio#8320
#[test]
fn the_task_is_woken_when_all_values_are_cleared_and_not_when_there_are_none() {
    let clear: [fn(&mut Expirations<char>); 2] = [Expirations::clear, |queue| {
        assert_eq!(queue.drain().count(), 1);
    }];
    for clear in clear {
        let (rig, task) = (Rig::new(), Task::new());
        let mut queue = rig.timers.expirations();
        queue.insert('a', ms(100_000));
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
        clear(&mut queue);
        assert_eq!((task.wakes(), rig.timers.len()), (1, 0));
        assert_eq!(poll(&task, &mut queue), Poll::Ready(None));
        queue.clear();
        assert_eq!((task.wakes(), queue.is_empty()), (1, true));
    }
}

/// tokio-rs/tokio#868, tokio-rs/tokio#871
#[test]
fn several_resets_in_a_row_keep_the_earliest_time_right() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    let late = queue.insert("late", ms(200));
    let idle = queue.insert("idle", ms(250));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    let steps: [(TimerKey, u64); 3] = [(late, 300), (idle, 350), (late, 400)];
    for (key, deadline) in steps {
        queue.reset_at(key, at(deadline)).unwrap();
    }
    let log = serve(&rig, &task, &mut queue);
    assert_eq!(log, [(350, "idle"), (400, "late")]);
}

#[test]
fn many_inserts_of_an_earlier_time_wake_the_task_once() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    queue.insert(0, ms(1_000));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    for id in 1..100 {
        queue.insert(id, ms(1_000 + id)); // later
    }
    assert_eq!(task.wakes(), 0);
    for id in 1..100 {
        queue.insert(id, ms(500 - id));
    }
    assert_eq!(task.wakes(), 1);
}

#[test]
fn what_was_inserted_while_values_are_given_out_is_given_out_too() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    for value in ['a', 'b'] {
        queue.insert(value, ms(5));
    }
    rig.go(5);
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some('a')));
    queue.insert('c', Duration::ZERO);
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some('b')));
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some('c')));
    assert_eq!(poll(&task, &mut queue), Poll::Ready(None));
    queue.insert('d', ms(1)); // and it goes on after `None`
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    assert_eq!(serve(&rig, &task, &mut queue), [(6, 'd')]);
}

#[test]
fn values_that_never_expire_are_waited_for() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    let key = queue.insert('a', Duration::MAX);
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    rig.go(1 << 40);
    assert_eq!((poll(&task, &mut queue), task.wakes()), (Poll::Pending, 0));
    queue.reset(key, ms(1)).unwrap();
    assert_eq!((poll(&task, &mut queue), task.wakes()), (Poll::Pending, 1));
    assert_eq!(serve(&rig, &task, &mut queue), [((1 << 40) + 1, 'a')]);
}

#[test]
fn a_wait_that_is_given_up_loses_no_value() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    queue.insert('a', ms(5));
    for _ in 0..3 {
        assert!(task.poll_pin(pin!(queue.next())).is_pending());
    }
    rig.go(5);
    let Poll::Ready(Some(expired)) = task.poll_pin(pin!(queue.next())) else {
        panic!("it is due");
    };
    assert_eq!(expired.value, 'a');
}

#[test]
fn dropped_while_a_task_waits_it_leaves_nothing() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    let value = Arc::new(());
    queue.insert(Arc::clone(&value), ms(5));
    assert!(poll(&task, &mut queue).is_pending());
    drop(queue);
    assert_eq!((rig.timers.len(), task.wakers()), (0, 1));
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_driver_that_lags_does_not_make_a_poll_late() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    queue.insert('a', ms(5));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    rig.stall(5);
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some('a')));
    assert_eq!(rig.timers.len(), 0); // and there is nothing left to fire
    assert_eq!((rig.go(6), task.wakes()), (0, 0));
}

#[test]
fn a_full_runtime_ends_the_wait_with_an_error_and_it_may_be_tried_again() {
    let rig = Rig::with(Timers::builder().limit(1));
    let task = Task::new();
    let mut queue = rig.timers.expirations();
    let key = rig.timers.arm(ms(99), |_| {}).unwrap();
    for value in ['a', 'b'] {
        queue.insert(value, ms(5)); // not counted
    }
    assert_eq!(poll(&task, &mut queue), Poll::Ready(None));
    assert_eq!((queue.error(), queue.len()), (Some(ArmError::Full), 2));
    assert!(rig.timers.cancel(key).is_cancelled());
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    assert_eq!(queue.error(), None);
    assert_eq!(serve(&rig, &task, &mut queue), [(5, 'a'), (5, 'b')]);
}

#[test]
fn a_clock_that_goes_back_is_waited_for() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    queue.insert('a', ms(100_000)); // its slot begins earlier: the task is woken then
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    while task.wakes() == 0 {
        rig.timers.advance_to_next(&rig.clock);
    }
    rig.clock.jump(at(10));
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    assert_eq!(serve(&rig, &task, &mut queue), [(100_000, 'a')]);
}

#[test]
fn a_clock_that_goes_back_in_the_middle_of_a_poll_is_waited_for() {
    /// Shows 10 ms, but for one reading.
    struct Leaps(AtomicUsize);
    impl Clock for Leaps {
        fn now(&self) -> Timestamp {
            let left = self.0.load(Ordering::SeqCst);
            self.0.store(left.saturating_sub(1), Ordering::SeqCst);
            if left == 1 { at(100_000) } else { at(10) }
        }
    }

    let clock = Arc::new(Leaps(AtomicUsize::new(0)));
    let timers = Timers::builder().clock(Arc::clone(&clock));
    let (timers, task) = (timers.build_hand_driven().unwrap(), Task::new());
    let mut queue = timers.expirations();
    queue.insert('a', ms(100_000));
    clock.0.store(2, Ordering::SeqCst); // the second reading from here on
    assert_eq!(poll(&task, &mut queue), Poll::Pending);
    assert_eq!((timers.len(), queue.len()), (1, 1));
}
