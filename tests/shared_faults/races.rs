//! What happens at the moment a timer fires.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use tickwheel::{Cancel, Park, SharedWheel, Tick, Ticks, TimerKey};

use crate::crew::{self, Gate};
use crate::token::{Random, scale};
use crate::{at, wait_until};

/// Lets a driver go on until the test is over, also if it fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

// tokio-rs/tokio#6751: whoever waited for the next timer was not told that the last one is gone
#[test]
fn the_last_timer_removed_by_another_thread_leaves_nothing_to_wait_for() {
    let wheel = SharedWheel::<()>::new();
    for round in 1..=50 * scale() as u64 {
        let key = wheel.arm(at(round * 100_000), ());
        assert!(matches!(wheel.prepare_park(), Ok(Park::Until(_))));
        crew::scope(|scope| {
            scope.spawn(|| match round % 3 {
                0 => wheel.clear(),
                1 => assert!(wheel.cancel(key).is_cancelled()),
                _ => assert!(wheel.local().cancel(key).is_cancelled()),
            });
            wait_until("nothing to wait for", || wheel.next_deadline().is_none());
        });
        // What had been announced may come once, and is then forgotten.
        wheel
            .advance(at(round * 100_000), |_, _| panic!("fired"))
            .unwrap();
        assert_eq!(wheel.prepare_park(), Ok(Park::Idle), "round {round}");
        wheel.check();
    }
}

// golang/go#69312: a stop came "too late", though nobody ever saw the event
#[test]
fn a_cancel_at_the_very_tick_is_in_time_or_the_timer_fires() {
    let wheel = SharedWheel::<usize>::new();
    let count = 2_000 * scale();
    let fired: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    let over = AtomicBool::new(false);
    let mut stopped = vec![false; count];
    crew::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                let next = wheel.now() + Ticks::new(1);
                let advanced = wheel.advance(next, |_, expired| {
                    fired[expired.value].fetch_add(1, Ordering::SeqCst);
                });
                assert!(advanced.is_ok(), "nobody else drives");
            }
        });
        let _over = Over(&over);
        let (mut random, mut local) = (Random::new(1, 0), wheel.local());
        for (id, stopped) in stopped.iter_mut().enumerate() {
            let deadline = wheel.now() + Ticks::new(random.below(3));
            let key = match id % 2 {
                0 => wheel.arm(deadline, id),
                _ => local.arm(deadline, id),
            };
            (0..random.below(200)).for_each(|_| std::hint::spin_loop());
            let answer = local.cancel(key);
            *stopped = answer.is_cancelled();
            if !*stopped {
                wait_until("the event", || fired[id].load(Ordering::SeqCst) == 1);
            }
        }
    });
    wheel.check();
    for (id, stopped) in stopped.iter().enumerate() {
        let seen = fired[id].load(Ordering::SeqCst);
        assert_eq!(
            seen,
            usize::from(!stopped),
            "timer {id}, stopped: {stopped}"
        );
    }
    assert!(wheel.is_empty(), "{wheel:?}");
}

// tinygo-org/tinygo#5487: a periodic timer, stopped while its callback ran, armed itself again
#[test]
fn a_periodic_timer_cancelled_while_its_callback_runs_does_not_come_back() {
    let wheel = SharedWheel::<usize>::new();
    let rounds = 200 * scale();
    let fired: Vec<_> = (0..rounds).map(|_| AtomicUsize::new(0)).collect();
    let over = AtomicBool::new(false);
    let mut running = 0;
    crew::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                let next = wheel.now() + Ticks::new(1);
                let advanced = wheel.advance(next, |turn, expired| {
                    fired[expired.value].fetch_add(1, Ordering::SeqCst);
                    (0..expired.value % 3).for_each(|_| thread::yield_now());
                    let again = turn.now() + Ticks::new(1);
                    let _ = turn.rearm_expired(expired, again);
                });
                assert!(advanced.is_ok(), "nobody else drives");
                thread::yield_now();
            }
        });
        let _over = Over(&over);
        for (round, fired) in fired.iter().enumerate() {
            let key = wheel.arm(wheel.now(), round);
            wait_until("a first time", || fired.load(Ordering::SeqCst) > round % 3);
            let answer = wheel.cancel(key);
            running += usize::from(answer == Cancel::Running);
            assert_ne!(answer, Cancel::Stale, "round {round}: it had armed itself");
            let after = wheel.cancel_wait(key);
            assert_eq!(after, Cancel::Stale, "round {round}: after {answer:?}");
            let (seen, now) = (fired.load(Ordering::SeqCst), wheel.now());
            wait_until("three ticks", || wheel.now() > now + Ticks::new(3));
            let later = fired.load(Ordering::SeqCst);
            assert_eq!(later, seen, "round {round}: fired after {answer:?}");
        }
    });
    wheel.check();
    assert!(wheel.is_empty(), "{wheel:?}, {running} met the callback");
}

