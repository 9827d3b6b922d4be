//! What callbacks do, and see.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tickwheel::{Backoff, Cancel, Firing, Missed, Next, Timers, Timestamp};

use crate::oracle::{CALLS, Oracle};
use crate::program::{Deed, Kind, Policy, Shape};

/// What callbacks share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) oracle: Arc<Mutex<Oracle>>,
    /// Callbacks that there are.
    pub(crate) living: Arc<AtomicUsize>,
}

/// In each callback: counts it.
struct Token(Arc<AtomicUsize>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// What a callback is to do at its end.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    GoOn,
    Stop,
    Panic,
}

impl Shared {
    pub(crate) fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap()
    }

    pub(crate) fn arm(&self, oracle: &mut Oracle, timers: &Timers, shape: Shape) {
        let id = oracle.next;
        oracle.next += 1;
        let after = Duration::from_nanos(shape.after);
        let deadline = timers.now().saturating_add(after).as_nanos();
        let shared = self.clone();
        self.living.fetch_add(1, Relaxed);
        let token = Token(Arc::clone(&self.living));
        let call = move |firing: &mut Firing<'_>| {
            let _token = &token;
            shared.called(id, firing)
        };
        let at = Timestamp::from_nanos(deadline);
        let armed = match shape.kind {
            Kind::Once => timers.arm_at(at, move |firing| end(call(firing))),
            Kind::Every(policy, period) => {
                let missed = match policy {
                    Policy::Skip => Missed::Skip,
                    Policy::Burst => Missed::Burst,
                    Policy::Delay => Missed::Delay,
                };
                let armed =
                    timers.every(Duration::from_nanos(period.max(1)), missed, move |firing| {
                        let then = call(firing);
                        if then == Then::Stop {
                            firing.stop();
                        }
                        end(then);
                    });
                armed.inspect(|key| timers.rearm_at(*key, at).unwrap())
            }
            Kind::After(span) | Kind::At(span) => timers.arm_repeating(after, move |firing| {
                let (then, span) = (call(firing), Duration::from_nanos(span));
                end(then);
                match (then, shape.kind) {
                    (Then::GoOn, Kind::After(_)) => Next::After(span),
                    (Then::GoOn, _) => Next::At(firing.deadline().saturating_add(span)),
                    _ => Next::Stop,
                }
            }),
            Kind::Fallible => {
                let nano = Duration::from_nanos(1);
                let backoff = Backoff::new(nano, nano).attempts(CALLS);
                timers.arm_fallible(after, backoff, move |firing| {
                    let then = call(firing);
                    if then == Then::Stop {
                        firing.stop();
                    }
                    end(then);
                    Err::<(), _>("it fails")
                })
            }
        };
        match armed {
            Ok(key) => oracle.add(id, key, deadline, shape.kind, shape.deed, timers.now()),
            Err(refused) => panic!("{refused:?}"),
        }
    }

    /// A callback begins: it is due, and known.
    fn called(&self, id: u64, firing: &mut Firing<'_>) -> Then {
        let mut oracle = self.oracle();
        let oracle = &mut *oracle;
        if oracle.handed_back {
            return Then::GoOn;
        }
        let timers = firing.timers();
        let (now, seen) = (timers.now(), firing.now());
        assert_eq!(now, seen, "time goes on within a callback");
        assert!(oracle.turning && !oracle.paused, "nobody may fire");
        oracle.fired += 1;
        let timer = oracle.timers.get_mut(&id).expect("it lives");
        timer.calls += 1;
        let (key, calls, deed, deadline) = (timer.key, timer.calls, timer.deed, timer.deadline);
        assert_eq!(firing.key(), key);
        assert_eq!(firing.deadline(), oracle.told(deadline), "of {id}");
        assert!(
            oracle.due(deadline) <= now.as_nanos() / oracle.tick,
            "{id} is early: {deadline} at {now:?}"
        );
        let mut then = if calls == CALLS {
            Then::Stop
        } else {
            Then::GoOn
        };
        let mut cancelled = false;
        let once = Shape {
            after: 0,
            kind: Kind::Once,
            deed: Deed::Nothing,
        };
        match deed {
            // Shut down, there is nothing to be done.
            _ if calls > 1 || oracle.ended => {}
            Deed::Nothing => {}
            Deed::Arm(after) => self.arm(oracle, &timers, Shape { after, ..once }),
            Deed::Cancel(which) => match oracle.pick(which) {
                Some(other) if other != id => {
                    let gone = oracle.timers.remove(&other).unwrap();
                    assert_eq!(timers.cancel(gone.key), Cancel::Cancelled(()));
                }
                _ => {}
            },
            Deed::Rearm(which, after) => match oracle.pick(which) {
                Some(other) if other != id => rearm(oracle, &timers, other, after),
                _ => {}
            },
            Deed::Disarm(which) => match oracle.pick(which) {
                Some(other) if other != id => rearm(oracle, &timers, other, u64::MAX),
                _ => {}
            },
            Deed::CancelItself => {
                assert_eq!(timers.cancel_wait(key), Cancel::Running);
                cancelled = true;
            }
            Deed::RearmItself(after) => {
                let moved = timers.rearm(key, Duration::from_nanos(after));
                assert!(moved.is_err(), "{id} was moved while it ran");
            }
            Deed::Panic => {
                oracle.panics += 1;
                then = Then::Panic;
            }
            Deed::Stop => then = Then::Stop,
            Deed::Turn => assert!(timers.turn().is_err(), "a turn within a turn"),
            Deed::Pause => {
                assert!(timers.pause());
                oracle.paused = true;
            }
        }
        let over = then == Then::Stop || cancelled || oracle.ended;
        oracle.again(id, now.as_nanos(), then == Then::Panic, over);
        then
    }
}

fn end(then: Then) {
    if then == Then::Panic {
        // Past the hook for panics, which ends the process.
        resume_unwind(Box::new("on purpose"));
    }
}

pub(crate) fn rearm(oracle: &mut Oracle, timers: &Timers, id: u64, after: u64) {
    let deadline = match after {
        u64::MAX => u64::MAX,
        _ => timers.now().as_nanos().saturating_add(after),
    };
    let key = oracle.timers[&id].key;
    let at = Timestamp::from_nanos(deadline);
    assert_eq!(timers.rearm_at(key, at), Ok(()), "{id} lives");
    oracle.moved(id, deadline);
}
