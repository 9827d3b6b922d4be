//! The same load with the timers of runtimes: a task for each timer, on as many threads as
//! processors.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use futures_timer::Delay;
use smol::{Executor, Timer};
use tokio::runtime::{Builder, Runtime};

use crate::ROUND;
use crate::load::figures;
use crate::measure::{Late, cpu, offset};
use crate::suite::Load;

/// What runs tasks, and has them sleep.
pub(crate) trait Tasks {
    const NAME: &'static str;

    fn new() -> Self;

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    fn sleep_until(at: Instant) -> impl Future<Output = ()> + Send;

    /// Lets go of all tasks, without waiting for them.
    fn end(self);
}

pub(crate) struct Tokio(Runtime);

/// `Timer` on an executor of `smol`, for whose threads there is no other than this one.
pub(crate) struct Smol(&'static Executor<'static>);

/// `Delay` on the same.
pub(crate) struct FuturesTimer(Smol);

/// What the tasks of `T` are late by, and what that takes.
pub(crate) fn load<T: Tasks>(load: &Load) -> Vec<f64> {
    let tasks = T::new();
    let (late, counted) = (Late::new(), Arc::new(AtomicBool::new(false)));
    let start = Instant::now();
    let lead = Duration::from_secs(load.seconds.min(1) * 6);
    let count = load.timers;
    for n in 0..count {
        let (late, counted) = (Arc::clone(&late), Arc::clone(&counted));
        tasks.spawn(async move {
            let mut due = lead + offset(n, count);
            loop {
                T::sleep_until(start + due).await;
                if counted.load(Relaxed) {
                    late.record(due, start.elapsed());
                }
                due += ROUND;
            }
        });
    }
    let warm = lead + ROUND * u32::from(load.seconds > 0);
    thread::sleep(warm.saturating_sub(start.elapsed()));
    counted.store(true, Relaxed);
    let (before, began) = (cpu(), Instant::now());
    thread::sleep(load.span());
    let (used, took) = (cpu() - before, began.elapsed());
    counted.store(false, Relaxed);
    late.report(&format!("{}, {count} timers", T::NAME));
    tasks.end();
    figures(&late, used, took)
}

// === impl Tokio ===

impl Tasks for Tokio {
    const NAME: &'static str = "tokio";

    fn new() -> Self {
        let runtime = Builder::new_multi_thread().enable_time().build();
        Self(runtime.expect("threads"))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }

    fn sleep_until(at: Instant) -> impl Future<Output = ()> + Send {
        tokio::time::sleep_until(at.into())
    }

    fn end(self) {
        self.0.shutdown_background();
    }
}

// === impl Smol ===

impl Tasks for Smol {
    const NAME: &'static str = "smol (async-io)";

    /// Its threads go on until the process ends.
    fn new() -> Self {
        let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
        let threads = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            thread::spawn(|| smol::block_on(executor.run(pending::<()>())));
        }
        Self(executor)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task).detach();
    }

    async fn sleep_until(at: Instant) {
        Timer::at(at).await;
    }

    fn end(self) {}
}

// === impl FuturesTimer ===

impl Tasks for FuturesTimer {
    const NAME: &'static str = "futures-timer";

    fn new() -> Self {
        Self(Smol::new())
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }

    fn sleep_until(at: Instant) -> impl Future<Output = ()> + Send {
        Delay::new(at.saturating_duration_since(Instant::now()))
    }

    fn end(self) {}
}
