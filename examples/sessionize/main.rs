//! Turns a web server's access log into visitor sessions, with one timer per open session.
//!
//! ```text
//! cargo run --release --example sessionize -- examples/data/access.log
//! cargo run --release --example sessionize -- --help
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `args` | the command line |
//! | `input` | file or standard input, plain or gzip, to lines |
//! | `log` | a line to a hit: who, with what, when |
//! | `date` | the log's dates to seconds, and back |
//! | `sessions` | hits to sessions: the wheel at work |
//! | `summary` | what is worth knowing about the sessions and the log |
//! | `report` | the summary for people |
//! | `escape` | what the log says, made safe for a terminal |
//! | `export` | the summary as JSON, the sessions as CSV |

mod args;
mod date;
mod escape;
mod export;
mod input;
mod log;
mod report;
mod sessions;
mod summary;

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Instant;

use args::{Command, Options, Output};
use input::{Input, Line};
use log::Malformed;
use sessions::{Ended, Sessions};
use summary::Summary;

/// Why there is no result.
enum Failure {
    Usage(String),
    Input(String, io::Error),
    Output(io::Error),
}

fn main() -> ExitCode {
    let result = match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Run(options)) => run(&options),
        Ok(Command::Help) => print(args::HELP),
        Ok(Command::Version) => print(args::VERSION),
        Err(message) => Err(Failure::Usage(message)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            tell(&failure);
            ExitCode::from(2)
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(Failure::Output)
}

/// Says something on standard error, if anybody still listens there.
fn tell(message: &dyn fmt::Display) {
    let _ = writeln!(io::stderr(), "sessionize: {message}");
}

fn run(options: &Options) -> Result<(), Failure> {
    let stdout = io::stdout();
    // Rows and a progress bar on one terminal would overwrite each other.
    let progress = options.output != Output::Csv || !stdout.is_terminal();
    let input = Input::open(&options.file, progress)
        .map_err(|error| Failure::Input(options.input_name(), error))?;
    let mut out = BufWriter::new(stdout.lock());
    let summary = match options.output {
        Output::Csv => {
            export::csv_header(&mut out).map_err(Failure::Output)?;
            digest(options, input, |ended| export::csv_row(&mut out, ended))?
        }
        Output::Text | Output::Json => digest(options, input, |_| Ok(()))?,
    };
    match options.output {
        Output::Text => report::text(&mut out, options, &summary),
        Output::Json => export::json(&mut out, options, &summary),
        Output::Csv => Ok(()),
    }
    .and_then(|()| out.flush())
    .map_err(Failure::Output)?;
    if options.output == Output::Csv && summary.malformed > 0 {
        tell(&report::malformed_note(&summary));
    }
    Ok(())
}

/// Reads the whole log; hands each session to `ended` as it ends.
fn digest(
    options: &Options,
    mut input: Input,
    mut ended: impl FnMut(&Ended<'_>) -> io::Result<()>,
) -> Result<Summary, Failure> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut sessions = Sessions::new(options.limits);
    while let Some(line) = input
        .next_line()
        .map_err(|error| Failure::Input(options.input_name(), error))?
    {
        let hit = match line {
            Line::Whole(line) => log::parse(line),
            Line::TooLong => Err(Malformed::TooLong),
        };
        match hit {
            Ok(hit) => {
                summary.hit(hit.at);
                sessions.hit(&hit, |session| {
                    summary.session(session);
                    ended(session)
                })
            }
            Err(reason) => {
                summary.malformed(reason);
                Ok(())
            }
        }
        .map_err(Failure::Output)?;
    }
    let counts = sessions.finish(|session| {
        summary.session(session);
        ended(session)
    });
    summary.counts = counts.map_err(Failure::Output)?;
    summary.elapsed = started.elapsed();
    Ok(summary)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => write!(f, "{message}\nTry --help."),
            Self::Input(name, error) => write!(f, "cannot read {name}: {error}"),
            Self::Output(error) => write!(f, "cannot write the result: {error}"),
        }
    }
}
