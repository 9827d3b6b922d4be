//! A driver that sleeps, and those who wake it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tickwheel::{Park, SharedWheel, Tick, Ticks};

use crate::crew::{self, Gate};
use crate::token::{Random, scale};

fn at(tick: u64) -> Tick {
    Tick::new(tick)
}

/// A wheel, and how often it has called its hook.
fn with_bell() -> (SharedWheel<u64>, Arc<AtomicUsize>) {
    let rung = Arc::new(AtomicUsize::new(0));
    let bell = Arc::clone(&rung);
    let ring = move || {
        bell.fetch_add(1, Ordering::SeqCst);
    };
    (SharedWheel::<u64>::builder().wake(ring).build(), rung)
}

#[test]
fn whoever_arms_earlier_than_the_driver_sleeps_wakes_it_and_nobody_else_does() {
    let (wheel, rung) = with_bell();
    let rings = |act: &dyn Fn()| {
        let before = rung.load(Ordering::SeqCst);
        act();
        rung.load(Ordering::SeqCst) > before
    };
    let arming = |deadline, value| {
        rings(&|| {
            wheel.arm(deadline, value);
        })
    };
    let key = wheel.arm(at(1_000), 1);
    assert!(!arming(at(500), 2), "nobody sleeps");
    let until = match wheel.prepare_park().unwrap() {
        Park::Until(until) => until,
        other @ (Park::Now | Park::Idle) => panic!("{other:?}, and one is due at 500"),
    };
    assert!(until <= at(500) && until > wheel.now(), "until {until:?}");
    let before = Tick::new(until.get() - 1);
    assert!(!arming(at(2_000), 3), "later");
    assert!(!rings(&|| wheel.rearm(key, at(3_000)).unwrap()), "later");
    assert!(!rings(&|| wheel.disarm(key).unwrap()), "never");
    assert!(!arming(Tick::NEVER, 4), "never");
    assert!(arming(before, 5), "earlier");
    wheel.advance(wheel.now(), |_, _| {}).unwrap(); // withdraws it
    assert!(!arming(at(0), 6), "nobody sleeps");
    assert_eq!(wheel.prepare_park().unwrap(), Park::Now, "one is due");
    wheel.advance(wheel.now(), |_, _| {}).unwrap();

    assert!(matches!(wheel.prepare_park().unwrap(), Park::Until(_)));
    assert!(rings(&|| wheel.rearm(key, at(1)).unwrap()), "earlier");
    wheel.advance(at(1), |_, _| {}).unwrap();
    assert!(matches!(wheel.prepare_park().unwrap(), Park::Until(_)));
    let by_local = || {
        wheel.local().arm(at(0), 7);
    };
    assert!(rings(&by_local), "earlier, through a local");

    wheel.check();
}

#[test]
fn a_driver_with_nothing_to_wait_for_is_woken_by_any_deadline_but_never() {
    let (wheel, rung) = with_bell();
    for (id, deadline) in [(0, 7), (1, 1 << 20), (2, u64::MAX - 1)] {
        assert_eq!(wheel.prepare_park().unwrap(), Park::Idle, "{id} armed");
        wheel.arm(Tick::NEVER, id);
        assert_eq!(
            rung.swap(0, Ordering::SeqCst),
            0,
            "by one that is never due"
        );
        let key = wheel.arm(at(deadline), id);
        assert!(rung.swap(0, Ordering::SeqCst) > 0, "not by {deadline}");
        // If it is cancelled there may be one wake-up for nothing, of those announced.
        let cancelled = wheel.cancel(key);
        assert!(cancelled.is_cancelled(), "{cancelled:?}");
        wheel.advance(at(deadline), |_, _| {}).unwrap();
    }
    wheel.check();
}

/// Either the driver sees the timer before it sleeps, or it is woken.
#[test]
fn an_arm_that_races_with_falling_asleep_is_noticed() {
    let (wheel, rung) = with_bell();
    let rounds = 300 * scale() as u64;
    let held = wheel.arm(Tick::NEVER, 0);
    let (start, end) = (Gate::new(2), Gate::new(2));
    crew::scope(|scope| {
        scope.spawn(|| {
            let mut local = wheel.local();
            for round in 0..rounds {
                let deadline = at(round * 10 + 2);
                start.wait();
                (0..round % 100).for_each(|_| std::hint::spin_loop());
                let key = match round % 3 {
                    0 => wheel.arm(deadline, round),
                    1 => local.arm(deadline, round),
                    _ => wheel.rearm(held, deadline).map(|()| held).unwrap(),
                };
                assert_ne!(key == held, round % 3 != 2, "round {round}");
                end.wait();
            }
        });
        for round in 0..rounds {
            // Far away, and in the way of what comes earlier.
            let far = wheel.arm(at(round * 10 + 9), round);
            wheel.advance(at(round * 10), |_, _| {}).unwrap();
            rung.store(0, Ordering::SeqCst);
            start.wait();
            let park = wheel.prepare_park().unwrap();
            end.wait();
            let saw = match park {
                Park::Now => true,
                Park::Until(tick) => tick <= at(round * 10 + 2),
                Park::Idle => false,
            };
            let rings = rung.load(Ordering::SeqCst);
            assert!(saw || rings > 0, "round {round}: {park:?} and not woken");
            let mut again = Vec::new();
            let fired = wheel.advance(at(round * 10 + 2), |turn, expired| {
                if expired.key == held {
                    again.push(turn.rearm_expired(expired, Tick::NEVER).unwrap());
                }
            });
            assert_eq!(fired.unwrap(), 1, "round {round}");
            let _ = wheel.cancel(far);
        }
    });
    wheel.check();
}

