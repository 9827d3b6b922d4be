//! What a future costs that is made, polled once and dropped: the usual life of a timeout.
//!
//! ```text
//! cargo bench --bench runtime -- --table              a Markdown table for each workload
//! cargo bench --bench runtime -- --table --rounds 5 --only sleep
//! cargo bench --bench runtime                         every workload once, to see that it runs
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `cli` | the command line |
//! | `peers` | who takes part, each as its documentation has it used |
//! | `workloads` | what is measured |
//! | `rounds` | rounds of processes, medians, Markdown; the other benches have it too |
//!
//! Every figure is measured in a process of its own. All peers are polled with the same waker, which is
//! counted, as those of executors are.

mod cli;
mod peers;
#[path = "../wheel/rounds.rs"]
mod rounds;
mod workloads;

use std::process::ExitCode;

use cli::Command;
use rounds::{Job, Row, medians_of, ratios, table};
use workloads::{Effort, WORKLOADS, Workload};

fn main() -> ExitCode {
    let done = match cli::command(std::env::args().skip(1)) {
        Ok(Command::Try) => {
            try_all();
            Ok(())
        }
        Ok(Command::Table { rounds, only }) => print_tables(rounds, &only),
        Ok(Command::Child { workload, peer }) => measure(&workload, &peer),
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("runtime: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Everything once, quickly.
fn try_all() {
    for workload in &WORKLOADS {
        for (name, run) in workload.peers {
            run(Effort::TRY);
            println!("{}, {name}: runs", workload.name);
        }
    }
}

/// Does one job of the table and prints what it found on one line.
fn measure(workload: &str, peer: &str) -> Result<(), String> {
    let missing = |what: &str| format!("{what}: no such thing is measured");
    let mut workloads = WORKLOADS.iter();
    let workload = workloads
        .find(|known| known.name == workload)
        .ok_or_else(|| missing(workload))?;
    let mut peers = workload.peers.iter();
    let (_, run) = peers
        .find(|(known, _)| *known == peer)
        .ok_or_else(|| missing(peer))?;
    rounds::print(&[run(Effort::MEASURE)]);
    Ok(())
}

fn print_tables(rounds: usize, only: &[String]) -> Result<(), String> {
    let wanted =
        |workload: &&Workload| only.is_empty() || only.iter().any(|name| name == workload.name);
    for workload in WORKLOADS.iter().filter(wanted) {
        let jobs: Vec<_> = workload
            .peers
            .iter()
            .map(|(peer, _)| Job {
                name: format!("{}: {peer}", workload.name),
                args: ["--child", workload.name, peer].map(String::from).to_vec(),
            })
            .collect();
        let medians = medians_of(rounds, &jobs)?;
        let mut rows: Vec<_> = workload
            .peers
            .iter()
            .zip(medians)
            .map(|((name, _), figures)| Row { name, figures })
            .collect();
        for (row, multiple) in ratios(&rows).into_iter().enumerate() {
            rows[row + 1].figures.extend(multiple.figures);
        }
        rows[0].figures.push(1.0);
        println!("### {}, median of {rounds}\n", workload.name);
        println!("{}\n", workload.about);
        println!("{}", table(&[("ns", 1), ("of the first", 2)], &rows));
    }
    Ok(())
}
