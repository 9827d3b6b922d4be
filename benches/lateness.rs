//! How late timers are, and what it costs: on the real clock, under load, at rest.
//!
//! ```text
//! cargo bench --bench lateness -- load --seconds 20     a million timers, 100,000 firings a second
//! cargo bench --bench lateness -- load --peer tokio     the same with tokio
//! cargo bench --bench lateness -- idle --seconds 10     a million far timers, and nothing to do
//! cargo bench --bench lateness -- soak --seconds 60     arms, cancels and moves from two threads
//! ```
//!
//! Without a subject it runs each of ours for a moment, to see that it works.
//!
//! Load: every timer is due ten seconds after it last was, at a time of its own that is not
//! rounded. Lateness is from that time to the beginning of the callback, or of the task's next
//! step, read on `Instant`. So of a tick of one millisecond half a tick is rounding. Only what was
//! due after one full round counts.

use std::env;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{Clock, MonotonicClock, Next, Shutdown, Timers, Timestamp};

const ROUND: Duration = Duration::from_secs(10);

struct Options {
    subject: String,
    peer: String,
    seconds: u64,
    timers: usize,
}

fn main() {
    let mut options = Options {
        subject: String::new(),
        peer: "tickwheel".into(),
        seconds: 20,
        timers: 1_000_000,
    };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("a value follows");
        match arg.as_str() {
            "--seconds" => options.seconds = value().parse().expect("a number of seconds"),
            "--timers" => options.timers = value().parse().expect("a number of timers"),
            "--peer" => options.peer = value(),
            "--bench" | "--test" => {}
            subject => options.subject = subject.into(),
        }
    }
    match options.subject.as_str() {
        "load" if options.peer == "tokio" => load_tokio(&options),
        "load" => load(&options),
        "idle" => idle(&options),
        "soak" => soak(&options),
        _ => {
            let quick = Options {
                subject: String::new(),
                peer: String::new(),
                seconds: 0,
                timers: 1_000,
            };
            load(&quick);
            idle(&quick);
            soak(&quick);
        }
    }
}

// === measuring ===

/// Lateness in buckets of ten microseconds, up to a second.
struct Late {
    counts: Box<[AtomicU64]>,
    max: AtomicU64,
    early: AtomicUsize,
}

impl Late {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            counts: (0..100_000).map(|_| AtomicU64::new(0)).collect(),
            max: AtomicU64::new(0),
            early: AtomicUsize::new(0),
        })
    }

    fn record(&self, deadline: Duration, now: Duration) {
        let Some(late) = now.checked_sub(deadline) else {
            self.early.fetch_add(1, Relaxed);
            return;
        };
        let micros = late.as_micros() as u64;
        let bucket = (micros / 10).min(self.counts.len() as u64 - 1);
        self.counts[bucket as usize].fetch_add(1, Relaxed);
        self.max.fetch_max(micros, Relaxed);
    }

    fn report(&self, what: &str) {
        let count: u64 = self.counts.iter().map(|count| count.load(Relaxed)).sum();
        let quantile = |share: f64| {
            let wanted = (count as f64 * share).ceil() as u64;
            let mut seen = 0;
            let reached = self.counts.iter().position(|bucket| {
                seen += bucket.load(Relaxed);
                seen >= wanted.max(1)
            });
            reached.map_or(0.0, |bucket| (bucket + 1) as f64 / 100.0)
        };
        println!(
            "{what}: {count} fired, {} early; late by p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, max {:.2} ms",
            self.early.load(Relaxed),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            self.max.load(Relaxed) as f64 / 1_000.0,
        );
        assert_eq!(self.early.load(Relaxed), 0, "never early");
    }
}

