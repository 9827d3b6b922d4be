//! The interval and the expirations as streams.

use std::pin::pin;
use std::task::Poll;

use smol::stream::StreamExt;
use tickwheel::{ArmError, Missed, Shutdown, Timers};

use crate::rig::{Rig, Task, at, ms};

#[test]
fn an_interval_is_a_stream_of_ticks_that_ends_with_the_runtime() {
    let rig = Rig::with(Timers::builder().limit(1));
    let task = Task::new();
    let mut ticks = pin!(rig.timers.interval(ms(10), Missed::Skip).unwrap());
    assert_eq!(task.poll(&mut ticks.next()), Poll::Pending);
    for nominal in [10, 20] {
        rig.go(nominal);
        assert_eq!(
            task.poll(&mut ticks.next()),
            Poll::Ready(Some(Ok(at(nominal))))
        );
    }
    let key = rig.timers.arm(ms(99), |_| {}).unwrap();
    let full = Poll::Ready(Some(Err(ArmError::Full)));
    assert_eq!(task.poll(&mut ticks.next()), full);
    assert!(rig.timers.cancel(key).is_cancelled());
    assert_eq!(task.poll(&mut ticks.next()), Poll::Pending);
    rig.timers.shutdown(Shutdown::Drop);
    assert_eq!(task.poll(&mut ticks.next()), Poll::Ready(None));
}

#[test]
fn expirations_are_a_stream_of_values() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    queue.insert('a', ms(5));
    queue.insert('b', ms(5));
    rig.go(5);
    let values = pin!(queue.map(|expired| expired.value).collect::<String>());
    assert_eq!(task.poll_pin(values), Poll::Ready("ab".into()));
}
