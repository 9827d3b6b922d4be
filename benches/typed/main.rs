//! Typed expiry against its peers: sessions, leases, one-time codes.
//!
//! ```text
//! cargo bench --bench typed --features typed                        Criterion: all that is about time
//! cargo bench --bench typed --features typed -- --table             Markdown tables
//! cargo bench --bench typed --features typed -- --table --rounds 5 --only get --only renew
//! cargo bench --bench typed --features typed -- --table --only storm --storm 100000
//! ```
//!
//! `harness` tells the other options.
//!
//! | file | what lives there |
//! |---|---|
//! | `peers` | what a store of sessions can do, and those of this crate |
//! | `textbook` | a map and a heap behind a lock |
//! | `published` | peers from the registry |
//! | `batches` | threads that go over keys, batch by batch |
//! | `get` | reading sessions, each time a touch |
//! | `expire` | starting sessions, and taking out what has expired |
//! | `codes` | answers to one-time codes |
//! | `leases` | leases that nobody else wants |
//! | `storm` | reading sessions while a million others expire |
//! | `memory` | resident memory |
//! | `suite` | every workload, its shapes and who takes part |
//! | `harness` | options, rounds, tables, JSON: what all benches share |
//!
//! Keys are random `u128`, values are `u128`.

mod batches;
mod codes;
mod expire;
mod get;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/interrupted.rs"]
mod interrupted;
mod leases;
mod memory;
mod peers;
mod published;
#[path = "../harness/resident.rs"]
mod resident;
mod storm;
mod suite;
mod textbook;
#[expect(
    dead_code,
    reason = "no thread here does anything while the others wait"
)]
#[path = "../harness/threads.rs"]
mod threads;

use std::process::ExitCode;

use harness::Suite;

fn main() -> ExitCode {
    harness::run(&Suite {
        bench: "typed",
        workloads: suite::WORKLOADS,
        parts: &[],
        how: suite::HOW,
        numbers: &[(suite::STORM, 1..=usize::MAX)],
        // What takes minutes has one round.
        rounds: |options, _| {
            if options.json && !options.full { 1 } else { 3 }
        },
        below: |_| {},
    })
}
