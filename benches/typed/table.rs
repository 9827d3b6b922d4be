//! The tables: every workload, at every shape, by every peer.

use crate::cli::Options;
use crate::rounds::{Job, Row, medians_of, ratios, table};
use crate::suite::{Kind, WORKLOADS, Workload};

pub(crate) fn print(options: &Options) -> Result<(), String> {
    let wanted = |workload: &&Workload| {
        let mut only = options.only.iter();
        options.only.is_empty() || only.any(|name| name == workload.name)
    };
    for workload in WORKLOADS.iter().filter(wanted) {
        println!("### {}, median of {}\n", workload.name, options.rounds);
        println!("{}\n", workload.about);
        print_tables(workload, &measure(workload, options)?);
    }
    Ok(())
}

/// All shapes and peers once per round. The rows of each shape.
fn measure(workload: &Workload, options: &Options) -> Result<Vec<Vec<Row>>, String> {
    let shapes = workload.shapes.iter();
    let jobs: Vec<_> = shapes
        .flat_map(|shape| {
            let peers = workload.peers.iter();
            peers.map(|peer| job(workload, peer.name, shape.name, options.storm))
        })
        .collect();
    let mut medians = medians_of(options.rounds, &jobs)?.into_iter();
    let mut rows = || {
        let peers = workload.peers.iter().zip(medians.by_ref());
        peers
            .map(|(peer, figures)| Row {
                name: peer.name,
                figures,
            })
            .collect()
    };
    Ok(workload.shapes.iter().map(|_| rows()).collect())
}

pub(crate) fn job(workload: &Workload, peer: &str, shape: &str, storm: usize) -> Job {
    let storm = storm.to_string();
    let args = ["--child", workload.name, peer, shape, "--storm", &storm];
    Job {
        name: format!("{}, {shape}: {peer}", workload.name),
        args: args.map(String::from).to_vec(),
    }
}

/// One table with a column for each shape, for each figure that is the same thing throughout; else one for each shape.
fn print_tables(workload: &Workload, found: &[Vec<Row>]) {
    if workload.kind == Kind::Storm {
        for rows in found {
            println!("{}", table(workload.columns, rows));
        }
        return;
    }
    for (figure, (heading, digits)) in workload.columns.iter().enumerate() {
        let columns: Vec<_> = workload
            .shapes
            .iter()
            .map(|shape| (shape.name, *digits))
            .collect();
        let rows: Vec<_> = workload
            .peers
            .iter()
            .enumerate()
            .map(|(at, peer)| Row {
                name: peer.name,
                figures: found.iter().map(|rows| rows[at].figures[figure]).collect(),
            })
            .collect();
        println!("{heading}:\n");
        println!("{}", table(&columns, &rows));
        if figure == 0 && workload.kind == Kind::Time && rows.len() > 1 {
            let multiples: Vec<_> = columns.iter().map(|(name, _)| (*name, 2)).collect();
            println!("As multiples of {}:\n", rows[0].name);
            println!("{}", table(&multiples, &ratios(&rows)));
        }
    }
}
