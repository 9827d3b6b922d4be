//! On what, by what, and when something was measured.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The day, in UTC.
    pub(crate) date: String,
    pub(crate) command: String,
    pub(crate) processor: String,
    pub(crate) memory: String,
    pub(crate) system: String,
    pub(crate) rustc: String,
    /// Of this crate.
    pub(crate) commit: String,
    /// Whether the threads had real-time priority, so that others could not interrupt them.
    pub(crate) real_time: bool,
    /// Processes that wanted to run in the minute before it began, as the system says.
    pub(crate) load: String,
    /// Names and versions of the crates that were compared.
    pub(crate) versions: Vec<(String, String)>,
}

impl Machine {
    pub(crate) fn now(command: &str, real_time: bool) -> Result<Self, String> {
        Ok(Self {
            date: OffsetDateTime::now_utc().date().to_string(),
            command: command.into(),
            processor: processor(),
            memory: memory(),
            system: said("uname", &["-srm"]),
            rustc: said("rustc", &["--version"]),
            commit: said("git", &["describe", "--always", "--dirty"]),
            real_time,
            load: first_word("/proc/loadavg"),
            versions: versions(&crate::read("Cargo.lock")?),
        })
    }
}

/// What a program says; nothing when there is no such program.
fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .current_dir(crate::path("."))
        .output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().into()
        }
        Ok(_) | Err(_) => String::new(),
    }
}

fn first_word(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().next().unwrap_or_default().into()
}

fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let name = field("model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let virtual_machine = info.contains(" hypervisor");
    let cache = field("cache size").map_or_else(String::new, |size| format!(", {size} of cache"));
    let kind = if virtual_machine { ", virtual" } else { "" };
    format!("{name}, {cores} cores{cache}{kind}")
}

fn memory() -> String {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = info.lines().find_map(|line| {
        let total = line.strip_prefix("MemTotal:")?;
        total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    kib.map_or_else(String::new, |kib| format!("{} GiB", kib.div_ceil(1 << 20)))
}

/// Crates whose speed is compared.
const COMPARED: [&str; 12] = [
    "tickwheel",
    "nexus-timer",
    "hierarchical_hash_wheel_timer",
    "tokio",
    "tokio-util",
    "smol",
    "async-io",
    "futures-timer",
    "moka",
    "mini-moka",
    "tower-sessions-memory-store",
    "parking_lot",
];

fn versions(lock: &str) -> Vec<(String, String)> {
    let packages: Vec<_> = lock.split("[[package]]").filter_map(package).collect();
    let found = COMPARED.iter().filter_map(|wanted| {
        // The newest, where others depend on an older one.
        let named = packages.iter().filter(|(name, _)| name == wanted);
        let (name, version) = named.max_by_key(|(_, version)| numbers(version))?;
        Some(((*name).to_string(), (*version).to_string()))
    });
    found.collect()
}

fn package(text: &str) -> Option<(&str, &str)> {
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split('"').nth(1)
    };
    Some((field("name = ")?, field("version = ")?))
}

fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(['.', '-', '+']);
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_a_compared_crate_is_told() {
        let lock = "[[package]]\nname = \"moka\"\nversion = \"0.9.9\"\n\n\
                    [[package]]\nname = \"other\"\nversion = \"3.0.0\"\n\n\
                    [[package]]\nname = \"moka\"\nversion = \"0.12.1\"\n";
        assert_eq!(versions(lock), [("moka".into(), "0.12.1".into())]);
    }
}
