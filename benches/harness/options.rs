//! The command line. What asks for neither tables nor JSON is Criterion's to read.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// What is wanted.
pub(crate) struct Options {
    pub(crate) form: Form,
    /// Whether tables are printed in the end: true also in a process that measures for them.
    pub(crate) table: bool,
    /// The same of JSON.
    pub(crate) json: bool,
    /// Whether also what takes long is measured.
    pub(crate) full: bool,
    pub(crate) rounds: Option<usize>,
    /// The workloads, by name; all of them when there is none.
    only: Vec<String>,
    /// What the options of the bench itself say.
    pub(crate) numbers: BTreeMap<String, usize>,
    /// The command line as it is, for the processes that measure.
    pub(crate) args: Vec<String>,
}

pub(crate) enum Form {
    /// Criterion; `quick` when only a test that everything runs is wanted.
    Sample {
        quick: bool,
    },
    Table,
    /// Into this file.
    Json(String),
    /// One job of these, in this process.
    Child(Child),
}

/// One peer, at one workload, in one of its shapes.
pub(crate) struct Child {
    pub(crate) workload: String,
    pub(crate) peer: String,
    pub(crate) shape: usize,
}

impl Options {
    /// Reads `args`, of which `numbers` are the bench's own.
    pub(crate) fn parse(
        args: Vec<String>,
        numbers: &[(&str, RangeInclusive<usize>)],
    ) -> Result<Self, String> {
        let has = |flag: &str| args.iter().any(|arg| arg == flag);
        let mut options = Self {
            // As Criterion decides it: `cargo test` passes no `--bench`.
            form: Form::Sample {
                quick: !has("--bench") || has("--test"),
            },
            table: has("--table"),
            json: has("--json"),
            full: false,
            rounds: None,
            only: Vec::new(),
            numbers: BTreeMap::new(),
            args: args.clone(),
        };
        if !options.table && !options.json {
            return Ok(options);
        }
        let mut child = None;
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                "--bench" => {}
                "--table" => options.form = Form::Table,
                "--json" => options.form = Form::Json(parsed(arg, rest.next())?),
                "--full" => options.full = true,
                "--rounds" => options.rounds = Some(within(arg, rest.next(), &(1..=1_000))?),
                "--only" => options.only.push(parsed(arg, rest.next())?),
                "--child" => {
                    child = Some(Child {
                        workload: parsed(arg, rest.next())?,
                        peer: parsed(arg, rest.next())?,
                        shape: parsed(arg, rest.next())?,
                    });
                }
                own => {
                    let known = numbers.iter().find(|(option, _)| *option == own);
                    let (_, range) = known.ok_or_else(|| format!("{arg}: no such option here"))?;
                    let number = within(arg, rest.next(), range)?;
                    options.numbers.insert(arg.clone(), number);
                }
            }
        }
        if let Some(child) = child {
            options.form = Form::Child(child);
        }
        Ok(options)
    }

    /// Whether a workload is named, or nothing is.
    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.only.is_empty() || self.names(workload)
    }

    pub(crate) fn names(&self, workload: &str) -> bool {
        self.only.iter().any(|name| name == workload)
    }

    /// How long one job may take: so long, and the seconds that are asked for.
    pub(crate) fn limit(&self) -> Duration {
        let usual = if self.full { 600 } else { 180 };
        let asked = self.numbers.get("--seconds").copied().unwrap_or(0);
        Duration::from_secs(usual + asked as u64)
    }
}

fn within(
    option: &str,
    value: Option<&String>,
    range: &RangeInclusive<usize>,
) -> Result<usize, String> {
    let value = parsed(option, value)?;
    if range.contains(&value) {
        return Ok(value);
    }
    let (from, to) = (range.start(), range.end());
    Err(format!("{option}: from {from} to {to}, not {value}"))
}

fn parsed<T: FromStr>(option: &str, value: Option<&String>) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("{option} needs a value"))?;
    value
        .parse()
        .map_err(|_| format!("{option}: {value:?} makes no sense"))
}
