//! Keys of timers that are gone, and timers that are gone before they fire.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use tickwheel::{Cancel, SharedWheel, Ticks};

use crate::at;
use crate::crew::{self, Gate};
use crate::token::{Random, scale};

/// Messages from one thread to another, of which few wait at a time.
struct Post<M> {
    /// In the order in which they were sent, and whether there will be more.
    sent: Mutex<(VecDeque<M>, bool)>,
}

impl<M> Post<M> {
    fn new() -> Self {
        Self {
            sent: Mutex::new((VecDeque::new(), false)),
        }
    }

    fn send(&self, message: M) {
        while self.sent.lock().0.len() >= 100 {
            thread::yield_now();
        }
        self.sent.lock().0.push_back(message);
    }

    fn close(&self) {
        self.sent.lock().1 = true;
    }

    fn next(&self) -> Option<M> {
        loop {
            let mut sent = self.sent.lock();
            let next = sent.0.pop_front();
            if next.is_some() || sent.1 {
                return next;
            }
            drop(sent);
            thread::yield_now();
        }
    }
}

#[test]
fn a_key_that_another_thread_let_go_of_never_reaches_who_uses_its_entry_next() {
    let wheel = SharedWheel::<usize>::builder().shards(1).build();
    let count = 3_000 * scale();
    let post = Post::new();
    let refused = crew::scope(|scope| {
        let stranger = scope.spawn(|| {
            let (mut local, mut refused) = (wheel.local(), 0);
            while let Some(key) = post.next() {
                let answer = match refused % 3 {
                    0 => wheel.cancel(key),
                    1 => local.cancel(key),
                    _ => wheel.cancel_wait(key),
                };
                assert_eq!(answer, Cancel::Stale, "{key:?} was cancelled before");
                let moved = (wheel.rearm(key, at(1)), local.disarm(key));
                assert!(moved.0.is_err() && moved.1.is_err(), "{key:?}: {moved:?}");
                let asked = (wheel.contains(key), wheel.deadline(key));
                assert_eq!(asked, (false, None), "{key:?}");
                refused += 1;
            }
            refused
        });
        let (mut local, mut random) = (wheel.local(), Random::new(4, 0));
        for id in 0..count {
            let deadline = at(10 + random.below(5));
            let key = match id % 2 {
                0 => local.arm(deadline, id),
                _ => wheel.arm(deadline, id),
            };
            assert_eq!(
                local.cancel(key),
                Cancel::Cancelled(id),
                "a stranger has been here"
            );
            post.send(key);
        }
        post.close();
        stranger.join().unwrap()
    });
    wheel.check();
    assert_eq!((refused, wheel.len()), (count, 0));
}

#[test]
fn a_key_of_another_wheel_or_another_life_of_its_entry_is_refused() {
    let (one, other) = (SharedWheel::<u8>::new(), SharedWheel::<u8>::new());
    let (key, twin) = (one.arm(at(5), 1), other.arm(at(5), 2));
    assert_ne!(key, twin);
    for (wheel, foreign) in [(&one, twin), (&other, key)] {
        assert_eq!(wheel.cancel(foreign), Cancel::Stale);
        assert_eq!(wheel.cancel_wait(foreign), Cancel::Stale);
        assert!(wheel.rearm(foreign, at(1)).is_err() && wheel.disarm(foreign).is_err());
        assert_eq!(
            (wheel.contains(foreign), wheel.deadline(foreign)),
            (false, None)
        );
        wheel.check();
    }
    one.clear();
    let next = one.arm(at(5), 3); // takes over the entry
    assert_eq!(
        one.cancel(key),
        Cancel::Stale,
        "{key:?} of an earlier life than {next:?}"
    );
    assert_eq!(one.cancel(next), Cancel::Cancelled(3));
    assert_eq!(other.cancel(twin), Cancel::Cancelled(2));
}

