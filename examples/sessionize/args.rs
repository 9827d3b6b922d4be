//! The command line.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;

use tickwheel::Ticks;

use crate::escape::escaped;
use crate::sessions::Limits;

pub(crate) const VERSION: &str = concat!("sessionize ", env!("CARGO_PKG_VERSION"), "\n");

pub(crate) const HELP: &str = "\
Turns a web server's access log into visitor sessions.

Usage: sessionize [OPTIONS] FILE

FILE is a log in the Common or Combined Log Format, plain or gzip; - is standard
input. A visitor is an address and a user agent. Time is the log's own: a line
older than the newest one before it counts as happening at that newest time.

Options:
  --idle SECONDS      a session ends after this long without a hit [1800]
  --absolute SECONDS  a session ends when it is this old [43200]
  --json              print the summary as one JSON object
  --csv               print the sessions, one per row, in the order they end:
                      address,user_agent,start,end,hits,seconds,reason
                      (start: first hit; end: when the session ended, which is
                      after its last hit; seconds: from first hit to last)
  -h, --help          print this
  -V, --version       print the version

Lines that make no sense are counted, never fatal. The exit status is 2 if the
log cannot be read or the command line makes no sense, otherwise 0.
";

/// What is wanted.
pub(crate) enum Command {
    Run(Options),
    Help,
    Version,
}

pub(crate) struct Options {
    pub(crate) file: OsString,
    pub(crate) limits: Limits,
    pub(crate) output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Text,
    Json,
    Csv,
}

impl Options {
    /// What to call the input when talking about it; safe for a terminal.
    pub(crate) fn input_name(&self) -> String {
        if is_stdin(&self.file) {
            return "standard input".to_owned();
        }
        escaped(self.file.as_encoded_bytes())
    }
}

pub(crate) fn is_stdin(file: &OsStr) -> bool {
    file == "-"
}

/// Reads the arguments that follow the program's name.
///
/// # Errors
///
/// A message that says which argument is wrong and why.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let (mut idle, mut absolute) = (1_800, 43_200);
    let (mut json, mut csv, mut options_over) = (false, false, false);
    let mut file = None;
    while let Some(argument) = arguments.next() {
        let option = argument
            .to_str()
            .filter(|text| !options_over && text.starts_with('-'));
        let (name, value) = match option {
            None | Some("-") => {
                if file.replace(argument).is_some() {
                    return Err("more than one log: give one, or a concatenation on -".to_owned());
                }
                continue;
            }
            Some(option) => match option.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (option, None),
            },
        };
        match (name, value) {
            ("--", None) => options_over = true,
            ("-h" | "--help", None) => return Ok(Command::Help),
            ("-V" | "--version", None) => return Ok(Command::Version),
            ("--json", None) => json = true,
            ("--csv", None) => csv = true,
            ("--idle", value) => idle = seconds(name, value.or_else(|| arguments.next()))?,
            ("--absolute", value) => absolute = seconds(name, value.or_else(|| arguments.next()))?,
            ("--json" | "--csv" | "--help" | "--version", Some(_)) => {
                return Err(format!("{name} takes no value"));
            }
            _ => {
                return Err(format!(
                    "unknown option {}",
                    escaped(argument.as_encoded_bytes())
                ));
            }
        }
    }
    let output = match (json, csv) {
        (false, false) => Output::Text,
        (true, false) => Output::Json,
        (false, true) => Output::Csv,
        (true, true) => return Err("--json and --csv exclude each other".to_owned()),
    };
    let file = file.ok_or("no log given (- is standard input)")?;
    let limits = Limits {
        idle: Ticks::new(idle),
        absolute: Ticks::new(absolute),
    };
    Ok(Command::Run(Options {
        file,
        limits,
        output,
    }))
}

/// 32 bits are 136 years: no sum of a date and a limit comes near the tick that is never.
fn seconds(name: &str, value: Option<OsString>) -> Result<u64, String> {
    let value = value.ok_or_else(|| format!("{name} needs a number of seconds"))?;
    let number = value
        .to_str()
        .and_then(|text| text.parse::<NonZeroU32>().ok());
    number
        .map(|seconds| u64::from(seconds.get()))
        .ok_or_else(|| {
            let value = escaped(value.as_encoded_bytes());
            format!(
                "{name} needs a whole number of seconds from 1 to {}, not {value}",
                u32::MAX
            )
        })
}
