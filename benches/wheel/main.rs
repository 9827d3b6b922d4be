//! The wheel against its peers, all driven by one owner on one thread.
//!
//! ```text
//! cargo bench --bench wheel                          Criterion: every workload, every peer
//! cargo bench --bench wheel -- rearm/tickwheel       Criterion: some of them
//! cargo bench --bench wheel -- --table               one Markdown table per size and start
//! cargo bench --bench wheel -- --table --rounds 5 --n 1000000 --start 262144 --only life
//! cargo bench --bench wheel -- --json FILE [--full]  a line of JSON for each figure
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `cli` | the command line |
//! | `peers` | the trait, the wheel, the standard library's collections |
//! | `published` | peers from the registry |
//! | `workloads` | what is done to a peer, and how it is timed |
//! | `bursts` | everything at once, nothing at all, a long sleep, timers that come and go |
//! | `trace`, `replay` | a trace of connection timers, and how it is replayed |
//! | `sampled` | the Criterion groups |
//! | `suite` | every workload, its figures and settings |
//! | `figures` | what the usual operations cost, and how long single calls take |
//! | `ours` | what only this wheel can do |
//! | `table` | the tables, and the jobs they take |
//! | `rounds` | rounds of processes, medians, Markdown |
//! | `results` | the same in JSON |
//! | `quiet` | whether the system left the thread alone |
//! | `memory` | the allocator that counts |
//!
//! A tick is 1 ms throughout and deadlines are uniform over 60 s. The caller has its keys
//! in hand: it scans a table of them in order, while the timers they name lie scattered.
//! So what is timed is the timer queue, with its cache misses and without the caller's.

mod bursts;
mod cli;
mod figures;
mod memory;
mod ours;
mod peers;
mod published;
mod quiet;
mod replay;
mod results;
mod rounds;
mod sampled;
mod suite;
mod table;
mod trace;
mod workloads;

use std::process::ExitCode;
use std::time::Duration;

use cli::Command;
use peers::{Binary, Btree, Peer, Tickwheel};
use published::{Hashed, Nexus, Queue};
use sampled::Workload;
use suite::{WORKLOADS, Work};
use workloads::Scenario;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// One of those that are compared.
struct Contender {
    name: &'static str,
    how: &'static str,
    sample: fn(Workload, &Scenario, u64) -> Duration,
    measure: fn(Work, &Scenario) -> Vec<f64>,
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
            how: P::HOW,
            sample: sampled::sample::<P>,
            measure: suite::measure::<P>,
        }
    }
}

fn main() -> ExitCode {
    let done = match cli::command(std::env::args().skip(1)) {
        Ok(Command::Sample { quick }) => {
            sampled::run(quick);
            if quick {
                once();
            }
            Ok(())
        }
        Ok(Command::Table(options)) => table::print(&options),
        Ok(Command::Json { path, effort, only }) => table::write(&path, effort, &only),
        Ok(Command::Child {
            workload,
            peer,
            n,
            start,
        }) => measure(&workload, &peer, &Scenario::new(n, start)),
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

/// Does one job and prints what it found on one line.
fn measure(workload: &str, peer: &str, scenario: &Scenario) -> Result<(), String> {
    let missing = |what: &str| format!("{what}: no such thing is measured");
    let figures = if workload == ours::YEARS {
        ours::years()
    } else {
        let mut workloads = WORKLOADS.iter();
        let workload = workloads.find(|known| known.name == workload);
        let workload = workload.ok_or_else(|| missing("the workload"))?;
        let peer = CONTENDERS.iter().find(|known| known.name == peer);
        let peer = peer.ok_or_else(|| missing("the peer"))?;
        (peer.measure)(workload.work, scenario)
    };
    rounds::print(&figures);
    Ok(())
}

/// Everything once, to see that it runs.
fn once() {
    for workload in &WORKLOADS {
        for peer in &CONTENDERS {
            let figures = (peer.measure)(workload.work, &Scenario::new(500, 0));
            assert_eq!(figures.len(), workload.columns.len(), "{}", workload.name);
        }
        println!("{} ran once; `--table` measures it", workload.name);
    }
}