// netty/netty#14959, netty/netty#14960: those that were cancelled while a batch was firing were
// counted twice
#[test]
fn siblings_cancelled_by_another_thread_while_their_tick_fires_do_not_fire() {
    for count in [2, 11, 200] {
        let wheel = SharedWheel::<usize>::new();
        let keys: Vec<_> = (0..count).map(|id| wheel.arm(at(200), id)).collect();
        let (inside, leave) = (Gate::new(2), Gate::new(2));
        let cancelled = crew::scope(|scope| {
            let other = scope.spawn(|| {
                inside.wait();
                let answers = keys.iter().map(|key| wheel.cancel(*key));
                let cancelled = answers.filter(Cancel::is_cancelled).count();
                let len = wheel.len();
                leave.wait();
                (cancelled, len)
            });
            let fired = wheel.advance(at(200), |_, _| {
                inside.wait();
                leave.wait();
            });
            assert_eq!(fired, Ok(1), "of {count}");
            other.join().unwrap()
        });
        assert_eq!(cancelled, (count - 1, 0), "cancelled, and left");
        wheel.check();
        assert_eq!((wheel.len(), wheel.next_deadline()), (0, None));
    }
}

#[test]
fn siblings_moved_by_another_thread_while_their_tick_fires_do_not_fire_before() {
    let wheel = SharedWheel::<usize>::new();
    let keys: Vec<_> = (0..50).map(|id| wheel.arm(at(200), id)).collect();
    let (inside, leave) = (Gate::new(2), Gate::new(2));
    let moved = crew::scope(|scope| {
        let other = scope.spawn(|| {
            inside.wait();
            let moved: Vec<_> = keys
                .iter()
                .map(|key| wheel.rearm(*key, at(201)).is_ok())
                .collect();
            leave.wait();
            moved
        });
        let fired = wheel.advance(at(200), |_, _| {
            inside.wait();
            leave.wait();
        });
        assert_eq!(fired, Ok(1), "of 50");
        other.join().unwrap()
    });
    assert_eq!(moved.iter().filter(|moved| **moved).count(), 49);
    wheel.check();
    let fired = wheel.advance(at(201), |turn, expired| {
        assert_eq!((turn.now(), expired.deadline), (at(201), at(201)));
        assert!(moved[expired.value], "{expired:?} fires twice");
    });
    assert_eq!(fired, Ok(49));
}

/// The race for one timer: of all who cancel it and the driver, one gets it.
#[test]
fn one_of_many_gets_the_timer() {
    let wheel = SharedWheel::<u64>::new();
    for round in 0..150 * scale() as u64 {
        let key = wheel.arm(at(round), round);
        let (start, got) = (Gate::new(4), AtomicUsize::new(0));
        crew::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    start.wait();
                    if let Cancel::Cancelled(value) = wheel.cancel(key) {
                        assert_eq!(value, round);
                        got.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            start.wait();
            let fired = wheel.advance(at(round), |_, expired| assert_eq!(expired.value, round));
            got.fetch_add(fired.expect("one driver"), Ordering::Relaxed);
        });
        assert_eq!(got.into_inner(), 1, "round {round}");
        wheel.check();
    }
}

/// Entries change hands between locals and shards, and every timer keeps its own. None of
/// those that are held is ever missing from the count.
#[test]
fn timers_armed_here_and_cancelled_there_keep_their_values() {
    let wheel = SharedWheel::<usize>::builder().shards(2).build();
    let (count, held) = (2_000 * scale(), 3);
    let (post, over) = (Post::new(), AtomicBool::new(false));
    (0..held).for_each(|_| assert!(wheel.try_arm(at(1 << 30), usize::MAX).is_ok()));
    crew::scope(|scope| {
        scope.spawn(|| {
            let mut local = wheel.local();
            while let Some((id, key)) = post.next() {
                assert_eq!(local.cancel(key), Cancel::Cancelled(id));
            }
            over.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let (len, next) = (wheel.len(), wheel.next_deadline());
                assert!(len >= held && next.is_some(), "{len} of {held}, {next:?}");
                thread::yield_now();
            }
        });
        let mut local = wheel.local();
        for id in 0..count {
            let deadline = wheel.now() + Ticks::new(1 + id as u64 % 1_000);
            post.send((id, local.arm(deadline, id)));
        }
        post.close();
    });
    wheel.check();
    let (len, entries) = (wheel.len(), wheel.entries());
    assert_eq!(len, held);
    assert!(entries <= held + 102 + 2 * 64 + 2, "{entries} entries");
}