/// Time that somebody moves, and a driver that sleeps until it has come so far.
#[derive(Debug)]
struct Sim {
    clock: AtomicU64,
    /// What the driver waits for.
    until: AtomicU64,
    over: AtomicBool,
    driver: Thread,
}

/// Lets the driver go home, also when the test fails.
struct Over<'a>(&'a Sim);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
        self.0.wake();
    }
}

impl Sim {
    fn wake(&self) {
        self.driver.unpark();
    }

    /// Moves time on, and wakes the driver if it waits for that, as a clock would.
    fn set(&self, tick: u64) {
        self.clock.store(tick, Ordering::SeqCst);
        if self.until.load(Ordering::SeqCst) <= tick {
            self.wake();
        }
    }

    /// Advances and sleeps, until it is over.
    fn drive(&self, wheel: &SharedWheel<u64>, fired: &AtomicUsize) {
        while !self.over.load(Ordering::SeqCst) {
            let now = at(self.clock.load(Ordering::SeqCst));
            let count = wheel.advance(now, |_, expired| assert!(expired.deadline <= now));
            fired.fetch_add(count.unwrap(), Ordering::SeqCst);
            let until = match wheel.prepare_park().unwrap() {
                Park::Now => continue,
                Park::Until(tick) => tick.get(),
                Park::Idle => u64::MAX,
            };
            self.until.store(until, Ordering::SeqCst);
            if self.clock.load(Ordering::SeqCst) < until {
                thread::park();
            }
        }
    }
}

/// Arms timers, moves time to each, and waits until it has fired. Says how many.
fn arm_one_by_one(sim: &Sim, wheel: &SharedWheel<u64>, fired: &AtomicUsize) -> usize {
    let (mut random, mut local, mut armed) = (Random::new(5, 0), wheel.local(), 0);
    for round in 0..300 * scale() as u64 {
        let now = sim.clock.load(Ordering::SeqCst);
        let after = random.below(4) * random.below(1 + round % 300);
        let deadline = at(now) + Ticks::new(after);
        match random.below(3) {
            0 => wheel.arm(deadline, round),
            1 => local.arm(deadline, round),
            _ => {
                let key = local.arm(deadline + Ticks::new(1 << 30), round);
                local.rearm(key, deadline).map(|()| key).unwrap()
            }
        };
        armed += 1;
        let noise = wheel.arm(deadline + Ticks::new(random.below(3)), 0);
        let stopped = wheel.cancel(noise).is_cancelled();
        armed += usize::from(!stopped);
        sim.set(deadline.get());
        let patience = Instant::now() + Duration::from_secs(60);
        while fired.load(Ordering::SeqCst) < armed {
            let late = (fired.load(Ordering::SeqCst), armed, wheel, sim);
            assert!(Instant::now() < patience, "asleep: {late:?} in {round}");
            thread::yield_now();
        }
    }
    armed
}

/// The driver sleeps without end unless it is woken; if one wake-up is lost, time is up.
#[test]
fn a_driver_that_sleeps_until_it_is_woken_misses_nothing() {
    let sim = Arc::new(Sim {
        clock: AtomicU64::new(0),
        until: AtomicU64::new(u64::MAX),
        over: AtomicBool::new(false),
        driver: thread::current(),
    });
    let waker = Arc::clone(&sim);
    let wheel = SharedWheel::<u64>::builder()
        .wake(move || waker.wake())
        .build();
    let fired = AtomicUsize::new(0);
    let armed = crew::scope(|scope| {
        let armer = scope.spawn(|| {
            let _over = Over(&sim);
            arm_one_by_one(&sim, &wheel, &fired)
        });
        sim.drive(&wheel, &fired);
        armer.join().expect("what it armed has fired")
    });
    wheel.check();
    assert_eq!(
        fired.into_inner(),
        armed,
        "fired the first, armed the second"
    );
}
