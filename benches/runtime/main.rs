//! What a future costs that is made, polled once and dropped: the usual life of a timeout.
//!
//! ```text
//! cargo bench --bench runtime -- --table              a Markdown table for each workload
//! cargo bench --bench runtime -- --table --rounds 5 --only sleep
//! cargo bench --bench runtime -- --json FILE          a line of JSON for each figure
//! cargo bench --bench runtime                         every workload once, to see that it runs
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `cli` | the command line |
//! | `peers` | who takes part, each as its documentation has it used |
//! | `workloads` | what is measured |
//! | `rounds` | rounds of processes, medians, Markdown; the other benches have it too |
//! | `results` | the same in JSON |
//!
//! Every figure is measured in a process of its own. All peers are polled with the same waker, which is
//! counted, as those of executors are.

mod cli;
mod peers;
#[path = "../wheel/results.rs"]
mod results;
#[path = "../wheel/rounds.rs"]
mod rounds;
mod workloads;

use std::process::ExitCode;
use std::time::Duration;

use cli::Command;
use results::{Case, Group, Results};
use rounds::{Job, Row, medians_of, ratios, table};
use workloads::{Effort, WORKLOADS, Workload};

fn main() -> ExitCode {
    let done = match cli::command(std::env::args().skip(1)) {
        Ok(Command::Try) => {
            try_all();
            Ok(())
        }
        Ok(Command::Table { rounds, only }) => print_tables(rounds, &only),
        Ok(Command::Json { path, rounds, only }) => write(&path, rounds, &only),
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

fn wanted(only: &[String]) -> impl Iterator<Item = &'static Workload> {
    WORKLOADS
        .iter()
        .filter(|workload| only.is_empty() || only.iter().any(|name| name == workload.name))
}

fn job(workload: &Workload, peer: &str) -> Job {
    Job {
        name: format!("{}: {peer}", workload.name),
        args: ["--child", workload.name, peer].map(String::from).to_vec(),
    }
}

/// How long one job may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Measures everything, and writes it into a file as lines of JSON.
fn write(path: &str, rounds: usize, only: &[String]) -> Result<(), String> {
    let mut results = Results::create("runtime", path)?;
    for (peer, how) in peers::HOW {
        results.peer(peer, how)?;
    }
    let mut groups = Vec::new();
    for workload in wanted(only) {
        results.about(workload.name, workload.about)?;
        let cases = workload.peers.iter().map(|(peer, _)| Case {
            workload: workload.name,
            shape: String::new(),
            n: 1,
            threads: workload.threads,
            peer,
            ours: *peer == "tickwheel",
            columns: &[("make, poll, drop, ns", 1)],
            job: job(workload, peer),
        });
        groups.push(Group {
            rounds,
            limit: LIMIT,
            cases: cases.collect(),
        });
    }
    results.run(&groups)
}

fn print_tables(rounds: usize, only: &[String]) -> Result<(), String> {
    for workload in wanted(only) {
        let jobs: Vec<_> = workload
            .peers
            .iter()
            .map(|(peer, _)| job(workload, peer))
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
