//! Results that a program reads: one line of JSON for each figure.
//!
//! Every line is an object with a `kind`:
//!
//! | kind | what it says |
//! |---|---|
//! | `about` | of a workload, what is done and what its figures are |
//! | `peer` | of a peer, how it is used here |
//! | `figure` | what was found, once per round |
//! | `failure` | that a peer did not do it, and why |

use std::fs::File;
use std::io::Write;

use serde_json::{Value, json};

use super::rounds::{Found, Measured, measure_all};
use super::{Options, Shape, Suite};

/// Measures everything, and writes it into a file.
pub(crate) fn write<S: Shape>(
    suite: &Suite<S>,
    options: &Options,
    path: &str,
) -> Result<(), String> {
    let mut file = File::create(path).map_err(|error| format!("{path}: {error}"))?;
    let mut line = |mut line: Value| {
        line["bench"] = suite.bench.into();
        writeln!(file, "{line}").map_err(|error| format!("{path}: {error}"))
    };
    for (peer, how) in suite.how {
        line(json!({ "kind": "peer", "peer": peer, "how": how }))?;
    }
    measure_all(suite, options, |found| {
        let workload = found.workload;
        line(json!({ "kind": "about", "workload": workload.name, "text": workload.about }))?;
        let measured = found.measured.iter();
        let mut lines = measured.flat_map(|measured| told(&found, measured));
        lines.try_for_each(&mut line)
    })
}

/// Of each peer a line for each figure, or one for its failure.
fn told<S: Shape>(found: &Found<'_, S>, measured: &Measured<S>) -> Vec<Value> {
    let Measured {
        shape, outcomes, ..
    } = measured;
    let mut lines = Vec::new();
    for (peer, outcome) in found.workload.peers.iter().zip(outcomes) {
        let special = if peer.does.is_empty() {
            shape.special()
        } else {
            peer.does.into()
        };
        let line = |kind: &str| {
            json!({
                "kind": kind,
                "workload": found.workload.name,
                "shape": special,
                "n": shape.n(),
                "threads": shape.threads(),
                "peer": peer.name,
                "ours": peer.ours,
            })
        };
        match outcome {
            Err(error) => {
                let mut line = line("failure");
                line["error"] = error.as_str().into();
                lines.push(line);
            }
            Ok(rounds) => {
                for (at, (heading, _)) in found.workload.columns.iter().enumerate() {
                    let (figure, unit) = heading.rsplit_once(", ").unwrap_or((heading, ""));
                    let values: Vec<_> = rounds.iter().map(|figures| figures[at]).collect();
                    let mut line = line("figure");
                    line["figure"] = figure.into();
                    line["unit"] = unit.into();
                    line["values"] = values.into();
                    lines.push(line);
                }
            }
        }
    }
    lines
}
