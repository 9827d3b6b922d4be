//! Many threads at the same few keys, of timers that arm themselves again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tickwheel::{Cancel, Expired, Local, SharedTurn, SharedWheel, Tick, Ticks, TimerKey};

use crate::crew;
use crate::record::Stamps;
use crate::token::{Ledger, Random, Token, scale};

const KEYS: usize = 3;

type Wheel<'l> = SharedWheel<Token<'l>, 3>;

/// What a thread was told about the end of a timer, and when.
#[derive(Clone, Copy, Debug)]
enum Told {
    Cancelled {
        at: u64,
    },
    /// A cancel met the callback.
    Running {
        at: u64,
    },
    /// A waiting cancel found nothing, or waited until there was nothing any more.
    Gone {
        at: u64,
    },
}

/// A callback: when it began, and whether it could arm its timer again.
#[derive(Clone, Copy, Debug)]
struct Fired {
    from: u64,
    again: bool,
}

struct Scene<'s, 'l> {
    wheel: &'s Wheel<'l>,
    ledger: &'l Ledger,
    keys: [TimerKey; KEYS],
    stamps: Stamps,
    working: AtomicUsize,
}

impl<'l> Scene<'_, 'l> {
    fn work(&self, mut random: Random, ops: usize) -> [Vec<Told>; KEYS] {
        let mut told = [const { Vec::new() }; KEYS];
        let mut local = self.wheel.local();
        for op in 0..ops {
            let timer = random.index(KEYS);
            told[timer].extend(self.step(&mut local, timer, &mut random));
            if op % 16 == 0 {
                thread::yield_now();
            }
        }
        self.working.fetch_sub(1, Ordering::Relaxed);
        told
    }

    fn step(
        &self,
        local: &mut Local<'_, Token<'l>, 3>,
        timer: usize,
        random: &mut Random,
    ) -> Option<Told> {
        let (wheel, key) = (self.wheel, self.keys[timer]);
        let deadline = wheel.now() + Ticks::new(random.below(6));
        // Refused once the timer is gone, which is as well.
        let cancelled = match random.below(100) {
            0..30 => return wheel.rearm(key, deadline).err().and(None),
            30..60 => return local.rearm(key, deadline).err().and(None),
            60..65 => return local.disarm(key).err().and(None),
            65..70 => {
                let far = deadline + Ticks::new(1 << 40);
                return wheel.rearm(key, far).err().and(None);
            }
            70 => wheel.cancel(key),
            71 => local.cancel(key),
            72 => match wheel.cancel_wait(key) {
                Cancel::Stale => {
                    let at = self.stamps.next();
                    return Some(Told::Gone { at });
                }
                Cancel::Running => panic!("{key:?} runs, and nobody waited"),
                cancelled @ Cancel::Cancelled(_) => cancelled,
            },
            // A newcomer, who may get the entry of one that is gone.
            73..80 => {
                let newcomer = local.arm(deadline, self.ledger.token());
                drop(local.cancel(newcomer));
                return None;
            }
            // Reads while others write; what it reads may be past by now.
            _ => {
                return wheel
                    .deadline(key)
                    .filter(|_| wheel.contains(key))
                    .and(None);
            }
        };
        let at = self.stamps.next();
        match cancelled {
            Cancel::Cancelled(token) => {
                assert_eq!(token.id, timer, "another timer was cancelled");
                Some(Told::Cancelled { at })
            }
            Cancel::Running => Some(Told::Running { at }),
            Cancel::Stale => None,
        }
    }

    fn drive(&self) -> [Vec<Fired>; KEYS] {
        let mut fired = [const { Vec::new() }; KEYS];
        let mut tick = 0;
        while self.working.load(Ordering::Relaxed) > 0 {
            tick += 1;
            let fire = |turn: &mut SharedTurn<'_, _, 3>, expired: Expired<Token<'l>>| {
                let from = self.stamps.next();
                assert!(turn.now() >= expired.deadline, "early: {expired:?}");
                expired.value.assert_whole();
                let timer = expired.value.id;
                if let Some(fired) = fired.get_mut(timer) {
                    let next = turn.now() + Ticks::new(timer as u64);
                    let again = turn.rearm_expired(expired, next).is_ok();
                    fired.push(Fired { from, again });
                }
            };
            let count = self.wheel.advance(Tick::new(tick), fire);
            assert!(count.is_ok(), "nobody else drives: {count:?}");
            thread::yield_now();
        }
        fired
    }
}

