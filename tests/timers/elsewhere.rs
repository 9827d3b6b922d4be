//! Properties: callbacks that run in an executor are cancelled, waited for, repeated and shut down
//! as others are.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tickwheel::{Cancel, Missed, Run, Shutdown, Timers, WaitError};

use crate::{Bed, ms};

const LONG: Duration = Duration::from_secs(60);

/// Callbacks on their way.
#[derive(Clone, Default)]
struct Queue(Arc<Mutex<VecDeque<Run>>>);

impl Queue {
    fn bed(&self) -> Bed {
        let queue = self.clone();
        Bed::with(|builder| builder.executor(move |run| queue.0.lock().unwrap().push_back(run)))
    }

    fn take(&self) -> Option<Run> {
        self.0.lock().unwrap().pop_front()
    }
}

#[test]
fn what_is_due_goes_to_the_executor_and_counts_as_running() {
    let queue = Queue::default();
    let bed = queue.bed();
    let key = bed
        .timers
        .options()
        .label("work")
        .arm(ms(1), bed.logs("ran"))
        .unwrap();
    assert_eq!(bed.drive_to(1), 1);
    let run = queue.take().unwrap();
    assert_eq!((run.key(), run.label()), (Some(key), "work"));
    assert_eq!(bed.timers.cancel(key), Cancel::Running);
    assert!(!bed.timers.is_armed(key));
    assert!(bed.timers.rearm(key, ms(1)).is_err());
    assert_eq!(bed.log.len(), 0);
    bed.clock.advance(ms(7));
    run.run();
    assert_eq!(bed.log.take(), [(8, "ran")]);
    assert_eq!(bed.timers.lateness().max(), ms(7));
    assert_eq!(bed.timers.cancel(key), Cancel::Stale);
}

#[test]
fn a_periodic_callback_is_armed_again_under_its_key_when_it_has_run() {
    let queue = Queue::default();
    let bed = queue.bed();
    let key = bed
        .timers
        .every(ms(10), Missed::Skip, bed.logs("beat"))
        .unwrap();
    bed.drive_to(10);
    assert_eq!(bed.drive_to(25), 0, "it has not run yet");
    queue.take().unwrap().run();
    assert_eq!(bed.timers.remaining(key), Some(ms(5)));
    bed.drive_to(30);
    queue.take().unwrap().run();
    assert_eq!(bed.log.take(), [(25, "beat"), (30, "beat")]);
    assert!(bed.timers.cancel(key).is_cancelled());
    assert!(bed.timers.is_empty());
}

#[test]
fn a_periodic_callback_that_was_cancelled_on_its_way_runs_once_more() {
    let queue = Queue::default();
    let bed = queue.bed();
    let key = bed
        .timers
        .every(ms(10), Missed::Skip, bed.logs("beat"))
        .unwrap();
    bed.drive_to(10);
    assert_eq!(bed.timers.cancel(key), Cancel::Running);
    queue.take().unwrap().run();
    assert_eq!(bed.log.len(), 1);
    assert!(bed.timers.is_empty());
    assert_eq!(bed.drive_to(100), 0);
}

#[test]
fn what_an_executor_drops_is_over() {
    let bed = Bed::with(|builder| builder.executor(drop::<Run>));
    let once = bed.timers.arm(ms(1), bed.logs("once")).unwrap();
    let every = bed
        .timers
        .every(ms(1), Missed::Skip, bed.logs("every"))
        .unwrap();
    bed.drive_to(1);
    assert_eq!(bed.timers.cancel(once), Cancel::Stale);
    assert_eq!(bed.timers.cancel(every), Cancel::Stale);
    assert_eq!(bed.timers.stats().abandoned, 2);
    assert_eq!(bed.timers.stats().fired, 0);
    assert_eq!(bed.timers.shutdown(Shutdown::Drop).len(), 0);
    assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()));
}

#[test]
fn an_executor_that_panics_or_runs_in_place_does_no_harm() {
    let bed = Bed::with(|builder| {
        builder.executor(|run: Run| match run.label() {
            "panics" => panic!("as planned"),
            _ => run.run(),
        })
    });
    let panics = bed
        .timers
        .options()
        .label("panics")
        .arm(ms(1), |_| unreachable!())
        .unwrap();
    let every = bed
        .timers
        .every(ms(1), Missed::Skip, bed.logs("in place"))
        .unwrap();
    for now in 1..=3 {
        bed.drive_to(now);
    }
    assert_eq!(bed.log.len(), 3);
    assert_eq!(bed.timers.cancel(panics), Cancel::Stale);
    assert!(bed.timers.cancel(every).is_cancelled());
    let stats = bed.timers.stats();
    assert_eq!((stats.panics, stats.abandoned), (1, 1));
}

