//! The wheel against its peers, all driven by one owner on one thread.
//!
//! ```text
//! cargo bench --bench wheel                          Criterion: every workload, every peer
//! cargo bench --bench wheel -- rearm/tickwheel       Criterion: some of them
//! cargo bench --bench wheel -- --table               one Markdown table per size and start
//! cargo bench --bench wheel -- --table --rounds 5 --n 1000000 --start 262144
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `cli` | the command line |
//! | `peers` | the trait, the wheel, the standard library's collections |
//! | `published` | peers from the registry |
//! | `workloads` | what is done to a peer, and how it is timed |
//! | `sampled` | the Criterion groups |
//! | `figures` | every figure of one peer, measured in a process of its own |
//! | `ours` | what only a wheel that never ticks in vain can do |
//! | `table` | the tables, and the jobs they take |
//! | `rounds` | rounds of such processes, medians, Markdown |
//! | `memory` | the allocator that counts |
//!
//! A tick is 1 ms throughout and deadlines are uniform over 60 s. The caller has its keys
//! in hand: it scans a table of them in order, while the timers they name lie scattered.
//! So what is timed is the timer queue, with its cache misses and without the caller's.

mod cli;
mod figures;
mod memory;
mod ours;
mod peers;
mod published;
mod rounds;
mod sampled;
mod table;
mod workloads;

use std::process::ExitCode;
use std::time::Duration;

use cli::Command;
use peers::{Binary, Btree, Peer, Tickwheel};
use published::{Hashed, Nexus, Queue};
use sampled::Workload;
use workloads::Scenario;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// One of those that are compared.
struct Contender {
    name: &'static str,
    sample: fn(Workload, &Scenario, u64) -> Duration,
    measure: fn(&Scenario) -> Vec<f64>,
}

/// All of them, the wheel first.
const CONTENDERS: [Contender; 6] = [
    Contender::new::<Tickwheel>(),
    Contender::new::<Nexus>(),
    Contender::new::<Queue>(),
    Contender::new::<Hashed>(),
    Contender::new::<Btree>(),
    Contender::new::<Binary>(),
];

// === impl Contender ===

impl Contender {
    const fn new<P: Peer>() -> Self {
        Self {
            name: P::NAME,
            sample: sampled::sample::<P>,
            measure: figures::measure::<P>,
        }
    }
}

fn main() -> ExitCode {
    let done = match cli::command(std::env::args().skip(1)) {
        Ok(Command::Sample { quick }) => {
            sampled::run(quick);
            Ok(())
        }
        Ok(Command::Table(options)) => table::print(&options),
        Ok(Command::Child { job, n, start }) => figures::print(&job, &Scenario::new(n, start)),
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wheel: {error}");
            ExitCode::FAILURE
        }
    }
}
