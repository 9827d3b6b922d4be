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
//!
//! A peer that fails, or takes too long, is reported, and the others go on. Before each job a line
//! on standard error says `job 3 of 90: ..`, so that whoever called can show how far it is.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rounds::{Column, Job};

/// Peers that are measured alternately, round after round.
pub(crate) struct Group {
    pub(crate) rounds: usize,
    /// How long one job may take.
    pub(crate) limit: Duration,
    pub(crate) cases: Vec<Case>,
}

/// One peer, at one workload, in one shape.
pub(crate) struct Case {
    pub(crate) workload: &'static str,
    /// What is special about it, in words; empty when nothing is.
    pub(crate) shape: String,
    /// How many timers; of each thread, where each has its own.
    pub(crate) n: usize,
    pub(crate) threads: usize,
    pub(crate) peer: &'static str,
    /// Whether it is this crate's, which must not fail.
    pub(crate) ours: bool,
    pub(crate) columns: &'static [Column],
    pub(crate) job: Job,
}

pub(crate) struct Results {
    bench: &'static str,
    file: File,
}

impl Results {
    pub(crate) fn create(bench: &'static str, path: &str) -> Result<Self, String> {
        let file = File::create(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(Self { bench, file })
    }

    pub(crate) fn about(&mut self, workload: &str, text: &str) -> Result<(), String> {
        self.line(json!({ "kind": "about", "workload": workload, "text": text }))
    }

    pub(crate) fn peer(&mut self, peer: &str, how: &str) -> Result<(), String> {
        self.line(json!({ "kind": "peer", "peer": peer, "how": how }))
    }

    /// Runs all of them, and writes what they find when a group is done.
    ///
    /// # Errors
    ///
    /// When one of ours failed; the others were measured all the same.
    pub(crate) fn run(&mut self, groups: &[Group]) -> Result<(), String> {
        let jobs: usize = groups.iter().map(|g| g.rounds * g.cases.len()).sum();
        let mut job = 0;
        let mut failed = Vec::new();
        for group in groups {
            let mut found = vec![Ok(Vec::new()); group.cases.len()];
            for _ in 0..group.rounds {
                for (case, found) in group.cases.iter().zip(&mut found) {
                    job += 1;
                    eprintln!("job {job} of {jobs}: {}", case.job.name);
                    if let Ok(rounds) = found {
                        match child(&case.job, case.columns.len(), group.limit) {
                            Ok(figures) => rounds.push(figures),
                            Err(error) => *found = Err(error),
                        }
                    }
                }
            }
            for (case, found) in group.cases.iter().zip(found) {
                if let (true, Err(error)) = (case.ours, &found) {
                    failed.push(format!("{}: {error}", case.job.name));
                }
                self.found(case, found)?;
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(failed.join("\n"))
    }

    fn found(&mut self, case: &Case, found: Result<Vec<Vec<f64>>, String>) -> Result<(), String> {
        let common = json!({
            "workload": case.workload,
            "shape": case.shape,
            "n": case.n,
            "threads": case.threads,
            "peer": case.peer,
            "ours": case.ours,
        });
        let with = |rest: Value| {
            let mut line = common.clone();
            for (name, value) in rest.as_object().into_iter().flatten() {
                line[name] = value.clone();
            }
            line
        };
        let rounds = match found {
            Ok(rounds) => rounds,
            Err(error) => return self.line(with(json!({ "kind": "failure", "error": error }))),
        };
        for (at, (heading, _)) in case.columns.iter().enumerate() {
            let (figure, unit) = heading.rsplit_once(", ").unwrap_or((heading, ""));
            let values: Vec<_> = rounds.iter().map(|figures| figures[at]).collect();
            self.line(with(json!({
                "kind": "figure", "figure": figure, "unit": unit, "values": values,
            })))?;
        }
        Ok(())
    }

    fn line(&mut self, mut line: Value) -> Result<(), String> {
        line["bench"] = self.bench.into();
        writeln!(self.file, "{line}").map_err(|error| format!("writing results: {error}"))
    }
}

/// Has one job done in a fresh process, and reads what it found: the last line it prints.
fn child(job: &Job, figures: usize, limit: Duration) -> Result<Vec<f64>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(&job.args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let Some(status) = wait(&mut child, limit)? else {
        return Err(format!("took longer than {} s", limit.as_secs()));
    };
    if !status.success() {
        return Err(format!("{status}: {}", last_words(&mut child)));
    }
    let mut printed = String::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    stdout
        .read_to_string(&mut printed)
        .map_err(|error| error.to_string())?;
    let line = printed.lines().last().unwrap_or_default();
    let found: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
    match found {
        // Some workloads find more than is told of.
        Ok(found) if found.len() >= figures => Ok(found),
        Ok(_) | Err(_) => Err(format!("{figures} figures were expected, not {line:?}")),
    }
}

/// Nothing when it took longer than `limit`; it is ended then.
///
/// What a job prints fits into a pipe.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>, String> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if began.elapsed() > limit {
            let ended = child.kill().and_then(|()| child.wait());
            return ended.map(|_| None).map_err(|error| error.to_string());
        }
        thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(100));
    }
}

/// What a process that failed said in the end: the message of a panic, or its last line.
fn last_words(child: &mut Child) -> String {
    let mut said = String::new();
    if let Some(stderr) = &mut child.stderr {
        // Bytes that are no text end the message early.
        let _ = stderr.read_to_string(&mut said);
    }
    let lines: Vec<_> = said.lines().filter(|line| !line.is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    let at = panic.map_or(lines.len().saturating_sub(1), |at| at + 1);
    lines.get(at).map_or_else(String::new, ToString::to_string)
}