#[test]
fn whoever_waits_for_a_callback_in_an_executor_sees_it_return() {
    let queue = Queue::default();
    let bed = queue.bed();
    let key = bed.timers.arm(ms(1), bed.logs("ran")).unwrap();
    bed.drive_to(1);
    let run = queue.take().unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            assert_eq!(bed.timers.cancel_wait(key), Cancel::Stale);
            bed.log.len()
        });
        run.run();
        assert_eq!(waits.join().unwrap(), 1);
    });
}

#[test]
fn a_callback_in_an_executor_does_not_wait_for_itself() {
    let queue = Queue::default();
    let bed = queue.bed();
    bed.timers
        .arm(ms(1), |firing| {
            let timers = firing.timers();
            assert_eq!(timers.cancel_wait(firing.key()), Cancel::Running);
            timers.shutdown(Shutdown::Drop);
            assert_eq!(timers.wait(LONG), Err(WaitError::FromCallback));
        })
        .unwrap();
    bed.drive_to(1);
    queue.take().unwrap().run();
    assert_eq!(bed.timers.stats().panics, 0);
    assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()));
}

#[test]
fn a_shutdown_waits_for_what_is_on_its_way() {
    let queue = Queue::default();
    let bed = queue.bed();
    bed.timers.arm(ms(1), bed.logs("once")).unwrap();
    bed.timers
        .every(ms(1), Missed::Skip, bed.logs("every"))
        .unwrap();
    bed.drive_to(1);
    bed.timers.shutdown(Shutdown::Drop);
    assert_eq!(bed.timers.wait(ms(1)), Err(WaitError::TimedOut));
    queue.take().unwrap().run();
    drop(queue.take());
    assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()));
    assert!(bed.timers.is_empty());
}

/// netty/netty#11723: a callback that blocks delays all others. With an executor it does not.
#[test]
fn a_callback_that_blocks_in_an_executor_does_not_delay_others() {
    let timers = Timers::builder()
        .executor(|run: Run| drop(thread::spawn(move || run.run())))
        .build()
        .unwrap();
    let (go_on, stuck) = mpsc::channel::<()>();
    let (done, wait) = mpsc::channel();
    timers
        .arm(Duration::ZERO, move |_| assert!(stuck.recv().is_err()))
        .unwrap();
    timers.arm(ms(1), move |_| done.send(()).unwrap()).unwrap();
    wait.recv().unwrap(); // while the first is still stuck
    drop(go_on);
    timers.shutdown(Shutdown::Drop);
    assert_eq!(timers.wait(LONG), Ok(()));
}

#[test]
fn many_threads_run_and_cancel_and_each_callback_runs_once() {
    const TIMERS: usize = 2_000;
    let (queue, work) = mpsc::channel::<Run>();
    let work = Arc::new(Mutex::new(work));
    let queue = Mutex::new(queue);
    let timers = Timers::builder()
        .executor(move |run| drop(queue.lock().unwrap().send(run)))
        .build()
        .unwrap();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let work = work.clone();
            thread::spawn(move || {
                loop {
                    let run = work.lock().unwrap().recv();
                    match run {
                        Ok(run) => run.run(),
                        Err(_) => return,
                    }
                }
            })
        })
        .collect();
    let ran = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut cancelled = 0;
    for n in 0..TIMERS {
        let ran = ran.clone();
        let key = timers
            .arm(Duration::from_micros(n as u64 % 900), move |_| {
                ran.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
            })
            .unwrap();
        if n % 3 == 0 {
            thread::yield_now();
            let waited = timers.cancel_wait(key);
            assert_ne!(waited, Cancel::Running);
            cancelled += usize::from(waited.is_cancelled());
        }
    }
    while !timers.is_empty() {
        thread::yield_now();
    }
    timers.shutdown(Shutdown::Drop);
    assert_eq!(timers.wait(LONG), Ok(()));
    drop(timers); // and the queue with it
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    let ran = ran.load(std::sync::atomic::Ordering::Acquire);
    assert_eq!(ran + cancelled, TIMERS);
}

#[test]
fn a_destructor_does_not_wait_for_the_callback_it_belongs_to() {
    struct Waits(
        Timers,
        Arc<Mutex<Option<tickwheel::TimerKey>>>,
        mpsc::Sender<Cancel<()>>,
    );

    impl Drop for Waits {
        fn drop(&mut self) {
            let key = self.1.lock().unwrap().unwrap();
            let _ = self.2.send(self.0.cancel_wait(key));
        }
    }

    let queue = Queue::default();
    let bed = queue.bed();
    let (told, heard) = mpsc::channel();
    for runs in [true, false] {
        let key = Arc::new(Mutex::new(None));
        let waits = Waits(bed.timers.clone(), key.clone(), told.clone());
        let armed = bed.timers.arm(ms(0), move |_| drop(waits)).unwrap();
        *key.lock().unwrap() = Some(armed);
        bed.timers.turn().unwrap();
        let run = queue.take().unwrap();
        if runs {
            run.run();
        } else {
            drop(run);
        }
        assert_eq!(heard.recv(), Ok(Cancel::Running));
    }
}
