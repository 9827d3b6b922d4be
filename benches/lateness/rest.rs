//! At rest, and everything at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tickwheel::{MonotonicClock, Shutdown, Timers};

use crate::measure::{Late, cpu, offset, since, sleeps};
use crate::suite::Load;

/// A million timers, and nothing to do: how often the driver woke up, how often other threads did, and
/// milliseconds of processor time.
pub(crate) fn idle(load: &Load) -> Vec<f64> {
    let timers = Timers::new().expect("a thread");
    for n in 0..load.timers {
        let after = Duration::from_secs(3_600) + offset(n, load.timers) * 360;
        timers.arm(after, |_| {}).expect("no limit");
    }
    thread::sleep(Duration::from_millis(500)); // it has seen them all
    let before = (cpu(), sleeps(), timers.stats().wake_ups);
    thread::sleep(Duration::from_secs(load.seconds.max(1)));
    let (used, slept) = (cpu() - before.0, sleeps() - before.1);
    let woken = timers.stats().wake_ups - before.2;
    // This thread's own sleep is none.
    let others = slept.saturating_sub(woken + 1);
    vec![woken as f64, others as f64, used.as_secs_f64() * 1e3]
}

/// Two threads arm, cancel, move and suspend for all they are worth, with some rest; timers are due
/// within a second. Each timer has one outcome, none is early. How many were armed, how many fired, and
/// how late.
pub(crate) fn soak(load: &Load) -> Vec<f64> {
    let clock = MonotonicClock::new();
    let timers = Timers::builder().clock(clock).build().expect("a thread");
    let (start, zero) = since(&clock);
    let late = Late::new();
    let until = Duration::from_secs(load.seconds).max(Duration::from_millis(200));
    let outcomes: Arc<[AtomicU64; 2]> = Arc::default(); // fired, dropped
    let armed: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (1..=2_u64)
            .map(|seed| {
                let (timers, late, outcomes) = (&timers, &late, &outcomes);
                scope.spawn(move || {
                    let (mut armed, mut state, mut keys) = (0_u64, seed, Vec::new());
                    let mut random = move || {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        state
                    };
                    while start.elapsed() < until {
                        for _ in 0..100 {
                            let roll = random();
                            let due = start.elapsed() + Duration::from_micros(roll % 1_000_000);
                            let which = random() as usize % keys.len().max(1);
                            match (roll >> 40) % 10 {
                                0..5 => {
                                    let outcome = Outcome(Arc::clone(outcomes));
                                    let late = Arc::clone(late);
                                    let key = timers.arm_at(zero + due, move |firing| {
                                        // It may have been moved: what counts is what it says.
                                        let deadline = firing.deadline() - zero;
                                        late.record(deadline, start.elapsed());
                                        outcome.fired();
                                    });
                                    keys.push(key.expect("no limit"));
                                    armed += 1;
                                }
                                5..8 if !keys.is_empty() => {
                                    let _ = timers.cancel(keys.swap_remove(which));
                                }
                                8 if !keys.is_empty() => {
                                    let _ = timers.rearm_at(keys[which], zero + due);
                                }
                                _ if !keys.is_empty() => {
                                    let _ = timers.disarm(keys[which]);
                                }
                                _ => {}
                            }
                        }
                        keys.truncate(50_000);
                        thread::sleep(Duration::from_micros(200));
                    }
                    armed
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no panic"))
            .sum()
    });
    let stats = timers.stats();
    let left = timers.shutdown(Shutdown::HandBack).len() as u64;
    timers.wait(Duration::from_secs(60)).expect("it ends");
    let [fired, dropped] = [0, 1].map(|which| outcomes[which].load(Relaxed));
    late.report(&format!("soak, {} s", until.as_secs_f32()));
    println!(
        "  {armed} armed = {fired} fired + {dropped} cancelled or handed back ({left}); {stats:?}"
    );
    println!("  batches took {:?}", timers.batch_durations());
    assert_eq!(armed, fired + dropped, "each timer has one outcome");
    assert_eq!(stats.panics, 0);
    [&[armed as f64, fired as f64][..], &late.quantiles()].concat()
}

/// Counts what became of a timer, once.
struct Outcome(Arc<[AtomicU64; 2]>);

impl Outcome {
    fn fired(self) {
        self.0[0].fetch_add(1, Relaxed);
        // As `drop` would count it as dropped.
        self.0[1].fetch_sub(1, Relaxed);
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        self.0[1].fetch_add(1, Relaxed);
    }
}
