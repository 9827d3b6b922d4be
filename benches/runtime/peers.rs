//! Who takes part, each as its documentation has it used.

use std::future::{Future, ready};
use std::hint::black_box;
use std::io;

use futures_timer::Delay;
use smol::Timer;
use tickwheel::Timers;
use tokio::runtime::{Builder, Runtime};

use crate::workloads::{AHEAD, Effort, twice};

/// How each is used.
pub(crate) const HOW: [(&str, &str); 5] = [
    ("tickwheel", "`Timers::new`, with its thread; ticks of 1 ms"),
    (
        "tokio, current thread",
        "within `block_on` of such a runtime",
    ),
    (
        "tokio, multi thread",
        "within `block_on` of a runtime with one worker, or one for two threads",
    ),
    (
        "smol (async-io)",
        "`Timer`, with its global thread; a timeout is `or` of the future and a timer",
    ),
    (
        "futures-timer",
        "`Delay`, with its global thread; a timeout is `or` of the future and a delay",
    ),
];

/// A future that is ready. The compiler does not know the value.
fn answer() -> impl Future<Output = u32> {
    ready(black_box(7))
}

// --- this crate ---

fn timers() -> Timers {
    Timers::new().expect("a thread for the timers")
}

pub(crate) fn timeout_tickwheel(effort: &Effort) -> Vec<f64> {
    let timers = timers();
    effort.measure(
        || timers.timeout(AHEAD, answer()),
        |polled| polled.is_ready(),
    )
}

pub(crate) fn sleep_tickwheel(effort: &Effort) -> Vec<f64> {
    let timers = timers();
    effort.measure(|| timers.sleep(AHEAD), |polled| polled.is_pending())
}

pub(crate) fn sleeps_tickwheel(effort: &Effort) -> Vec<f64> {
    let timers = timers();
    twice(|| effort.measure(|| timers.sleep(AHEAD), |polled| polled.is_pending()))
}

// --- tokio ---

fn current() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime")
}

fn multi() -> Runtime {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build();
    runtime.expect("a runtime")
}

fn timeout_tokio(runtime: &Runtime, effort: &Effort) -> Vec<f64> {
    let make = || tokio::time::timeout(AHEAD, answer());
    runtime.block_on(async { effort.measure(make, |polled| polled.is_ready()) })
}

fn sleep_tokio(runtime: &Runtime, effort: &Effort) -> Vec<f64> {
    let make = || tokio::time::sleep(AHEAD);
    runtime.block_on(async { effort.measure(make, |polled| polled.is_pending()) })
}

pub(crate) fn timeout_tokio_current(effort: &Effort) -> Vec<f64> {
    timeout_tokio(&current(), effort)
}

pub(crate) fn timeout_tokio_multi(effort: &Effort) -> Vec<f64> {
    timeout_tokio(&multi(), effort)
}

pub(crate) fn sleep_tokio_current(effort: &Effort) -> Vec<f64> {
    sleep_tokio(&current(), effort)
}

pub(crate) fn sleep_tokio_multi(effort: &Effort) -> Vec<f64> {
    sleep_tokio(&multi(), effort)
}

pub(crate) fn sleeps_tokio_multi(effort: &Effort) -> Vec<f64> {
    let runtime = multi();
    twice(|| sleep_tokio(&runtime, effort))
}

// --- smol, which is async-io ---

/// Its timer is made by the first poll that finds the future pending.
pub(crate) fn timeout_smol(effort: &Effort) -> Vec<f64> {
    let make = || {
        smol::future::or(async { Ok(answer().await) }, async {
            Timer::after(AHEAD).await;
            Err(io::Error::from(io::ErrorKind::TimedOut))
        })
    };
    effort.measure(make, |polled| polled.is_ready())
}

pub(crate) fn sleep_smol(effort: &Effort) -> Vec<f64> {
    effort.measure(|| Timer::after(AHEAD), |polled| polled.is_pending())
}

pub(crate) fn sleeps_smol(effort: &Effort) -> Vec<f64> {
    twice(|| sleep_smol(effort))
}

// --- futures-timer ---

pub(crate) fn timeout_futures_timer(effort: &Effort) -> Vec<f64> {
    let make = || {
        let delay = Delay::new(AHEAD);
        smol::future::or(async { Ok(answer().await) }, async {
            delay.await;
            Err(io::Error::from(io::ErrorKind::TimedOut))
        })
    };
    effort.measure(make, |polled| polled.is_ready())
}

pub(crate) fn sleep_futures_timer(effort: &Effort) -> Vec<f64> {
    effort.measure(|| Delay::new(AHEAD), |polled| polled.is_pending())
}

pub(crate) fn sleeps_futures_timer(effort: &Effort) -> Vec<f64> {
    twice(|| sleep_futures_timer(effort))
}
