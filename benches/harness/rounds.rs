//! Rounds of processes that measure, and what came of them.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Options, Peer, Shape, Suite, Workload};

/// The figures of each round; or why there are none.
pub(crate) type Outcome = Result<Vec<Vec<f64>>, String>;

/// What was found of a workload.
pub(crate) struct Found<'a, S: 'static> {
    pub(crate) workload: &'a Workload<S>,
    pub(crate) measured: Vec<Measured<S>>,
}

/// What was found in one shape.
pub(crate) struct Measured<S> {
    pub(crate) shape: S,
    pub(crate) rounds: usize,
    /// Of each peer, in the order of the workload.
    pub(crate) outcomes: Vec<Outcome>,
}

impl<S> Measured<S> {
    /// Of each peer the medians of its figures. Nothing of those that failed.
    pub(crate) fn medians(&self) -> impl Iterator<Item = Option<Vec<f64>>> {
        let outcomes = self.outcomes.iter();
        outcomes.map(|outcome| outcome.as_deref().ok().map(medians))
    }
}

impl<S: Shape> Found<'_, S> {
    /// The median of one figure of a peer, if that was measured.
    pub(crate) fn figure(&self, shape: &str, peer: &str, column: usize) -> Option<f64> {
        let mut measured = self.measured.iter();
        let measured = measured.find(|measured| measured.shape.name() == shape)?;
        let mut peers = self.workload.peers.iter();
        let at = peers.position(|known| known.name == peer)?;
        measured.medians().nth(at)??.get(column).copied()
    }
}

/// Measures all that is wanted. Calls `each` with a workload when that is done.
///
/// A peer that fails, or takes too long, is left out from then on, and the others go on. Before each
/// job a line on standard error says `job 3 of 90: ..`, so that whoever called can show how
/// far it is.
///
/// # Errors
///
/// When one of ours failed, once all the others were measured; and those of `each`.
pub(crate) fn measure_all<'a, S: Shape>(
    suite: &Suite<S>,
    options: &Options,
    mut each: impl FnMut(Found<'a, S>) -> Result<(), String>,
) -> Result<(), String> {
    let plan: Vec<_> = suite
        .wanted(options)
        .map(|workload| {
            let shapes = (workload.shapes)(options).into_iter();
            let rounds = |shape: &S| {
                let usual = (suite.rounds)(options, shape.n());
                options.rounds.unwrap_or(usual)
            };
            let shapes: Vec<_> = shapes.map(|shape| (rounds(&shape), shape)).collect();
            (workload, shapes)
        })
        .collect();
    let jobs: usize = plan
        .iter()
        .flat_map(|(workload, shapes)| {
            let peers = workload.peers.len();
            shapes.iter().map(move |(rounds, _)| rounds * peers)
        })
        .sum();
    let mut job = 0;
    let mut failed = Vec::new();
    for (workload, shapes) in plan {
        let mut measured = Vec::new();
        for (at, (rounds, shape)) in shapes.into_iter().enumerate() {
            let mut outcomes = vec![Ok(Vec::new()); workload.peers.len()];
            for _ in 0..rounds {
                for (peer, outcome) in workload.peers.iter().zip(&mut outcomes) {
                    job += 1;
                    let name = named(workload, &shape, peer);
                    eprintln!("job {job} of {jobs}: {name}");
                    let Ok(found) = outcome else {
                        continue;
                    };
                    let args = ["--child", workload.name, peer.name, &at.to_string()];
                    match child(options, args, workload.columns.len()) {
                        Ok(figures) => found.push(figures),
                        Err(error) => {
                            if peer.ours {
                                failed.push(format!("{name}: {error}"));
                            }
                            *outcome = Err(error);
                        }
                    }
                }
            }
            measured.push(Measured {
                shape,
                rounds,
                outcomes,
            });
        }
        if !measured.is_empty() {
            each(Found { workload, measured })?;
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(failed.join("\n"))
}

fn named<S: Shape>(workload: &Workload<S>, shape: &S, peer: &Peer<S>) -> String {
    format!("{}, {}: {}", workload.name, shape.name(), peer.name)
}

/// The median of each figure over the rounds.
fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    let figures = rounds.first().map_or(0, Vec::len);
    (0..figures)
        .map(|figure| {
            let mut values: Vec<f64> = rounds.iter().map(|round| round[figure]).collect();
            values.sort_unstable_by(f64::total_cmp);
            f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
        })
        .collect()
}

/// Has one job done in a fresh process, and reads what it found: the last line it prints. What else it
/// prints is passed on.
fn child(options: &Options, args: [&str; 4], figures: usize) -> Result<Vec<f64>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(&options.args)
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let limit = options.limit();
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
    let (said, line) = printed
        .trim_end()
        .rsplit_once('\n')
        .unwrap_or(("", &printed));
    if !said.is_empty() {
        eprintln!("{said}");
    }
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