/// Whether what all were told about one timer can be true.
fn judge(told: &[Told], fired: &[Fired], armed: bool) -> Result<(), &'static str> {
    let (last, before) = match fired.split_last() {
        Some((last, before)) => (Some(last), before),
        None => (None, fired),
    };
    let ended_in_callback = last.is_some_and(|last| !last.again);
    if before.iter().any(|fired| !fired.again) {
        return Err("fired after it was refused to be armed again");
    }
    let (mut cancelled, mut met) = (0, 0);
    for told in told {
        let (at, may_have_begun) = match *told {
            Told::Cancelled { at } => {
                cancelled += 1;
                (at, 0)
            }
            Told::Running { at } => {
                met += 1;
                (at, 1)
            }
            Told::Gone { at } => (at, 0),
        };
        if fired.iter().filter(|fired| fired.from > at).count() > may_have_begun {
            return Err("fired after it was gone");
        }
    }
    let gone = told.len() > cancelled + met;
    match (cancelled, ended_in_callback, armed) {
        (0, false, true) if met == 0 && !gone => Ok(()),
        (0, true, false) if met > 0 || gone => Ok(()),
        (1, false, false) => Ok(()),
        _ => Err("not exactly one outcome"),
    }
}

fn round(seed: u64, threads: usize, ops: usize) -> (usize, usize, usize) {
    let ledger = Ledger::new(KEYS + threads * ops);
    let wheel = Wheel::builder().shards(threads).build();
    let keys = [(); KEYS].map(|()| wheel.arm(Tick::new(1), ledger.token()));
    let scene = Scene {
        wheel: &wheel,
        ledger: &ledger,
        keys,
        stamps: Stamps::default(),
        working: AtomicUsize::new(threads),
    };
    let (told, fired) = crew::scope(|scope| {
        let scene = &scene;
        let driver = scope.spawn(|| scene.drive());
        let workers: Vec<_> = (0..threads)
            .map(|id| scope.spawn(move || scene.work(Random::new(seed, id), ops)))
            .collect();
        let told: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker"))
            .collect();
        (told, driver.join().expect("the driver"))
    });
    wheel.check();
    let (mut cancelled, mut running, mut left) = (0, 0, 0);
    for timer in 0..KEYS {
        let told: Vec<_> = told.iter().flat_map(|told| told[timer].clone()).collect();
        let armed = wheel.contains(keys[timer]);
        let verdict = judge(&told, &fired[timer], armed);
        let shown = (&told, &fired[timer], armed);
        assert_eq!(verdict, Ok(()), "timer {timer} of seed {seed}: {shown:?}");
        let was = |told: &Told| matches!(told, Told::Cancelled { .. });
        let stopped = told.iter().any(was);
        cancelled += usize::from(stopped);
        left += usize::from(armed);
        running += usize::from(!stopped && !armed);
    }
    drop(wheel);
    ledger.assert_each_dropped_once();
    (cancelled, running, left)
}

#[test]
fn threads_that_share_keys_are_told_the_truth() {
    let (mut cancelled, mut running, mut left) = (0, 0, 0);
    let rounds = 60 * scale() as u64;
    for seed in 0..rounds {
        let ended = round(seed, 2 + seed as usize % 3, 120);
        cancelled += ended.0;
        running += ended.1;
        left += ended.2;
    }
    let timers = rounds as usize * KEYS;
    assert_eq!(cancelled + running + left, timers, "of {timers}");
    assert!(cancelled > 0 && left > 0, "{cancelled} {running} {left}");
}
