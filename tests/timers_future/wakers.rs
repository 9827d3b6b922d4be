//! Wakers: which one is kept, and those that panic.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use tickwheel::{ArmError, Sleep, Timers};

use crate::rig::{Rig, Task, at, ms};

fn poll(sleep: &mut Sleep, waker: &Waker) -> Poll<Result<(), ArmError>> {
    Pin::new(sleep).poll(&mut Context::from_waker(waker))
}

#[test]
fn the_same_waker_is_registered_once() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    for _ in 0..5 {
        let clone = task.waker().clone();
        assert_eq!(poll(&mut sleep, &clone), Poll::Pending);
        drop(clone);
        assert_eq!(task.wakers(), 2);
    }
    let stats = rig.timers.stats();
    assert_eq!((stats.armed, stats.cancelled, stats.rearmed), (1, 0, 0));
    assert_eq!((rig.go(10), task.wakes()), (1, 1));
}

#[test]
fn of_several_wakers_only_the_last_is_woken() {
    let rig = Rig::new();
    let tasks = [(); 4].map(|()| Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    for task in &tasks {
        assert_eq!(task.poll(&mut sleep), Poll::Pending);
        assert_eq!(rig.timers.len(), 1);
    }
    assert_eq!(tasks.each_ref().map(Task::wakers), [1, 1, 1, 2]);
    assert_eq!(rig.go(10), 1);
    assert_eq!(tasks.each_ref().map(Task::wakes), [0, 0, 0, 1]);
}

#[test]
fn another_waker_at_a_runtime_that_filled_up_meanwhile_takes_the_place_of_the_first() {
    let rig = Rig::with(Timers::builder().limit(1));
    let (one, other) = (Task::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    assert_eq!(one.poll(&mut sleep), Poll::Pending);
    assert_eq!(other.poll(&mut sleep), Poll::Pending);
    assert_eq!((rig.go(10), one.wakes(), other.wakes()), (1, 0, 1));
}

#[test]
fn another_waker_after_a_reset_is_woken_at_the_new_time() {
    let rig = Rig::new();
    let (one, other) = (Task::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    assert_eq!(one.poll(&mut sleep), Poll::Pending);
    assert_eq!(rig.go(10), 1); // it is firing, or has fired, when it is moved
    sleep.reset_at(at(20));
    assert_eq!(other.poll(&mut sleep), Poll::Pending);
    assert_eq!((rig.go(20), one.wakes(), other.wakes()), (1, 1, 1));
}

#[test]
fn of_expirations_the_task_that_polled_last_is_woken() {
    let rig = Rig::new();
    let (one, other) = (Task::new(), Task::new());
    let mut queue = rig.timers.expirations();
    queue.insert((), ms(10));
    for task in [&one, &other] {
        assert!(task.with(|cx| queue.poll_expired(cx)).is_pending());
    }
    queue.insert((), ms(5));
    assert_eq!((one.wakes(), other.wakes()), (0, 1));
}

/// Panics when it is woken, or when the last of its wakers is dropped.
struct Bomb {
    woken: bool,
    dropped: bool,
}

impl Bomb {
    fn waker(woken: bool, dropped: bool) -> Waker {
        Waker::from(Arc::new(Self { woken, dropped }))
    }
}

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        assert!(!self.woken, "as planned");
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.dropped || std::thread::panicking(), "as planned");
    }
}

/// Whether it panics.
fn panics(run: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

#[test]
fn a_waker_that_panics_when_it_is_woken_harms_nobody_else() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleeps = [(); 3].map(|()| rig.timers.sleep(ms(10)));
    let bomb = Bomb::waker(true, false);
    assert_eq!(task.poll(&mut sleeps[0]), Poll::Pending);
    assert_eq!(poll(&mut sleeps[1], &bomb), Poll::Pending);
    assert_eq!(task.poll(&mut sleeps[2]), Poll::Pending);
    assert_eq!((rig.go(10), task.wakes()), (3, 2));
    assert_eq!(rig.timers.stats().panics, 1);
    for sleep in &mut sleeps {
        assert_eq!(task.poll(sleep), Poll::Ready(Ok(())));
    }
    assert_eq!(rig.timers.len(), 0);
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_leaves_the_sleep_as_it_should_be() {
    let (rig, task) = (Rig::new(), Task::new());
    let armed = |rig: &Rig| {
        let mut sleep = rig.timers.sleep(ms(10));
        assert_eq!(poll(&mut sleep, &Bomb::waker(false, true)), Poll::Pending);
        sleep
    };
    // Dropped with the sleep.
    let sleep = armed(&rig);
    assert!(panics(|| drop(sleep)));
    assert_eq!(rig.timers.len(), 0);
    // Dropped for another one.
    let mut sleep = armed(&rig);
    assert!(panics(|| _ = task.poll(&mut sleep)));
    assert_eq!(rig.timers.len(), 0);
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    assert_eq!(rig.timers.len(), 1);
    drop(sleep);
    // Dropped because the time has come.
    let mut sleep = armed(&rig);
    rig.stall(10);
    assert!(panics(|| _ = task.poll(&mut sleep)));
    assert_eq!(task.poll(&mut sleep), Poll::Ready(Ok(())));
    assert_eq!(rig.timers.len(), 0);
}

#[test]
fn a_waker_that_panics_when_expirations_wake_it_leaves_them_as_they_should_be() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    queue.insert('a', ms(10));
    let bomb = Bomb::waker(true, false);
    let polled = queue.poll_expired(&mut Context::from_waker(&bomb));
    assert!(polled.is_pending());
    assert!(panics(|| _ = queue.insert('b', ms(5))));
    assert_eq!(queue.len(), 2); // it is there all the same
    assert!(task.with(|cx| queue.poll_expired(cx)).is_pending());
    assert_eq!((rig.go(5), task.wakes()), (1, 1));
    let Poll::Ready(Some(expired)) = task.with(|cx| queue.poll_expired(cx)) else {
        panic!("it is due");
    };
    assert_eq!(expired.value, 'b');
}

#[test]
fn a_waker_may_drop_and_move_what_it_was_registered_for() {
    /// Moves the sleep it is woken for.
    struct Reset(Mutex<Option<Sleep>>);
    impl Wake for Reset {
        fn wake(self: Arc<Self>) {
            if let Some(mut sleep) = self.0.lock().unwrap().take() {
                sleep.reset(ms(5));
                drop(sleep);
            }
        }
    }

    let rig = Rig::new();
    let task = Arc::new(Reset(Mutex::new(None)));
    let mut sleep = rig.timers.sleep(ms(10));
    let waker = Waker::from(Arc::clone(&task));
    assert_eq!(poll(&mut sleep, &waker), Poll::Pending);
    *task.0.lock().unwrap() = Some(sleep);
    assert_eq!(rig.go(10), 1);
    assert_eq!((rig.timers.len(), rig.timers.stats().panics), (0, 0));
}
