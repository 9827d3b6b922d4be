//! The wheel against its peers, all driven by one owner on one thread.
//!
//! ```text
//! cargo bench --bench wheel                          Criterion: the usual operations, every peer
//! cargo bench --bench wheel -- rearm/tickwheel       Criterion: some of them
//! cargo bench --bench wheel -- --table               Markdown tables
//! cargo bench --bench wheel -- --table --rounds 5 --n 1000000 --start 262144 --only life
//! ```
//!
//! `harness` tells the other options.
//!
//! | file | what lives there |
//! |---|---|
//! | `peers` | the trait, the wheel, the standard library's collections |
//! | `published` | peers from the registry |
//! | `workloads` | what is done to a peer, and how it is timed |
//! | `bursts` | everything at once, nothing at all, a long sleep, timers that come and go |
//! | `trace`, `replay` | a trace of connection timers, and how it is replayed |
//! | `figures` | what the usual operations cost, and how long single calls take |
//! | `parts` | the usual operations, each by itself, for Criterion |
//! | `years` | what only this wheel can do |
//! | `suite` | every workload, its figures and settings, and who takes part |
//! | `quiet` | a run in which the system leaves the thread alone |
//! | `memory` | the allocator that counts |
//! | `harness` | options, rounds, tables, JSON: what all benches share |
//!
//! A tick is 1 ms throughout and deadlines are uniform over 60 s. The caller has its keys
//! in hand: it scans a table of them in order, while the timers they name lie scattered.
//! So what is timed is the timer queue, with its cache misses and without the caller's.

mod bursts;
mod figures;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/interrupted.rs"]
mod interrupted;
mod memory;
mod parts;
mod peers;
mod published;
mod quiet;
mod replay;
mod suite;
mod trace;
mod workloads;
mod years;

use std::process::ExitCode;

use harness::Suite;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

fn main() -> ExitCode {
    harness::run(&Suite {
        bench: "wheel",
        workloads: suite::WORKLOADS,
        parts: suite::PARTS,
        how: suite::HOW,
        numbers: suite::NUMBERS,
        rounds: suite::rounds,
        below: |_| {},
    })
}
