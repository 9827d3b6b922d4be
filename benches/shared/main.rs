//! The shared wheel against its peers, several threads at once.
//!
//! ```text
//! cargo bench --bench shared                          Criterion: all that is about time
//! cargo bench --bench shared -- rearm_later           Criterion: some of it
//! cargo bench --bench shared -- --table               Markdown tables, and the goals
//! cargo bench --bench shared -- --table --rounds 5 --only latency --only churn
//! cargo bench --bench shared -- --table --only churn --churn 100000000
//! cargo bench --bench shared -- --json FILE [--full]  a line of JSON for each figure
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `cli` | the command line |
//! | `peers` | the traits, and the single-owner wheel behind locks |
//! | `ours` | the shared wheel |
//! | `published`, `one_runtime` | peers from the registry |
//! | `threads` | threads that begin together |
//! | `workloads` | arming, cancelling, re-arming |
//! | `mixed` | most timers are cancelled, some fire |
//! | `cross` | one thread arms, another one cancels |
//! | `drive` | taking in what was armed, and firing it |
//! | `latency` | arming while a million timers fire |
//! | `memory` | resident memory |
//! | `suite` | every workload, its shapes and who takes part |
//! | `sampled` | the Criterion groups |
//! | `table` | the tables, and the jobs they take |
//! | `goals` | what the wheel is meant to reach |
//! | `rounds` | rounds of processes, medians, Markdown; the other benches have it too |
//! | `results` | the same in JSON |
//!
//! Every figure of a table is measured in a process of its own. A tick is 1 ms throughout.

mod cli;
mod cross;
mod drive;
mod goals;
mod latency;
mod memory;
mod mixed;
mod one_runtime;
mod ours;
mod peers;
mod published;
#[path = "../wheel/results.rs"]
mod results;
#[path = "../wheel/rounds.rs"]
mod rounds;
mod sampled;
mod suite;
mod table;
mod threads;
mod workloads;

use std::process::ExitCode;

use cli::Command;
use suite::{Kind, WORKLOADS};
use workloads::Shape;

fn main() -> ExitCode {
    let done = match cli::command(std::env::args().skip(1)) {
        Ok(Command::Sample { quick }) => {
            sampled::run(quick);
            Ok(())
        }
        Ok(Command::Table(options)) => table::print(&options),
        Ok(Command::Json { path, options }) => table::write(&path, &options),
        Ok(Command::Child {
            workload,
            peer,
            shape,
            churn,
        }) => measure(&workload, &peer, &shape, churn),
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shared: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does one job of the table and prints what it found on one line.
fn measure(workload: &str, peer: &str, shape: &str, churn: usize) -> Result<(), String> {
    let missing = |what: &str| format!("{what}: no such thing is measured");
    let mut workloads = WORKLOADS.iter();
    let workload = workloads
        .find(|known| known.name == workload)
        .ok_or_else(|| missing(workload))?;
    let peer = workload.peers.iter().find(|known| known.name == peer);
    let peer = peer.ok_or_else(|| missing("the peer"))?;
    let known = workload.shapes.iter().find(|known| known.name == shape);
    let mut shape: Shape = *known.ok_or_else(|| missing(shape))?;
    if workload.kind == Kind::Churn {
        shape.passes = churn.div_ceil(shape.n);
    }
    rounds::print(&(peer.measure)(&shape));
    Ok(())
}
