//! The command line. What is not about the table is Criterion's to read.

use std::str::FromStr;

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
        options: Options,
    },
    /// One line of the table at one shape, in this process.
    Child {
        workload: String,
        peer: String,
        shape: String,
        churn: usize,
    },
}

/// Which tables are wanted.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    /// The workloads, by name; all of them when there is none.
    pub(crate) only: Vec<String>,
    /// How many timers come and go where memory is looked after.
    pub(crate) churn: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rounds: 3,
            only: Vec::new(),
            churn: 2_000_000,
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
    let (mut child, mut json) = (Vec::new(), None);
    if has("--json") && !has("--full") {
        options.rounds = 1;
    }
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--table" | "--bench" | "--full" => {}
            "--json" => json = Some(parsed(arg, args.next())?),
            "--child" => child = args.by_ref().take(3).cloned().collect(),
            "--rounds" => options.rounds = at_least_one(arg, args.next())?,
            "--churn" => options.churn = at_least_one(arg, args.next())?,
            "--only" => options.only.push(parsed(arg, args.next())?),
            _ => return Err(format!("{arg}: no such option here")),
        }
    }
    if table {
        return Ok(Command::Table(options));
    }
    if let Some(path) = json {
        return Ok(Command::Json { path, options });
    }
    let child: Result<[String; 3], _> = child.try_into();
    let [workload, peer, shape] = child.map_err(|_| "--child WORKLOAD PEER SHAPE")?;
    Ok(Command::Child {
        workload,
        peer,
        shape,
        churn: options.churn,
    })
}

fn at_least_one(option: &str, value: Option<&String>) -> Result<usize, String> {
    let value = parsed(option, value)?;
    if value == 0 {
        return Err(format!("{option}: at least one is needed"));
    }
    Ok(value)
}

fn parsed<T: FromStr>(option: &str, value: Option<&String>) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("{option} needs a value"))?;
    value
        .parse()
        .map_err(|_| format!("{option}: {value:?} makes no sense"))
}