// moka-rs/moka#524, moka-rs/moka#527, moka-rs/moka#548, moka-rs/moka#565, moka-rs/moka#566: one
// thread removed the expiry of an entry that another one moved
#[test]
fn expiries_set_moved_and_removed_by_many_threads_are_as_many_as_the_entries_say() {
    const KEYS: usize = 4;
    type Slot = Mutex<Option<TimerKey>>;
    let wheel = SharedWheel::<usize>::new();
    let map: [Slot; KEYS] = [const { Mutex::new(None) }; KEYS];
    let working = AtomicUsize::new(3);
    crew::scope(|scope| {
        let (wheel, map, working) = (&wheel, &map, &working);
        for id in 0..3 {
            scope.spawn(move || {
                let (mut random, mut local) = (Random::new(2, id), wheel.local());
                for _ in 0..3_000 * scale() {
                    let name = random.index(KEYS);
                    let deadline = wheel.now() + Ticks::new(random.below(20));
                    let mut slot = map[name].lock();
                    // It may have expired, but its callback waits for the slot.
                    match (*slot, random.below(6)) {
                        (Some(key), 0..2) => drop(wheel.rearm(key, deadline)),
                        (Some(key), 2) => drop(local.disarm(key)),
                        (Some(key), 3) => {
                            let _ = local.cancel(key);
                            *slot = None;
                        }
                        (was, _) => {
                            let _ = was.map(|key| wheel.cancel(key));
                            *slot = Some(local.arm(deadline, name));
                        }
                    }
                }
                working.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while working.load(Ordering::SeqCst) > 0 {
            let next = wheel.now() + Ticks::new(1);
            let advanced = wheel.advance(next, |_, expired| {
                let mut slot = map[expired.value].lock();
                if *slot == Some(expired.key) {
                    *slot = None;
                }
            });
            assert!(advanced.is_ok(), "nobody else drives");
        }
    });
    wheel.check();
    let held: Vec<_> = map.iter().filter_map(|slot| *slot.lock()).collect();
    assert_eq!(wheel.len(), held.len(), "armed the first, held the second");
    assert!(held.iter().all(|key| wheel.contains(*key)), "{held:?}");
}

// netty/netty#366: what was armed while everything was being stopped was accepted and lost
#[test]
fn what_is_armed_while_the_wheel_is_drained_is_drained_or_fires() {
    for round in 0..20 * scale() {
        let wheel = SharedWheel::<usize>::new();
        let (threads, each) = (3, 40);
        let start = Gate::new(threads + 1);
        let mut seen = vec![0; threads * each];
        crew::scope(|scope| {
            for id in 0..threads {
                let (wheel, start) = (&wheel, &start);
                scope.spawn(move || {
                    let mut local = wheel.local();
                    start.wait();
                    for nth in 0..each {
                        let (deadline, value) = (at(nth as u64 % 7), id * each + nth);
                        match (nth + round) % 2 {
                            0 => local.arm(deadline, value),
                            _ => wheel.arm(deadline, value),
                        };
                    }
                });
            }
            start.wait();
            for _ in 0..round % 5 {
                wheel.drain().for_each(|(.., value)| seen[value] += 1);
            }
        });
        let fired = wheel.advance(at(7), |_, expired| seen[expired.value] += 1);
        wheel.check();
        let once = seen.iter().all(|times| *times == 1);
        assert!(once, "round {round}, {fired:?} fired at last: {seen:?}");
        assert!(wheel.is_empty(), "{wheel:?}");
    }
}

// ben-manes/caffeine#212: the deadline was computed from a reading of the clock before a pause
#[test]
fn a_deadline_that_passed_before_it_was_armed_is_due_at_once() {
    for (start, passed) in [
        (0, 10),
        (1 << 20, 300),
        (1 << 40, 1 << 21),
        (u64::MAX - 9_000, 8_999),
    ] {
        let wheel = SharedWheel::<&str>::builder()
            .starting_at(at(start))
            .build();
        let deadline = wheel.now() + Ticks::new(1);
        let held = wheel.arm(Tick::NEVER, "held");
        let used = wheel.arm(at(start), "used");
        assert_eq!(wheel.advance(at(start), |_, _| {}), Ok(1), "{used:?}");
        let (read, go_on) = (Gate::new(2), Gate::new(2));
        crew::scope(|scope| {
            scope.spawn(|| {
                read.wait(); // the deadline is computed, and then it takes a while
                go_on.wait();
                wheel.arm(deadline, "a");
                wheel.local().arm(deadline, "b");
                wheel.rearm(held, deadline).unwrap();
            });
            read.wait();
            assert_eq!(wheel.advance(at(start + passed), |_, _| {}), Ok(0));
            go_on.wait();
        });
        assert_eq!(wheel.next_deadline(), Some(wheel.now()), "from {start}");
        assert_eq!(wheel.prepare_park(), Ok(Park::Now), "from {start}");
        let mut fired = Vec::new();
        let advanced = wheel.advance(at(0), |turn, expired| {
            fired.push(expired.value);
            assert_eq!(turn.now(), at(start + passed), "{expired:?}");
        });
        fired.sort_unstable();
        assert_eq!((advanced, fired), (Ok(3), vec!["a", "b", "held"]));
        wheel.check();
    }
}

// reactor/reactor-core#2260: a timeout of nothing, or next to nothing, never came
#[test]
fn a_timeout_of_no_tick_or_one_always_comes() {
    let wheel = SharedWheel::<()>::new();
    let (fired, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    crew::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                let next = wheel.now() + Ticks::new(1);
                let count = wheel.advance(next, |_, _| {}).expect("one driver");
                fired.fetch_add(count, Ordering::SeqCst);
                thread::yield_now();
            }
        });
        let _over = Over(&over);
        let mut local = wheel.local();
        for armed in 0..2_000 * scale() {
            let deadline = wheel.now() + Ticks::new(armed as u64 % 2);
            match armed % 4 {
                0 | 1 => wheel.arm(deadline, ()),
                _ => local.arm(deadline, ()),
            };
            wait_until("the timeout", || fired.load(Ordering::SeqCst) > armed);
        }
    });
    wheel.check();
    assert!(wheel.is_empty(), "{wheel:?}");
}
