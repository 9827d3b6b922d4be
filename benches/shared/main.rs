//! The shared wheel against its peers, several threads at once.
//!
//! ```text
//! cargo bench --bench shared                          Criterion: all that is about time
//! cargo bench --bench shared -- --table               Markdown tables, and the goals
//! cargo bench --bench shared -- --table --rounds 5 --only latency --only churn
//! cargo bench --bench shared -- --table --only churn --churn 100000000
//! ```
//!
//! `harness` tells the other options.
//!
//! | file | what lives there |
//! |---|---|
//! | `peers` | the traits, and the single-owner wheel behind locks |
//! | `ours` | the shared wheel |
//! | `published`, `one_runtime` | peers from the registry |
//! | `workloads` | arming, cancelling, re-arming |
//! | `mixed` | most timers are cancelled, some fire |
//! | `cross` | one thread arms, another one cancels |
//! | `drive` | taking in what was armed, and firing it |
//! | `latency` | arming while a million timers fire |
//! | `memory` | resident memory |
//! | `suite` | every workload, its shapes and who takes part |
//! | `goals` | what the wheel is meant to reach |
//! | `harness` | options, rounds, tables, JSON: what all benches share |
//!
//! A tick is 1 ms throughout.

mod cross;
mod drive;
mod goals;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/interrupted.rs"]
mod interrupted;
mod latency;
mod memory;
mod mixed;
mod one_runtime;
mod ours;
mod peers;
mod published;
#[path = "../harness/resident.rs"]
mod resident;
mod suite;
#[path = "../harness/threads.rs"]
mod threads;
mod workloads;

use std::process::ExitCode;

use harness::Suite;

fn main() -> ExitCode {
    harness::run(&Suite {
        bench: "shared",
        workloads: suite::WORKLOADS,
        parts: &[],
        how: suite::HOW,
        numbers: &[(suite::CHURN, 1..=usize::MAX)],
        // What takes minutes has one round.
        rounds: |options, _| {
            if options.json && !options.full { 1 } else { 3 }
        },
        below: goals::print,
    })
}
