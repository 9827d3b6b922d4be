//! Whether the system left the thread alone while single calls were timed.

use std::fs;

/// How often to try again when the system took the processor away.
const TRIES: usize = 5;

/// Runs `work` until the system has not taken the processor away from this thread meanwhile, or
/// has done so too often. What came of it last.
///
/// The longest of many calls would otherwise be a matter of what else the machine does.
pub(crate) fn undisturbed<R>(mut work: impl FnMut() -> R) -> R {
    for _ in 1..TRIES {
        let before = interruptions();
        let done = work();
        if interruptions() == before {
            return done;
        }
    }
    work()
}

/// How often the system took the processor away from this thread. Zero where it does not say.
fn interruptions() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}
