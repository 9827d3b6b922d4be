//! At rest.

use std::thread;
use std::time::Duration;

use tickwheel::Timers;

use crate::measure::{cpu, offset, sleeps};
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
