//! Threads that race for a few timers, with a driver at work, and write down what they see.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use tickwheel::{Cancel, Expired, Local, SharedTurn, SharedWheel, Tick, TimerKey};

use crate::Call;
use crate::timer::{Did, Timer};
use crate::token::Random;

/// What was done to which timer.
type Log = Vec<(usize, Call)>;

/// Deadlines lie before this, or very far away; the last advance goes there.
const END: u64 = 7;

struct Race<'w, const BITS: u32> {
    wheel: &'w SharedWheel<usize, BITS>,
    keys: Vec<TimerKey>,
    stamps: AtomicU64,
    /// Threads that have not arrived at the start.
    missing: AtomicUsize,
}

/// For each timer: what it was at first, and what happened to it.
pub(crate) fn run<const BITS: u32>(
    seed: u64,
    threads: usize,
    timers: usize,
) -> Vec<(Timer, Vec<Call>)> {
    let wheel = SharedWheel::<usize, BITS>::builder()
        .shards(1 + seed as usize % 2)
        .build();
    let mut random = Random::new(seed, threads);
    // Some entries have been used before, and may be filed somewhere.
    let used: Vec<_> = (0..random.below(4))
        .map(|_| wheel.arm(Tick::new(random.below(END)), timers))
        .collect();
    if random.below(2) == 0 {
        assert!(wheel.next_deadline().is_some() || used.is_empty());
    }
    for key in used {
        assert!(wheel.cancel(key).is_cancelled(), "armed above");
    }
    let due: Vec<_> = (0..timers).map(|_| random.below(END)).collect();
    let race = Race {
        wheel: &wheel,
        keys: (0..timers)
            .map(|timer| wheel.arm(Tick::new(due[timer]), timer))
            .collect(),
        stamps: AtomicU64::new(0),
        missing: AtomicUsize::new(threads + 1),
    };
    let mut log = race.start(seed, threads);
    race.advance(END, &mut random, &mut log);
    for timer in 0..timers {
        race.ask(timer, &mut log);
    }
    wheel.check();
    let history = |timer| {
        let of_it = log.iter().filter(|(of, _)| *of == timer);
        of_it.map(|(_, call)| *call).collect()
    };
    (0..timers)
        .map(|timer| (Timer::armed(due[timer]), history(timer)))
        .collect()
}

