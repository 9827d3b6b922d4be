//! Everything at once, for as long as wanted. With `SOAK_SVG` in the environment a picture of its memory goes there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{MonotonicClock, Shutdown, Timers, Timestamp};

use crate::measure::{Late, since};
use crate::resident::resident;
use crate::samples::{Sample, Samples};
use crate::suite::Load;

/// Samples of memory that a run takes.
const SAMPLES: u32 = 300;

/// Keys that a thread keeps, of timers that may have fired meanwhile.
const KEYS: usize = 50_000;

/// Two threads arm, cancel, move and suspend for all they are worth, with some rest; timers are due
/// within a second. Each timer has one outcome, none is early, and memory does not grow. How many were
/// armed, how many fired, and how late; mebibytes when all was warm, and at the end.
pub(crate) fn soak(load: &Load) -> Vec<f64> {
    let clock = MonotonicClock::new();
    let timers = Timers::builder().clock(clock).build().expect("a thread");
    let (start, zero) = since(&clock);
    let (late, outcomes) = (Late::new(), Arc::<[AtomicU64; 2]>::default()); // fired, dropped
    let until = Duration::from_secs(load.seconds).max(Duration::from_millis(200));
    let mut samples = Samples::default();
    let armed: u64 = thread::scope(|scope| {
        let churns = [1, 2].map(|seed| Churn {
            timers: &timers,
            late: &late,
            outcomes: &outcomes,
            start,
            zero,
            state: seed,
            armed: 0,
        });
        let workers = churns.map(|churn| scope.spawn(move || churn.run(until)));
        for nth in 1..=SAMPLES {
            thread::sleep((until * nth / SAMPLES).saturating_sub(start.elapsed()));
            samples.add(Sample {
                at: start.elapsed(),
                resident: resident(),
                armed: timers.len(),
                fired: outcomes[0].load(Relaxed),
            });
        }
        let armed = workers.map(|worker| worker.join().expect("no panic"));
        armed.iter().sum()
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
    samples.report();
    if let Some(path) = std::env::var_os("SOAK_SVG") {
        std::fs::write(path, samples.draw()).expect("a file to write to");
    }
    assert_eq!(armed, fired + dropped, "each timer has one outcome");
    assert_eq!(stats.panics, 0);
    if load.seconds >= 60 {
        samples.assert_flat();
    }
    let counts = [armed as f64, fired as f64];
    [&counts[..], &late.quantiles(), &samples.most()].concat()
}

/// What one of the threads does.
struct Churn<'a> {
    timers: &'a Timers,
    late: &'a Arc<Late>,
    outcomes: &'a Arc<[AtomicU64; 2]>,
    start: Instant,
    /// What the clock showed at the start.
    zero: Timestamp,
    /// Of the random numbers.
    state: u64,
    armed: u64,
}

impl Churn<'_> {
    /// Says how many timers it has armed.
    fn run(mut self, until: Duration) -> u64 {
        let mut keys = Vec::new();
        while self.start.elapsed() < until {
            for _ in 0..100 {
                let roll = self.random();
                let after = Duration::from_micros(roll % 1_000_000);
                let due = self.zero + self.start.elapsed() + after;
                let which = self.random() as usize % keys.len().max(1);
                match (roll >> 40) % 10 {
                    0..5 => keys.push(self.arm(due)),
                    _ if keys.is_empty() => {}
                    5..8 => drop(self.timers.cancel(keys.swap_remove(which))),
                    8 => drop(self.timers.rearm_at(keys[which], due)),
                    _ => drop(self.timers.disarm(keys[which])),
                }
            }
            for key in keys.drain(KEYS.min(keys.len())..) {
                let _ = self.timers.cancel(key);
            }
            thread::sleep(Duration::from_micros(200));
        }
        self.armed
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn arm(&mut self, due: Timestamp) -> tickwheel::TimerKey {
        let outcome = Outcome(Arc::clone(self.outcomes));
        let (late, start, zero) = (Arc::clone(self.late), self.start, self.zero);
        self.armed += 1;
        let key = self.timers.arm_at(due, move |firing| {
            // It may have been moved: what counts is what it says.
            late.record(firing.deadline() - zero, start.elapsed());
            outcome.fired();
        });
        key.expect("no limit")
    }
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
