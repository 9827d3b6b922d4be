//! What all benches share: options, rounds of processes, tables, JSON, Criterion.
//!
//! A bench says what it measures, in a [`Suite`], and calls [`run`]. It is called so:
//!
//! ```text
//! cargo bench --bench NAME                           Criterion: all that is about time
//! cargo bench --bench NAME -- rearm                  Criterion: some of it
//! cargo bench --bench NAME -- --table                Markdown tables
//! cargo bench --bench NAME -- --table --rounds 5 --only life --only burst
//! cargo bench --bench NAME -- --json FILE [--full]   a line of JSON for each figure
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `options` | the command line |
//! | `rounds` | rounds of processes, and what came of them |
//! | `table` | Markdown |
//! | `json` | lines of JSON |
//! | `sampled` | Criterion, and everything once to see that it runs |
//!
//! Beside them lie, for whoever needs them, `threads` (threads that begin together), `resident`
//! (memory of this process) and `interrupted` (whether the system left the thread alone).
//!
//! Every figure of a table, and of JSON, is measured in a process of its own: peers by turns, round
//! after round, so that a slow minute of the machine hits all of them.

mod json;
mod options;
mod rounds;
mod sampled;
mod table;

use std::ops::RangeInclusive;
use std::process::ExitCode;

pub(crate) use options::Options;
use options::{Child, Form};
pub(crate) use rounds::Found;

/// A heading with its unit behind a comma, and how many digits after the point its figures get.
pub(crate) type Column = (&'static str, usize);

/// All that a bench measures.
pub(crate) struct Suite<S: 'static> {
    pub(crate) bench: &'static str,
    pub(crate) workloads: &'static [Workload<S>],
    /// For Criterion alone: what other workloads have among their figures.
    pub(crate) parts: &'static [Workload<S>],
    /// How each peer is used.
    pub(crate) how: &'static [(&'static str, &'static str)],
    /// The options of its own, each with a number, and from where to where that makes sense.
    pub(crate) numbers: &'static [(&'static str, RangeInclusive<usize>)],
    /// How often each peer is measured with so many timers, unless the options say it.
    pub(crate) rounds: fn(&Options, usize) -> usize,
    /// What is printed below all tables.
    pub(crate) below: fn(&[Found<'_, S>]),
}

/// What is done to each peer.
pub(crate) struct Workload<S: 'static> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What its figures are.
    pub(crate) columns: &'static [Column],
    /// Who takes part, this crate first.
    pub(crate) peers: &'static [Peer<S>],
    /// In what settings.
    pub(crate) shapes: fn(&Options) -> Vec<S>,
    /// Whether nanoseconds per operation come first, so that Criterion can sample it.
    pub(crate) sampled: bool,
}

/// One of those that are compared.
#[derive(Debug)]
pub(crate) struct Peer<S> {
    pub(crate) name: &'static str,
    /// What it does here, where not all of the workload do the same: like is compared with like.
    pub(crate) does: &'static str,
    /// Whether it is this crate's, which must not fail.
    pub(crate) ours: bool,
    /// What is found: a figure for each column, and maybe more.
    pub(crate) measure: fn(&S) -> Vec<f64>,
}

/// What a workload is given: how much of what.
pub(crate) trait Shape: Copy {
    /// What a table calls it.
    fn name(&self) -> String;

    /// What is special about it beside how many timers and threads there are; mostly nothing.
    fn special(&self) -> String {
        String::new()
    }

    /// How many timers; of each thread, where each has its own.
    fn n(&self) -> usize;

    fn threads(&self) -> usize {
        1
    }

    /// Small enough to see that everything runs.
    fn quick(&self) -> Self;

    /// The same with so many passes, and how many operations one has: for Criterion.
    fn passes(&self, _passes: usize) -> (Self, usize) {
        unreachable!("no workload of this shape is sampled")
    }
}

// === impl Peer ===

impl<S> Peer<S> {
    pub(crate) const fn ours(name: &'static str, measure: fn(&S) -> Vec<f64>) -> Self {
        Self {
            name,
            does: "",
            ours: true,
            measure,
        }
    }

    pub(crate) const fn other(name: &'static str, measure: fn(&S) -> Vec<f64>) -> Self {
        Self {
            ours: false,
            ..Self::ours(name, measure)
        }
    }
}

// === impl Suite ===

impl<S: Shape> Suite<S> {
    /// What is measured in tables and JSON, of what the options name.
    fn wanted(&self, options: &Options) -> impl Iterator<Item = &'static Workload<S>> {
        let wanted = |workload: &&Workload<S>| options.wants(workload.name);
        self.workloads.iter().filter(wanted)
    }

    /// Does one job, and prints what it found on one line.
    fn measure(&self, options: &Options, child: &Child) -> Result<(), String> {
        let missing = |what: &str| format!("{what}: no such thing is measured");
        let mut workloads = self.workloads.iter();
        let workload = workloads
            .find(|known| known.name == child.workload)
            .ok_or_else(|| missing(&child.workload))?;
        let mut peers = workload.peers.iter();
        let peer = peers
            .find(|known| known.name == child.peer)
            .ok_or_else(|| missing(&child.peer))?;
        let shapes = (workload.shapes)(options);
        let shape = shapes
            .get(child.shape)
            .ok_or_else(|| missing("the shape"))?;
        let figures = (peer.measure)(shape);
        let figures: Vec<_> = figures.iter().map(f64::to_string).collect();
        println!("{}", figures.join(" "));
        Ok(())
    }
}

/// Does what the command line asks for.
pub(crate) fn run<S: Shape>(suite: &Suite<S>) -> ExitCode {
    let args = std::env::args().skip(1).collect();
    let done = Options::parse(args, suite.numbers).and_then(|options| match &options.form {
        Form::Sample { quick } => sampled::run(suite, &options, *quick),
        Form::Table => table::print(suite, &options),
        Form::Json(path) => json::write(suite, &options, path),
        Form::Child(child) => suite.measure(&options, child),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", suite.bench);
            ExitCode::FAILURE
        }
    }
}
