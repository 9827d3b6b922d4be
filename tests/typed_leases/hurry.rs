//! A clock that goes on while a change is being made: a time that was to come when it was looked at has come when a timer is
//! armed for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tickwheel::{Clock, Leases, Timers, Timestamp};

use crate::idle::{IDLE, Name, SLACK};
use crate::{Task, ready, secs};

const DELAY: Duration = Duration::from_nanos(50);

/// Goes on by that many nanoseconds with each reading.
#[derive(Clone, Default)]
struct Hurrying(Arc<(AtomicU64, AtomicU64)>);

impl Hurrying {
    fn by(&self, nanos: u64) {
        // ORDERING: Relaxed, here and below: there is one thread.
        self.0.1.store(nanos, Ordering::Relaxed);
    }

    fn advance(&self, nanos: u64) {
        self.0.0.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl Clock for Hurrying {
    fn now(&self) -> Timestamp {
        let step = self.0.1.load(Ordering::Relaxed);
        Timestamp::from_nanos(self.0.0.fetch_add(step, Ordering::Relaxed))
    }
}

fn hand_driven() -> (Hurrying, Timers) {
    let clock = Hurrying::default();
    let timers = Timers::builder().clock(clock.clone());
    (clock, timers.build_hand_driven().unwrap())
}

#[test]
fn who_waits_has_it_after_a_delay_that_was_over_at_once() {
    for step in [0, 20, 49, 50, 100] {
        let (clock, timers) = hand_driven();
        let leases: Leases<String> = Leases::builder().lock_delay(DELAY).build(&timers);
        let one = leases.try_acquire("r", "A", secs(10)).unwrap();
        let (task, mut two) = (Task::new(), leases.acquire("r", "B", secs(10)));
        assert!(task.poll(&mut two).is_pending());
        clock.by(step);
        assert_eq!(leases.revoke("r"), Some(one.token()));
        clock.by(0);
        // Nobody asks any more.
        clock.advance(secs(1).as_nanos() as u64);
        while timers.turn_fully().unwrap().fired > 0 {}
        assert_eq!(task.wakes(), 1, "a clock that goes on by {step} ns");
        assert!(ready(task.poll(&mut two)).unwrap().token() > one.token());
    }
}

#[test]
fn delays_that_were_over_at_once_leave_nothing_behind() {
    let (clock, timers) = hand_driven();
    let names = Arc::new(AtomicUsize::new(0));
    let leases: Leases<Name, ()> = Leases::builder().lock_delay(DELAY).build(&timers);
    clock.by(100);
    for id in 0..10_000 {
        drop(leases.try_acquire(Name::new(&names, id), (), secs(10)));
        assert!(leases.revoke(&Name::new(&names, id)).is_some());
        if id % 1000 == 999 {
            clock.advance(secs(1).as_nanos() as u64);
            while timers.turn_fully().unwrap().fired > 0 {}
            let left = names.load(Ordering::Relaxed);
            assert!(left <= IDLE + SLACK, "{left} names after {id} leases");
            assert!(timers.is_empty());
        }
    }
}