impl<const BITS: u32> Race<'_, BITS> {
    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }

    fn wait_for_the_others(&self) {
        self.missing.fetch_sub(1, Ordering::SeqCst);
        while self.missing.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
    }

    fn start(&self, seed: u64, threads: usize) -> Log {
        thread::scope(|scope| {
            let mut runs: Vec<_> = (0..threads)
                .map(|id| scope.spawn(move || self.act(Random::new(seed, id))))
                .collect();
            runs.push(scope.spawn(move || self.drive(Random::new(seed, 100))));
            runs.into_iter()
                .flat_map(|run| run.join().expect("a thread of the race"))
                .collect()
        })
    }

    /// What one thread does: two to four things.
    fn act(&self, mut random: Random) -> Log {
        let mut log = Log::new();
        let mut local = self.wheel.local();
        let ops = 2 + random.below(3);
        self.wait_for_the_others();
        for _ in 0..ops {
            self.act_once(&mut local, &mut random, &mut log);
            (0..random.below(3)).for_each(|_| thread::yield_now());
        }
        log
    }

    fn act_once(&self, local: &mut Local<'_, usize, BITS>, random: &mut Random, log: &mut Log) {
        let timer = random.index(self.keys.len());
        let key = self.keys[timer];
        let due = match random.below(10) {
            0 => u64::MAX,
            1 => 1 << 45,
            _ => random.below(END),
        };
        let by_local = random.below(2) == 0;
        let from = self.stamp();
        let did = match random.below(12) {
            0..5 => {
                let answer = match (by_local, due == u64::MAX) {
                    (true, true) => local.disarm(key),
                    (true, false) => local.rearm(key, Tick::new(due)),
                    (false, _) => self.wheel.rearm(key, Tick::new(due)),
                };
                let done = answer.is_ok();
                Did::Rearmed { due, done }
            }
            5..8 => {
                let answer = match by_local {
                    true => local.cancel(key),
                    false => self.wheel.cancel(key),
                };
                let (done, running) = canceled(answer, timer);
                Did::Canceled { done, running }
            }
            8 => return self.cancel_and_wait(timer, from, log),
            9 => {
                // Another timer, which takes over an entry that is free, and leaves one.
                let other = local.arm(Tick::new(due), self.keys.len());
                let _ = local.cancel(other);
                return;
            }
            _ => return self.ask(timer, log),
        };
        let to = self.stamp();
        log.push((timer, Call::new(from, to, did)));
    }

    /// A cancel that waits does not say whether it met the callback; only that there is none now.
    fn cancel_and_wait(&self, timer: usize, from: u64, log: &mut Log) {
        let answer = self.wheel.cancel_wait(self.keys[timer]);
        let to = self.stamp();
        assert_ne!(answer, Cancel::Running, "though it waits");
        let (done, _) = canceled(answer, timer);
        let running = None;
        let did = Did::Canceled { done, running };
        log.push((timer, Call::new(from, to, did)));
        log.push((timer, Call::new(from, to, Did::Waited).then()));
    }

    fn ask(&self, timer: usize, log: &mut Log) {
        let from = self.stamp();
        let due = self.wheel.deadline(self.keys[timer]).map(Tick::get);
        let (to, did) = (self.stamp(), Did::Asked { due });
        log.push((timer, Call::new(from, to, did)));
    }

    fn drive(&self, mut random: Random) -> Log {
        let mut log = Log::new();
        let mut tick = 0;
        self.wait_for_the_others();
        for _ in 0..2 + random.below(2) {
            tick = END.min(tick + random.below(4));
            self.advance(tick, &mut random, &mut log);
            (0..random.below(3)).for_each(|_| thread::yield_now());
        }
        log
    }

    /// One advance, as each of the timers has it.
    fn advance(&self, target: u64, random: &mut Random, log: &mut Log) {
        let timers = 0..self.keys.len();
        let begun = self.stamp();
        let mut since = begun;
        let mut running = None;
        let note = |log: &mut Log, timer, from, to, did| {
            log.push((timer, Call::new(from, to, did)));
        };
        for timer in timers.clone() {
            note(log, timer, begun, begun, Did::Begun { target });
        }
        let count = self.wheel.advance(
            Tick::new(target),
            |turn: &mut SharedTurn<'_, usize, BITS>, expired: Expired<usize>| {
                let (timer, at, due) = (expired.value, turn.now().get(), expired.deadline.get());
                let to = self.stamp();
                if let Some(ended) = running.replace(timer) {
                    note(log, ended, since, to, Did::Ended);
                }
                note(log, timer, since, to, Did::Fired { at, due });
                (0..random.below(3)).for_each(|_| thread::yield_now());
                if random.below(2) == 0 {
                    let (from, due) = (self.stamp(), at + random.below(3));
                    let done = turn.rearm_expired(expired, Tick::new(due)).is_ok();
                    let did = Did::Again {
                        at,
                        due,
                        target,
                        done,
                    };
                    note(log, timer, from, self.stamp(), did);
                }
                since = self.stamp();
            },
        );
        assert!(count.is_ok(), "nobody else drives");
        let to = self.stamp();
        if let Some(ended) = running {
            note(log, ended, since, to, Did::Ended);
        }
        for timer in timers {
            note(log, timer, since, to, Did::NotFired { target });
        }
    }
}

/// What a cancel said: whether it stopped the timer, and else whether the callback runs.
fn canceled(answer: Cancel<usize>, timer: usize) -> (bool, Option<bool>) {
    match answer {
        Cancel::Cancelled(value) => {
            assert_eq!(value, timer, "another timer was cancelled");
            (true, None)
        }
        Cancel::Running => (false, Some(true)),
        Cancel::Stale => (false, Some(false)),
    }
}
