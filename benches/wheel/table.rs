//! The tables, and the jobs they take.

use crate::cli::{Effort, Options};
use crate::results::{Case, Group, Results};
use crate::rounds::{Column, Job, Row, medians_of, ratios, table};
use crate::suite::{WORKLOADS, Work, Workload};
use crate::{CONTENDERS, ours};

/// Prints two tables per workload, size and start, and one of the wheel alone.
pub(crate) fn print(options: &Options) -> Result<(), String> {
    for workload in wanted(&options.only) {
        println!("## {}\n\n{}\n", workload.name, workload.about);
        for (n, start) in settings(workload, options) {
            print_setting(workload, options.rounds, n, start)?;
        }
    }
    if options.only.is_empty() {
        let medians = medians_of(options.rounds, &[job(ours::YEARS, OURS, 1, 0)])?;
        println!("## The wheel alone, jumping\n");
        println!("{}", table(&ours::YEARS_COLUMNS, &rows(medians)));
    }
    Ok(())
}

const OURS: &str = CONTENDERS[0].name;

/// A carry is looked at where time goes by tick by tick.
fn settings(workload: &Workload, options: &Options) -> Vec<(usize, u64)> {
    match workload.work {
        Work::Life | Work::Latency => {
            let sizes = options.sizes.iter();
            let with_starts = |n| options.starts.iter().map(move |start| (n, *start));
            sizes.flat_map(|n| with_starts(*n)).collect()
        }
        Work::Nothing | Work::Burst | Work::Tickless => {
            options.sizes.iter().map(|n| (*n, 0)).collect()
        }
        Work::Trace | Work::Churn | Work::Jump => (workload.settings)(Effort::Reduced),
    }
}

fn print_setting(workload: &Workload, rounds: usize, n: usize, start: u64) -> Result<(), String> {
    let peers = CONTENDERS.iter();
    let jobs: Vec<_> = peers
        .map(|peer| job(workload.name, peer.name, n, start))
        .collect();
    let rows = rows(medians_of(rounds, &jobs)?);
    println!("### {n} timers from tick {start}, median of {rounds}\n");
    println!("{}", table(workload.columns, &rows));
    println!("The same, as multiples of {OURS}:\n");
    let columns: Vec<_> = workload.columns.iter().map(ratio_column).collect();
    println!("{}", table(&columns, &ratios(&rows)));
    Ok(())
}

fn rows(medians: Vec<Vec<f64>>) -> Vec<Row> {
    let rows = CONTENDERS.iter().zip(medians);
    rows.map(|(peer, figures)| Row {
        name: peer.name,
        figures,
    })
    .collect()
}

/// The column's heading without its unit.
fn ratio_column((heading, _): &Column) -> Column {
    let name = heading.split(',').next().unwrap_or(heading);
    (name, 2)
}

/// Measures everything, and writes it into a file as lines of JSON.
pub(crate) fn write(path: &str, effort: Effort, only: &[String]) -> Result<(), String> {
    let mut results = Results::create("wheel", path)?;
    for peer in &CONTENDERS {
        results.peer(peer.name, peer.how)?;
    }
    let mut groups = Vec::new();
    for workload in wanted(only) {
        results.about(workload.name, workload.about)?;
        for (n, start) in (workload.settings)(effort) {
            groups.push(group(workload, effort, n, start));
        }
    }
    results.run(&groups)
}

fn group(workload: &Workload, effort: Effort, n: usize, start: u64) -> Group {
    let cases = CONTENDERS.iter().map(|peer| Case {
        workload: workload.name,
        shape: if start > 0 {
            format!("from tick {start}")
        } else {
            String::new()
        },
        n,
        threads: 1,
        peer: peer.name,
        ours: peer.name == OURS,
        columns: workload.columns,
        job: job(workload.name, peer.name, n, start),
    });
    Group {
        rounds: effort.rounds(n),
        limit: effort.limit(),
        cases: cases.collect(),
    }
}

fn wanted(only: &[String]) -> impl Iterator<Item = &'static Workload> {
    WORKLOADS
        .iter()
        .filter(|workload| only.is_empty() || only.iter().any(|name| name == workload.name))
}

fn job(workload: &str, peer: &str, n: usize, start: u64) -> Job {
    let (size, from) = (n.to_string(), start.to_string());
    let args = ["--child", workload, peer, "--n", &size, "--start", &from];
    Job {
        name: format!("{workload}, {n} timers from tick {start}: {peer}"),
        args: args.map(String::from).to_vec(),
    }
}
