//! The command line. What is not about the table is Criterion's to read.

use std::str::FromStr;

use crate::suite::STARTS;

/// What is wanted.
pub(crate) enum Command {
    /// Criterion; `quick` when only a test that everything runs is wanted.
    Sample {
        quick: bool,
    },
    Table(Options),
    /// The same in lines of JSON, into a file.
    Json {
        path: String,
        effort: Effort,
        only: Vec<String>,
    },
    /// One job of these, in this process.
    Child {
        workload: String,
        peer: String,
        n: usize,
        start: u64,
    },
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// What takes minutes.
    Reduced,
    /// Up to ten million timers, and more rounds.
    Full,
}

/// Which tables are wanted.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    pub(crate) sizes: Vec<usize>,
    pub(crate) starts: Vec<u64>,
    /// The workloads, by name; all of them when there is none.
    pub(crate) only: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rounds: 3,
            sizes: vec![10_000, 1_000_000],
            starts: STARTS.to_vec(),
            only: Vec::new(),
        }
    }
}

pub(crate) fn command(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let args: Vec<String> = args.collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let table = has("--table");
    if !table && !has("--child") && !has("--json") {
        // As Criterion decides it: `cargo test` passes no `--bench`.
        let quick = !has("--bench") || has("--test");
        return Ok(Command::Sample { quick });
    }
    let mut options = Options::default();
    let (mut child, mut json, mut effort) = (None, None, Effort::Reduced);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--table" | "--bench" => {}
            "--child" => child = Some((value(arg, args.next())?, value(arg, args.next())?)),
            "--json" => json = Some(value(arg, args.next())?),
            "--full" => effort = Effort::Full,
            "--only" => options.only.push(value(arg, args.next())?),
            "--rounds" => options.rounds = value(arg, args.next())?,
            "--n" => options.sizes = vec![value(arg, args.next())?],
            "--start" => options.starts = vec![value(arg, args.next())?],
            _ => return Err(format!("{arg}: no such option here")),
        }
    }
    check(&options)?;
    if let Some((workload, peer)) = child {
        return Ok(Command::Child {
            workload,
            peer,
            n: options.sizes[0],
            start: options.starts[0],
        });
    }
    if let Some(path) = json {
        let only = options.only;
        return Ok(Command::Json { path, effort, only });
    }
    Ok(Command::Table(options))
}

fn value<T: FromStr>(option: &str, value: Option<&String>) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("{option} needs a value"))?;
    value
        .parse()
        .map_err(|_| format!("{option}: {value:?} makes no sense"))
}

fn check(options: &Options) -> Result<(), String> {
    if options.rounds == 0 {
        return Err("--rounds: at least one is needed".into());
    }
    // A timer's value is its number, and some peers name it by 32 bits.
    if let Some(n) = options
        .sizes
        .iter()
        .find(|n| **n == 0 || u32::try_from(**n).is_err())
    {
        return Err(format!("--n: from 1 to {}, not {n}", u32::MAX));
    }
    // One of the peers skips to its start by 32 bits of milliseconds.
    if let Some(start) = options
        .starts
        .iter()
        .find(|start| u32::try_from(**start).is_err())
    {
        return Err(format!("--start: at most {}, not {start}", u32::MAX));
    }
    Ok(())
}
