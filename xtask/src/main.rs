//! Measures tickwheel beside its peers, and draws the page of what was found.
//!
//! ```text
//! cargo xtask bench [--full] [--only BENCH]..  measures, saves docs/results.json, draws the page
//! cargo xtask page                             draws it again from docs/results.json
//! cargo xtask compare OLD.json NEW.json        what has changed, in Markdown
//! cargo xtask instructions [--update]          compares instruction counts with the baseline
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `bench` | builds and runs the benches |
//! | `results` | what they found, and where it is kept |
//! | `compare` | what has changed from one file of results to another |
//! | `machine` | on what, by what, and when |
//! | `page`, `sections` | the page and its parts |
//! | `pictures` | which pictures are drawn of which figures |
//! | `tables` | the tables, ours beside the best of the others |
//! | `worst` | the longest and the largest |
//! | `chart` | charts in SVG |
//! | `instructions` | the baseline of instruction counts |

mod bench;
mod chart;
mod compare;
mod instructions;
mod machine;
mod page;
mod pictures;
mod results;
mod sections;
mod tables;
mod worst;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "cargo xtask bench [--full] [--only wheel|shared|runtime|lateness|typed]..
    Measures. The reduced set takes up to ten minutes, the full one an hour or two. Saves what was
    found in docs/results.json and draws docs/benchmarks.html. With --only, what the other
    benches found before is kept. Fails when one of ours failed; a peer that fails is reported
    on the page.
cargo xtask page
    Draws the page again from docs/results.json.
cargo xtask compare OLD.json NEW.json
    Prints a Markdown table: each figure of ours before and now, and beside the best of the others.
    Both are files as docs/results.json is one.
cargo xtask instructions [--update]
    Counts instructions with valgrind. Fails when an operation takes over 5% more than
    benches/instructions.baseline says; --update writes that file anew.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["bench", options @ ..] => bench::run(options),
        ["page"] => page::draw(),
        ["compare", old, new] => compare::print(old, new),
        ["instructions"] => instructions::check(),
        ["instructions", "--update"] => instructions::update(),
        _ => Err(format!("what is wanted?\n\n{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where a file of the repository is.
fn path(within: &str) -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = xtask.parent().expect("xtask lies in the repository");
    root.join(within)
}

fn read(within: &str) -> Result<String, String> {
    std::fs::read_to_string(path(within)).map_err(|error| format!("{within}: {error}"))
}

fn write(within: &str, text: &str) -> Result<(), String> {
    let path = path(within);
    let parent = path.parent().expect("a file lies in a directory");
    let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| format!("{within}: {error}"))
}
