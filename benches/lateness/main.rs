//! How late timers are, and what it costs: on the real clock, under load, at rest.
//!
//! ```text
//! cargo bench --bench lateness -- --table --only load               a million timers, 100,000 firings a second
//! cargo bench --bench lateness -- --table --only idle --seconds 10  a million far timers, and nothing to do
//! cargo bench --bench lateness -- --table --only soak --seconds 60  arms, cancels and moves from two threads
//! ```
//!
//! `harness` tells the other options. Without any, everything runs for a moment, to see that it works.
//!
//! | file | what lives there |
//! |---|---|
//! | `load` | a million timers, of which a tenth fires each second |
//! | `tasks` | the same with the timers of runtimes |
//! | `rest` | at rest |
//! | `soak` | everything at once |
//! | `samples` | memory over time, in numbers and as a picture |
//! | `measure` | how late, how much of a processor, how often awake |
//! | `suite` | what is measured, and by whom |
//! | `harness` | options, rounds, tables, JSON: what all benches share |
//!
//! Load: every timer is due ten seconds after it last was, at a time of its own that is not
//! rounded. Lateness is from that time to the beginning of the callback, or of the task's next
//! step, read on `Instant`. So of a tick of one millisecond half a tick is rounding. Only what was
//! due after one full round counts.

#[path = "../harness/mod.rs"]
mod harness;
mod load;
mod measure;
#[path = "../harness/resident.rs"]
mod resident;
mod rest;
mod samples;
mod soak;
mod suite;
mod tasks;

use std::process::ExitCode;
use std::time::Duration;

use harness::Suite;

/// How long after it fired a timer is due again.
const ROUND: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    harness::run(&Suite {
        bench: "lateness",
        workloads: suite::WORKLOADS,
        parts: &[],
        how: suite::HOW,
        numbers: suite::NUMBERS,
        rounds: |options, _| if options.full { 3 } else { 1 },
        below: |_| {},
    })
}
