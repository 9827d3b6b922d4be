//! What a thread has to itself: a few free entries, where other threads do not get at them.
//!
//! Properties:
//! * with a limit there are none: it is exact, whoever cancelled;
//! * they do not keep the runtime;
//! * a thread may have them of many runtimes;
//! * a thread that is going away can still use the runtime.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

use tickwheel::{ArmError, Clock, TimerGuard, TimerKey, Timers, Timestamp};

use crate::{Bed, ms};

/// Arms as many timers as the runtime takes.
fn fill(timers: &Timers) -> Vec<TimerKey> {
    let mut keys = Vec::new();
    loop {
        match timers.arm(ms(5), |_| {}) {
            Ok(key) => keys.push(key),
            Err(error) => {
                assert_eq!(error, ArmError::Full, "after {} timers", keys.len());
                return keys;
            }
        }
    }
}

fn cancel_all(timers: &Timers, keys: Vec<TimerKey>) {
    for key in keys {
        assert!(timers.cancel(key).is_cancelled(), "{key:?} is armed");
    }
}

/// A thread that does something and then stays, until it is told to end.
struct Staying {
    thread: JoinHandle<()>,
    end: Sender<()>,
}

impl Staying {
    /// Returns when `run` has.
    fn after(run: impl FnOnce() + Send + 'static) -> Self {
        let (end, told): (Sender<()>, Receiver<()>) = channel();
        let done = Arc::new(Barrier::new(2));
        let here = Arc::clone(&done);
        let thread = thread::spawn(move || {
            run();
            done.wait();
            told.recv().unwrap();
        });
        here.wait();
        Self { thread, end }
    }

    fn end(self) {
        self.end.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

#[test]
fn a_limit_is_exact_while_another_thread_is_there_that_cancelled() {
    for limit in [1, 50, 5_000] {
        let timers = Bed::with(|builder| builder.shards(1).limit(limit)).timers;
        let user = timers.clone();
        let other = Staying::after(move || {
            let keys = fill(&user);
            assert_eq!(keys.len(), limit);
            cancel_all(&user, keys);
        });
        assert_eq!(fill(&timers).len(), limit);
        timers.check();
        other.end();
    }
}

/// A clock that shows whether the runtime still has it.
struct Marked(#[expect(dead_code, reason = "only counted")] Arc<()>);

impl Clock for Marked {
    fn now(&self) -> Timestamp {
        Timestamp::ZERO
    }
}

#[test]
fn a_runtime_goes_before_the_threads_that_used_it() {
    let mark = Arc::new(());
    let builder = Timers::builder().clock(Marked(Arc::clone(&mark)));
    let timers = builder.build_hand_driven().unwrap();
    let user = timers.clone();
    let other = Staying::after(move || {
        let keys = vec![user.arm(ms(5), |_| {}).unwrap()];
        cancel_all(&user, keys);
    });
    assert_eq!(Arc::strong_count(&mark), 2, "the runtime has its clock");
    drop(timers);
    assert_eq!(Arc::strong_count(&mark), 1, "the runtime is gone");
    other.end();
}

#[test]
fn a_thread_uses_many_runtimes_in_turn() {
    for _ in 0..3 {
        let beds: Vec<Bed> = (0..100).map(|_| Bed::new()).collect();
        for armed in 1..10 {
            for Bed { timers, .. } in &beds {
                let key = timers.arm(ms(5), |_| {}).unwrap();
                timers.arm(ms(1_000), |_| {}).unwrap();
                assert!(timers.cancel(key).is_cancelled());
                assert_eq!(timers.len(), armed);
                timers.check();
            }
        }
    }
}

/// Has a timer, and when it is dropped arms and cancels another.
struct Last {
    timers: Timers,
    _guard: TimerGuard,
}

impl Drop for Last {
    fn drop(&mut self) {
        let key = self.timers.arm(ms(5), |_| {}).unwrap();
        assert!(self.timers.cancel(key).is_cancelled());
    }
}

thread_local! {
    static FIRST: RefCell<Option<Last>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Last>> = const { RefCell::new(None) };
}

#[test]
fn a_thread_that_is_going_away_uses_the_runtime_to_the_end() {
    let timers = Bed::new().timers;
    let user = timers.clone();
    let one = move || {
        let key = user.arm(ms(5), |_| {}).unwrap();
        Last {
            _guard: user.guard(key),
            timers: user.clone(),
        }
    };
    // What a thread has is destroyed in the order it was first used, or the other way round: so one
    // is first used before the runtime is, and one after it.
    let thread = thread::spawn(move || {
        FIRST.with(|_| {});
        let last = one();
        FIRST.set(Some(last));
        SECOND.set(Some(one()));
    });
    thread.join().unwrap();
    assert!(timers.is_empty(), "{} timers are armed", timers.len());
    assert_eq!(timers.stats().cancelled, 4);
    timers.check();
}

#[test]
fn what_is_armed_in_one_thread_is_cancelled_in_another() {
    let timers = Bed::new().timers;
    let mut threads = Vec::new();
    for _ in 0..10 {
        let keys: Vec<_> = (0..100)
            .map(|_| timers.arm(ms(5), |_| {}).unwrap())
            .collect();
        let user = timers.clone();
        threads.push(Staying::after(move || cancel_all(&user, keys)));
        timers.check();
        assert!(timers.is_empty());
    }
    threads.into_iter().for_each(Staying::end);
    timers.check();
    assert_eq!(timers.stats().cancelled, 1_000);
}
