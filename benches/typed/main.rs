//! Typed expiry against its peers: sessions, leases, one-time codes.
//!
//! ```text
//! cargo bench --bench typed --features typed                        Criterion: all that is about time
//! cargo bench --bench typed --features typed -- get                 Criterion: some of it
//! cargo bench --bench typed --features typed -- --table             Markdown tables
//! cargo bench --bench typed --features typed -- --table --rounds 5 --only get --only renew
//! cargo bench --bench typed --features typed -- --table --only storm --storm 100000
//! cargo bench --bench typed --features typed -- --json FILE [--full]  a line of JSON for each figure
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `cli` | the command line |
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
//! | `sampled` | the Criterion groups |
//! | `table` | the tables, and the jobs they take |
//! | `json` | the same in JSON |
//! | `results` | how JSON is written; the other benches have it too |
//! | `rounds` | rounds of processes, medians, Markdown; the other benches have it too |
//! | `threads` | threads that begin together; the bench of the shared wheel has it too |
//!
//! Every figure of a table is measured in a process of its own. Keys are random `u128`, values are `u128`.

mod batches;
mod cli;
mod codes;
mod expire;
mod get;
mod json;
mod leases;
mod memory;
mod peers;
mod published;
#[path = "../wheel/results.rs"]
mod results;
#[path = "../wheel/rounds.rs"]
mod rounds;
mod sampled;
mod storm;
mod suite;
mod table;
mod textbook;
#[expect(
    dead_code,
    reason = "no thread here does anything while the others wait"
)]
#[path = "../shared/threads.rs"]
mod threads;

use std::process::ExitCode;

use cli::Command;
use suite::{Kind, Shape, WORKLOADS};

fn main() -> ExitCode {
    let done = match cli::command(std::env::args().skip(1)) {
        Ok(Command::Sample { quick }) => {
            sampled::run(quick);
            Ok(())
        }
        Ok(Command::Table(options)) => table::print(&options),
        Ok(Command::Json { path, options }) => json::write(&path, &options),
        Ok(Command::Child {
            workload,
            peer,
            shape,
            storm,
        }) => measure(&workload, &peer, &shape, storm),
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("typed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does one job of the table and prints what it found on one line.
fn measure(workload: &str, peer: &str, shape: &str, storm: usize) -> Result<(), String> {
    let missing = |what: &str| format!("{what}: no such thing is measured");
    let mut workloads = WORKLOADS.iter();
    let workload = workloads
        .find(|known| known.name == workload)
        .ok_or_else(|| missing(workload))?;
    let peer = workload.peers.iter().find(|known| known.name == peer);
    let peer = peer.ok_or_else(|| missing("the peer"))?;
    let known = workload.shapes.iter().find(|known| known.name == shape);
    let mut shape: Shape = *known.ok_or_else(|| missing(shape))?;
    if workload.kind == Kind::Storm {
        shape.n = storm;
    }
    rounds::print(&(peer.measure)(&shape));
    Ok(())
}
