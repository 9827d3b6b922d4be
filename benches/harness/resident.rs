//! Memory of this process.

use std::fs;

/// Bytes of memory that this process has, as the system says. Zero where it does not.
pub(crate) fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| {
        let value = line.strip_prefix("VmRSS:")?.trim();
        value.strip_suffix("kB")?.trim().parse::<usize>().ok()
    });
    kib.unwrap_or(0) * 1024
}
