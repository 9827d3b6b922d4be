//! What a future costs that is made, polled once and dropped: the usual life of a timeout.
//!
//! ```text
//! cargo bench --bench runtime -- --table              a Markdown table for each workload
//! cargo bench --bench runtime -- --table --rounds 5 --only sleep
//! ```
//!
//! `harness` tells the other options.
//!
//! | file | what lives there |
//! |---|---|
//! | `peers` | who takes part, each as its documentation has it used |
//! | `workloads` | what is measured |
//! | `harness` | options, rounds, tables, JSON: what all benches share |
//!
//! All peers are polled with the same waker, which is counted, as those of executors are.

#[path = "../harness/mod.rs"]
mod harness;
mod peers;
mod workloads;

use std::process::ExitCode;

use harness::Suite;

fn main() -> ExitCode {
    harness::run(&Suite {
        bench: "runtime",
        workloads: workloads::WORKLOADS,
        parts: &[],
        how: &peers::HOW,
        numbers: &[],
        rounds: |_, _| 5,
        below: |_| {},
    })
}
