//! The command line.

/// What is wanted.
pub(crate) enum Command {
    /// A test that everything runs.
    Try,
    Table {
        rounds: usize,
        /// The workloads, by name; all of them when there is none.
        only: Vec<String>,
    },
    /// The same in lines of JSON, into a file.
    Json {
        path: String,
        rounds: usize,
        only: Vec<String>,
    },
    /// One figure of the table, in this process.
    Child { workload: String, peer: String },
}

pub(crate) fn command(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut table, mut rounds, mut only) = (false, 5, Vec::new());
    let mut json = None;
    let mut beside = None;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--table" => table = true,
            "--json" => json = Some(value()?),
            "--rounds" => {
                let value = value()?;
                rounds = match value.parse() {
                    Ok(rounds) if rounds > 0 => rounds,
                    _ => return Err(format!("{arg}: {value:?} makes no sense")),
                };
                beside = Some(arg);
            }
            "--only" => {
                only.push(value()?);
                beside = Some(arg);
            }
            "--child" => {
                return Ok(Command::Child {
                    workload: value()?,
                    peer: value()?,
                });
            }
            // Cargo's and the test harness's.
            _ => {}
        }
    }
    if let Some(path) = json {
        return Ok(Command::Json { path, rounds, only });
    }
    match (table, beside) {
        (true, _) => Ok(Command::Table { rounds, only }),
        (false, Some(arg)) => Err(format!("{arg} needs --table or --json")),
        (false, None) => Ok(Command::Try),
    }
}
