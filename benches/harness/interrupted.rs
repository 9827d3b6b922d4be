//! Whether the system left the thread alone while single calls were timed.

use std::fs;

/// How often the system took the processor away from this thread. Zero where it does not say.
pub(crate) fn interruptions() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}
