//! What is measured, for a program to read.

use std::time::Duration;

use crate::cli::Options;
use crate::results::{Case, Group, Results};
use crate::suite::{Contender, Shape, WORKLOADS, Workload};
use crate::table::job;

/// How long one job may take.
const LIMIT: Duration = Duration::from_secs(180);

/// Measures everything, and writes it into a file as lines of JSON.
pub(crate) fn write(path: &str, options: &Options) -> Result<(), String> {
    let mut results = Results::create("typed", path)?;
    for (peer, how) in HOW {
        results.peer(peer, how)?;
    }
    let mut groups = Vec::new();
    let wanted = |workload: &&Workload| match &options.only[..] {
        [] => options.full || !LEFT_TO_FULL.contains(&workload.name),
        only => only.iter().any(|name| name == workload.name),
    };
    for workload in WORKLOADS.iter().filter(wanted) {
        results.about(workload.name, workload.about)?;
        for shape in workload.shapes {
            let peers = workload.peers.iter();
            groups.push(Group {
                rounds: options.rounds,
                limit: LIMIT,
                cases: peers
                    .map(|peer| case(workload, shape, peer, options))
                    .collect(),
            });
        }
    }
    results.run(&groups)
}

/// These take a minute.
const LEFT_TO_FULL: [&str; 2] = ["lease", "renew"];

fn case(workload: &Workload, shape: &Shape, peer: &Contender, options: &Options) -> Case {
    // What does the same thing is compared, and nothing else.
    let does = match (workload.name, peer.name) {
        ("bytes", name) if name.contains("eases") => "a lease",
        ("bytes", "OneTimeCodes") => "a subject with a code",
        ("bytes", _) => "a session",
        ("code", name) => name,
        _ => "",
    };
    Case {
        workload: workload.name,
        shape: does.into(),
        n: shape.n,
        threads: shape.threads,
        peer: peer.name,
        ours: OURS.iter().any(|ours| peer.name.starts_with(ours))
            || (workload.name == "code" && peer.name != "the two digests alone"),
        columns: workload.columns,
        job: job(workload, peer.name, shape.name, options.storm),
    }
}

/// How the names of ours begin.
const OURS: [&str; 3] = ["Session", "Leases", "OneTimeCodes"];

const HOW: [(&str, &str); 6] = [
    (
        "Sessions, SessionStore, Leases, OneTimeCodes",
        "on `Timers` with its thread, and real clocks unless it says otherwise",
    ),
    (
        "moka",
        "`sync::Cache`, with `time_to_idle`, and with an `Expiry` for each entry",
    ),
    ("mini-moka", "`sync::Cache` with `time_to_idle`"),
    (
        "tower-sessions MemoryStore",
        "it has no touch: a session is loaded, and saved with another date",
    ),
    (
        "Mutex<HashMap + BinaryHeap>",
        "what a textbook has: dead entries of the heap are passed over when they come up",
    ),
    (
        "papaya alone",
        "the map under `Leases`, without deadlines: what a lease costs at least",
    ),
];
