//! How late timers are, and what it costs: on the real clock, under load, at rest.
//!
//! ```text
//! cargo bench --bench lateness -- load --seconds 20     a million timers, 100,000 firings a second
//! cargo bench --bench lateness -- load --peer tokio     the same with tokio
//! cargo bench --bench lateness -- idle --seconds 10     a million far timers, and nothing to do
//! cargo bench --bench lateness -- soak --seconds 60     arms, cancels and moves from two threads
//! cargo bench --bench lateness -- --json FILE [--full]  the load of all peers, in lines of JSON
//! ```
//!
//! Without a subject it runs each of ours for a moment, to see that it works.
//!
//! Load: every timer is due ten seconds after it last was, at a time of its own that is not
//! rounded. Lateness is from that time to the beginning of the callback, or of the task's next
//! step, read on `Instant`. So of a tick of one millisecond half a tick is rounding. Only what was
//! due after one full round counts.

mod load;
mod measure;
mod rest;
#[path = "../wheel/results.rs"]
mod results;
#[path = "../wheel/rounds.rs"]
#[expect(
    dead_code,
    reason = "the tables of the other benches are not printed here"
)]
mod rounds;

use std::process::ExitCode;
use std::time::Duration;

use load::{load, load_tokio};
use rest::{idle, soak};
use results::{Case, Group, Results};
use rounds::{Column, Job};

/// How long after it fired a timer is due again.
const ROUND: Duration = Duration::from_secs(10);

struct Options {
    subject: String,
    peer: String,
    seconds: u64,
    timers: usize,
    /// Where the results of all peers go.
    json: Option<String>,
    full: bool,
    /// Whether another process reads what is found.
    child: bool,
}

fn main() -> ExitCode {
    let mut options = Options {
        subject: String::new(),
        peer: OURS.into(),
        seconds: 20,
        timers: 1_000_000,
        json: None,
        full: false,
        child: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("a value follows");
        match arg.as_str() {
            "--seconds" => options.seconds = value().parse().expect("a number of seconds"),
            "--timers" => options.timers = value().parse().expect("a number of timers"),
            "--peer" => options.peer = value(),
            "--json" => options.json = Some(value()),
            "--full" => options.full = true,
            "--child" => options.child = true,
            "--bench" | "--test" => {}
            subject => options.subject = subject.into(),
        }
    }
    if let Some(path) = &options.json {
        return match write(path, &options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("lateness: {error}");
                ExitCode::FAILURE
            }
        };
    }
    run(&options);
    ExitCode::SUCCESS
}

fn run(options: &Options) {
    match options.subject.as_str() {
        "load" => {
            let found = if options.peer == TOKIO {
                load_tokio(options)
            } else {
                load(options)
            };
            if options.child {
                let [p50, p99, p999, max] = found.quantiles;
                rounds::print(&[p50, p99, p999, max, found.percent]);
            }
        }
        "idle" => idle(options),
        "soak" => soak(options),
        _ => {
            let quick = Options {
                subject: String::new(),
                peer: String::new(),
                seconds: 0,
                timers: 1_000,
                json: None,
                full: false,
                child: false,
            };
            load(&quick);
            idle(&quick);
            soak(&quick);
        }
    }
}

const OURS: &str = "tickwheel";
const TOKIO: &str = "tokio";

const COLUMNS: [Column; 5] = [
    ("p50, ms", 2),
    ("p99, ms", 2),
    ("p99.9, ms", 2),
    ("worst, ms", 2),
    ("of a processor, %", 1),
];

/// Runs the load of every peer in a process of its own, and writes what is found.
fn write(path: &str, options: &Options) -> Result<(), String> {
    let mut results = Results::create("lateness", path)?;
    results.peer(
        OURS,
        "`arm_repeating`, a callback for each timer; ticks of 1 ms",
    )?;
    results.peer(
        TOKIO,
        "a task for each timer, on as many threads as processors",
    )?;
    results.about(
        "load",
        "A million timers, each due ten seconds after it last was, at a time of its own that is \
         not rounded: 100,000 callbacks a second. How late each begins, read on `Instant`; of a \
         tick of a millisecond half a tick is rounding.",
    )?;
    let (seconds, timers) = (if options.full { 20 } else { 8 }, 1_000_000);
    let case = |peer: &'static str| Case {
        workload: "load",
        shape: String::new(),
        n: timers,
        threads: 1,
        peer,
        ours: peer == OURS,
        columns: &COLUMNS,
        job: Job {
            name: format!("load: {peer}"),
            args: [
                "load",
                "--child",
                "--peer",
                peer,
                "--seconds",
                &seconds.to_string(),
                "--timers",
                &timers.to_string(),
            ]
            .map(String::from)
            .to_vec(),
        },
    };
    results.run(&[Group {
        rounds: if options.full { 3 } else { 1 },
        limit: Duration::from_secs(180),
        cases: [OURS, TOKIO].map(case).into(),
    }])
}
