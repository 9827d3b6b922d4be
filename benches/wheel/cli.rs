//! The command line. What is not about the table is Criterion's to read.

use std::str::FromStr;

/// What is wanted.
pub(crate) enum Command {
    /// Criterion; `quick` when only a test that everything runs is wanted.
    Sample {
        quick: bool,
    },
    Table(Options),
    /// One job of the table, in this process.
    Child {
        job: String,
        n: usize,
        start: u64,
    },
}

/// Which tables are wanted.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    pub(crate) sizes: Vec<usize>,
    pub(crate) starts: Vec<u64>,
}

impl Default for Options {
    /// Both sizes; a start at zero, and two such that a carry into the fourth and into the
    /// fifth digit of the time, to the base 64, happens while the timers run.
    fn default() -> Self {
        Self {
            rounds: 3,
            sizes: vec![10_000, 1_000_000],
            starts: vec![0, (1 << 18) - 30_000, (1 << 24) - 30_000],
        }
    }
}

pub(crate) fn command(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let args: Vec<String> = args.collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let table = has("--table");
    if !table && !has("--child") {
        // As Criterion decides it: `cargo test` passes no `--bench`.
        let quick = !has("--bench") || has("--test");
        return Ok(Command::Sample { quick });
    }
    let mut options = Options::default();
    let mut job = String::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--table" | "--bench" => {}
            "--child" => job = value(arg, args.next())?,
            "--rounds" => options.rounds = value(arg, args.next())?,
            "--n" => options.sizes = vec![value(arg, args.next())?],
            "--start" => options.starts = vec![value(arg, args.next())?],
            _ => return Err(format!("{arg}: no such option beside --table")),
        }
    }
    check(&options)?;
    if table {
        return Ok(Command::Table(options));
    }
    Ok(Command::Child {
        job,
        n: options.sizes[0],
        start: options.starts[0],
    })
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
