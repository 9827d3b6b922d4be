//! The tables: every workload, at every shape, by every peer; and how far off the goals are.

use std::time::Duration;

use crate::cli::Options;
use crate::goals;
use crate::results::{Case, Group, Results};
use crate::rounds::{Column, Job, Row, medians_of, ratios, table};
use crate::suite::{Kind, WORKLOADS, Workload};

/// The medians of a workload at one of its shapes, a row for each peer.
pub(crate) struct Found {
    pub(crate) workload: &'static str,
    pub(crate) shape: &'static str,
    pub(crate) rows: Vec<Row>,
}

pub(crate) fn print(options: &Options) -> Result<(), String> {
    let mut all = Vec::new();
    for workload in wanted(options) {
        println!("### {}, median of {}\n", workload.name, options.rounds);
        println!("{}\n", workload.about);
        let found = measure(workload, options)?;
        print_tables(workload, &found);
        all.extend(found);
    }
    goals::print(&all);
    Ok(())
}

fn wanted(options: &Options) -> impl Iterator<Item = &'static Workload> {
    WORKLOADS.iter().filter(|workload| {
        let mut only = options.only.iter();
        options.only.is_empty() || only.any(|name| name == workload.name)
    })
}

/// How long one job may take.
const LIMIT: Duration = Duration::from_secs(180);

/// Measures everything, and writes it into a file as lines of JSON.
pub(crate) fn write(path: &str, options: &Options) -> Result<(), String> {
    let mut results = Results::create("shared", path)?;
    let mut groups = Vec::new();
    let mut told = Vec::new();
    for workload in wanted(options) {
        results.about(workload.name, workload.about)?;
        for peer in workload.peers {
            if !told.contains(&peer.name) {
                results.peer(peer.name, peer.how)?;
                told.push(peer.name);
            }
        }
        for shape in workload.shapes {
            let cases = workload.peers.iter().map(|peer| Case {
                workload: workload.name,
                shape: shape.special().into(),
                n: shape.n,
                threads: shape.threads,
                peer: peer.name,
                ours: peer.name.starts_with("SharedWheel"),
                columns: workload.columns,
                job: job(workload, peer.name, shape.name, options.churn),
            });
            groups.push(Group {
                rounds: options.rounds,
                limit: LIMIT,
                cases: cases.collect(),
            });
        }
    }
    results.run(&groups)
}

/// All shapes and peers once per round.
fn measure(workload: &Workload, options: &Options) -> Result<Vec<Found>, String> {
    let shapes = workload.shapes.iter();
    let jobs: Vec<_> = shapes
        .flat_map(|shape| {
            let peers = workload.peers.iter();
            peers.map(|peer| job(workload, peer.name, shape.name, options.churn))
        })
        .collect();
    let mut medians = medians_of(options.rounds, &jobs)?.into_iter();
    let found = workload.shapes.iter().map(|shape| Found {
        workload: workload.name,
        shape: shape.name,
        rows: workload
            .peers
            .iter()
            .zip(medians.by_ref())
            .map(|(peer, figures)| Row {
                name: peer.name,
                figures,
            })
            .collect(),
    });
    Ok(found.collect())
}

fn job(workload: &Workload, peer: &str, shape: &str, churn: usize) -> Job {
    let churn = churn.to_string();
    let args = ["--child", workload.name, peer, shape, "--churn", &churn];
    Job {
        name: format!("{}, {shape}: {peer}", workload.name),
        args: args.map(String::from).to_vec(),
    }
}

/// One table with a column for each shape where a shape has one figure; else one for each.
fn print_tables(workload: &Workload, found: &[Found]) {
    if let [(_, digits)] = workload.columns {
        let columns: Vec<_> = found.iter().map(|found| (found.shape, *digits)).collect();
        let rows: Vec<_> = workload
            .peers
            .iter()
            .enumerate()
            .map(|(at, peer)| Row {
                name: peer.name,
                figures: found
                    .iter()
                    .map(|found| found.rows[at].figures[0])
                    .collect(),
            })
            .collect();
        print_table(workload, &columns, &rows);
        return;
    }
    for Found { shape, rows, .. } in found {
        println!("{shape}:\n");
        print_table(workload, workload.columns, rows);
    }
}

fn print_table(workload: &Workload, columns: &[Column], rows: &[Row]) {
    println!("{}", table(columns, rows));
    if matches!(workload.kind, Kind::Time | Kind::Latency) {
        let multiples: Vec<_> = columns.iter().map(|(heading, _)| (*heading, 2)).collect();
        println!("As multiples of {}:\n", rows[0].name);
        println!("{}", table(&multiples, &ratios(rows)));
    }
}
