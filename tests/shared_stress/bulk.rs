//! Clearing, draining and dropping while others are at work; and memory.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tickwheel::{SharedWheel, Tick, Ticks, TimerKey};

use crate::crew::{self, Gate};
use crate::token::{Ledger, Random, Token, scale};

type Wheel<'l> = SharedWheel<Token<'l>, 4>;

/// Arms and cancels `ops` times; what was not cancelled stays.
fn churn<'l>(wheel: &Wheel<'l>, ledger: &'l Ledger, mut random: Random, ops: usize) -> usize {
    let mut local = wheel.local();
    let (mut mine, mut cancelled) = (Vec::new(), 0);
    for op in 0..ops {
        let deadline = wheel.now() + Ticks::new(random.below(200));
        mine.push(local.arm(deadline, ledger.token()));
        if random.below(2) == 0 {
            let key = mine.swap_remove(random.index(mine.len()));
            let token = local.cancel(key).value();
            cancelled += usize::from(token.is_some_and(|token| {
                token.assert_whole();
                true
            }));
        }
        if op % 32 == 0 {
            thread::yield_now();
        }
    }
    cancelled
}

#[test]
fn draining_and_clearing_lose_nothing_whoever_arms_meanwhile() {
    let (threads, ops) = (3, 1_500 * scale());
    let ledger = Ledger::new(threads * ops + 100 * ops);
    let wheel = Wheel::builder().shards(2).build();
    let working = AtomicUsize::new(threads);
    let (mut cancelled, mut fired, mut drained, mut cleared) = (0, 0, 0, 0);
    crew::scope(|scope| {
        let (wheel, ledger, working) = (&wheel, &ledger, &working);
        let workers: Vec<_> = (0..threads)
            .map(|id| {
                scope.spawn(move || {
                    let cancelled = churn(wheel, ledger, Random::new(3, id), ops);
                    working.fetch_sub(1, Ordering::Relaxed);
                    cancelled
                })
            })
            .collect();
        let driver = scope.spawn(move || {
            let (mut fired, mut tick) = (0, 0);
            while working.load(Ordering::Relaxed) > 0 {
                tick += 1;
                fired += wheel
                    .advance(Tick::new(tick), |_, expired| expired.value.assert_whole())
                    .unwrap_or(0);
                thread::yield_now();
            }
            fired
        });
        while working.load(Ordering::Relaxed) > 0 {
            (drained, cleared) = (drained + drain_once(wheel, ledger), cleared + 1);
            let own = wheel.arm(Tick::NEVER, ledger.token());
            wheel.clear();
            assert!(
                !wheel.contains(own),
                "armed before clear, and there after it"
            );
            thread::yield_now();
        }
        cancelled = workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum();
        fired = driver.join().unwrap();
    });
    wheel.check();
    let left = drain_once(&wheel, &ledger);
    wheel.check();
    assert!(wheel.is_empty(), "{wheel:?}");
    assert!(cleared > 0, "no clear in {ops} operations");
    let known = cancelled + fired + drained + left;
    assert!(known <= ledger.made(), "{known} of {}", ledger.made());
    ledger.assert_each_dropped_once();
}

/// Drains, and says how many; one armed before is among them.
fn drain_once<'l>(wheel: &Wheel<'l>, ledger: &'l Ledger) -> usize {
    let own = wheel.arm(Tick::new(1 << 45), ledger.token());
    let drained: Vec<(TimerKey, Tick, Token<'_>)> = wheel.drain().collect();
    drained.iter().for_each(|(.., token)| token.assert_whole());
    let keys: HashSet<_> = drained.iter().map(|(key, ..)| *key).collect();
    assert!(keys.contains(&own), "armed before drain, and not in it");
    assert_eq!(keys.len(), drained.len(), "drained twice");
    assert!(keys.iter().all(|key| !wheel.contains(*key)), "still there");
    drained.len()
}

#[test]
fn whatever_is_armed_when_the_wheel_is_dropped_is_dropped_with_it() {
    for round in 0..20 * scale() as u64 {
        let (threads, ops) = (4, 100);
        let ledger = Ledger::new(threads * ops);
        let wheel = Wheel::builder().shards(3).build();
        let start = Gate::new(threads + 1);
        crew::scope(|scope| {
            for id in 0..threads {
                let (wheel, ledger, start) = (&wheel, &ledger, &start);
                scope.spawn(move || {
                    start.wait();
                    churn(wheel, ledger, Random::new(round, id), ops)
                });
            }
            start.wait();
            for tick in 0..round % 50 {
                wheel.advance(Tick::new(tick), |_, _| {}).unwrap();
            }
        });
        let (held, dropped) = (wheel.len(), ledger.dropped());
        assert_eq!(held + dropped, ledger.made(), "held and dropped before");
        if round % 2 == 0 {
            wheel.check();
        }
        drop(wheel);
        ledger.assert_each_dropped_once();
    }
}

/// `limit` bounds entries: if they outnumbered the timers by more than the slack that is
/// documented, an arm would be refused.
fn entries_are_used_again(driven: bool) {
    let (threads, each, ops) = (4, 50, 1_500 * scale());
    let (most, slack) = (threads * each, 64 * threads + threads);
    let wheel = SharedWheel::<[u64; 4]>::builder()
        .limit(most + slack)
        .build();
    let working = AtomicUsize::new(threads);
    crew::scope(|scope| {
        let (wheel, working) = (&wheel, &working);
        for id in 0..threads {
            scope.spawn(move || {
                let mut random = Random::new(11, id);
                let (mut local, mut mine) = (wheel.local(), Vec::new());
                for op in 0..ops {
                    if mine.len() == each {
                        let key = mine.swap_remove(random.index(each));
                        // If it has fired, its entry is free once its callback has returned.
                        let _ = wheel.cancel_wait(key);
                    }
                    let deadline = wheel.now() + Ticks::new(1 + random.below(1 << 20));
                    let armed = match op % 2 {
                        0 => local.try_arm(deadline, [op as u64; 4]),
                        _ => wheel.try_arm(deadline, [op as u64; 4]),
                    };
                    mine.push(armed.expect("an entry that is free"));
                }
                working.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while driven && working.load(Ordering::Relaxed) > 0 {
            let now = wheel.now();
            wheel.advance(now + Ticks::new(1), |_, _| {}).unwrap();
            thread::yield_now();
        }
    });
    wheel.check();
    let (held, entries) = (wheel.len(), wheel.entries());
    assert!(held <= most, "{held} of {most} armed");
    assert!(
        entries <= most + slack,
        "{entries} entries for {most} timers"
    );
}

#[test]
fn entries_do_not_outnumber_timers_by_more_than_the_slack() {
    entries_are_used_again(true);
}

#[test]
fn entries_are_used_again_though_nobody_drives() {
    entries_are_used_again(false);
}