/// Processor time of this process so far, as Linux tells it.
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// Times that threads of this process have gone to sleep so far.
fn sleeps() -> u64 {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("status")).ok())
        .filter_map(|status| {
            let line = status
                .lines()
                .find(|line| line.starts_with("voluntary_ctxt"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .sum()
}

/// When the timer `n` of `count` is due for the first time: spread over the round, in no order.
fn offset(n: usize, count: usize) -> Duration {
    let spread = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
    let nanos = (u128::from(spread) * ROUND.as_nanos()) >> 48;
    debug_assert!(count > 0);
    Duration::from_nanos(nanos as u64)
}

/// Nanoseconds of a clock, and of `Instant`, since the same moment.
fn since(clock: &MonotonicClock) -> (Instant, Timestamp) {
    (Instant::now(), clock.now())
}

// === load ===

fn load(options: &Options) {
    let clock = MonotonicClock::new();
    let timers = Timers::builder().clock(clock).build().expect("a thread");
    let (start, zero) = since(&clock);
    let late = Late::new();
    let (count, counted) = (options.timers, Arc::new(AtomicBool::new(false)));
    // The first round begins when all are armed.
    let lead = Duration::from_secs(u64::from(options.seconds > 0) * 2);
    for n in 0..count {
        let (late, counted) = (Arc::clone(&late), Arc::clone(&counted));
        let mut due = lead + offset(n, count);
        timers
            .arm_repeating(due.saturating_sub(start.elapsed()), move |_| {
                if counted.load(Relaxed) {
                    late.record(due, start.elapsed());
                }
                due += ROUND;
                Next::At(zero + due)
            })
            .expect("no limit");
    }
    // By now the rounding of the first deadline, from another reading of the clock, is over.
    let warm = if options.seconds > 0 {
        lead + ROUND
    } else {
        Duration::ZERO
    };
    thread::sleep(warm.saturating_sub(start.elapsed()));
    counted.store(true, Relaxed);
    let (before, began) = (cpu(), Instant::now());
    thread::sleep(Duration::from_secs(options.seconds).max(Duration::from_millis(50)));
    let (used, took) = (cpu() - before, began.elapsed());
    counted.store(false, Relaxed);
    late.report(&format!("tickwheel, {count} timers"));
    println!(
        "  {:.1}% of a processor; {:?}",
        used.as_secs_f64() / took.as_secs_f64() * 100.0,
        timers.stats()
    );
    println!("  batches took {:?}", timers.batch_durations());
    assert_eq!(timers.len(), count);
}

fn load_tokio(options: &Options) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .expect("threads");
    let (late, counted) = (Late::new(), Arc::new(AtomicBool::new(false)));
    let start = Instant::now();
    let lead = Duration::from_secs(6);
    let count = options.timers;
    for n in 0..count {
        let (late, counted) = (Arc::clone(&late), Arc::clone(&counted));
        runtime.spawn(async move {
            let mut due = lead + offset(n, count);
            loop {
                tokio::time::sleep_until((start + due).into()).await;
                if counted.load(Relaxed) {
                    late.record(due, start.elapsed());
                }
                due += ROUND;
            }
        });
    }
    thread::sleep((lead + ROUND).saturating_sub(start.elapsed()));
    counted.store(true, Relaxed);
    let (before, began) = (cpu(), Instant::now());
    thread::sleep(Duration::from_secs(options.seconds));
    let (used, took) = (cpu() - before, began.elapsed());
    counted.store(false, Relaxed);
    late.report(&format!("tokio, {count} timers"));
    println!(
        "  {:.1}% of a processor",
        used.as_secs_f64() / took.as_secs_f64() * 100.0
    );
    runtime.shutdown_background();
}

// === idle ===

fn idle(options: &Options) {
    let timers = Timers::new().expect("a thread");
    for n in 0..options.timers {
        let after = Duration::from_secs(3_600) + offset(n, options.timers) * 360;
        timers.arm(after, |_| {}).expect("no limit");
    }
    thread::sleep(Duration::from_millis(500)); // it has seen them all
    let before = (cpu(), sleeps(), timers.stats().wake_ups);
    thread::sleep(Duration::from_secs(options.seconds.max(1)));
    let (used, slept) = (cpu() - before.0, sleeps() - before.1);
    let woken = timers.stats().wake_ups - before.2;
    println!(
        "idle, {} timers armed for an hour and more: in {} s {woken} wake-ups of the driver, {} of other threads, {used:?} of processor time",
        options.timers,
        options.seconds.max(1),
        slept.saturating_sub(woken + 1), // this thread's own sleep
    );
}

// === soak ===

/// Two threads arm, cancel, move and suspend for all they are worth, with some rest; timers are due
/// within a second. Each timer has one outcome, none is early.
fn soak(options: &Options) {
    let clock = MonotonicClock::new();
    let timers = Timers::builder().clock(clock).build().expect("a thread");
    let (start, zero) = since(&clock);
    let late = Late::new();
    let until = Duration::from_secs(options.seconds).max(Duration::from_millis(200));
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
