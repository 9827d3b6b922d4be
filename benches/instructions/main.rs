//! Instructions per operation, counted by valgrind: the same on every run, whatever else
//! the machine is doing.
//!
//! ```text
//! cargo bench --bench instructions                a Markdown table
//! cargo bench --bench instructions -- --lines     a line for each: name, tab, count
//! cargo xtask instructions                        compared with benches/instructions.baseline
//! ```
//!
//! Each operation runs under `callgrind` in two processes, in one of them ten thousand times
//! more often than in the other: the difference is what the operation costs, and the loop
//! around it. The loop is counted as well, and subtracted.

mod operations;

use std::fmt::Display;
use std::io::ErrorKind;
use std::process::{Command, ExitCode};

use operations::{FEW, LOOP, MANY, OPERATIONS, Operation};

/// Asks a process of this program to run one operation.
const RUN: &str = "--run";

/// How the counts are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A Markdown table.
    Table,
    /// What another program reads.
    Lines,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has(RUN) {
        return exit(run(&args));
    }
    if has("--bench") && !has("--test") {
        return exit(if has("--lines") {
            print(Form::Lines)
        } else {
            print(Form::Table)
        });
    }
    for operation in OPERATIONS.iter().chain([&LOOP]) {
        (operation.run)(1);
    }
    println!("every operation ran once; `cargo bench --bench instructions` counts");
    ExitCode::SUCCESS
}

fn exit(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one operation, as `count` asks for it.
fn run(args: &[String]) -> Result<(), String> {
    let [_, name, times] = args else {
        return Err(format!("{RUN} OPERATION TIMES"));
    };
    let mut operations = OPERATIONS.iter().chain([&LOOP]);
    let operation = operations
        .find(|operation| operation.name == name)
        .ok_or_else(|| format!("{name}: no such operation"))?;
    let times = times.parse().ok().filter(|times| *times <= MANY);
    let times = times.ok_or_else(|| format!("{name}: at most {MANY} times"))?;
    (operation.run)(times);
    Ok(())
}

fn print(form: Form) -> Result<(), String> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(version) if form == Form::Table => {
            println!("{}", String::from_utf8_lossy(&version.stdout));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound && form == Form::Table => {
            println!("valgrind is not installed; instructions cannot be counted without it");
            return Ok(());
        }
        Err(error) => return Err(format!("valgrind: {error}")),
    }
    let bare = per_time(&LOOP)?;
    if form == Form::Table {
        println!("| operation | instructions |\n|---|---:|");
    }
    for operation in &OPERATIONS {
        let (name, count) = (operation.name, per_time(operation)? - bare);
        match form {
            Form::Table => println!("| {name} | {count:.1} |"),
            Form::Lines => println!("{name}\t{count:.1}"),
        }
    }
    if form == Form::Table {
        println!("\nThe loop around each, {bare:.1} instructions, is subtracted.");
    }
    Ok(())
}

/// Instructions that one more time costs.
fn per_time(operation: &Operation) -> Result<f64, String> {
    let (few, many) = (count(operation, FEW)?, count(operation, MANY)?);
    Ok((many as f64 - few as f64) / (MANY - FEW) as f64)
}

/// Instructions of a whole process that runs `operation` so many times.
fn count(operation: &Operation, times: usize) -> Result<u64, String> {
    let name = operation.name;
    let failed = |what: &dyn Display| format!("counting {name:?}: {what}");
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([RUN, name, &times.to_string()])
        .output()
        .map_err(|error| failed(&error))?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(&report));
    }
    let collected = report.lines().find_map(|line| {
        let (_, count) = line.split_once("Collected :")?;
        count.trim().parse().ok()
    });
    collected.ok_or_else(|| failed(&report))
}
