//! Builds and runs the benches.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::machine::Machine;
use crate::results::{Line, Results, Run, parse};

/// In the order in which they run.
const BENCHES: [&str; 5] = ["wheel", "shared", "runtime", "lateness", "typed"];

pub(crate) fn run(options: &[&str]) -> Result<(), String> {
    let (mut full, mut only) = (false, BTreeSet::new());
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match *option {
            "--full" => full = true,
            "--only" => {
                let name = rest.next().ok_or("--only needs a bench")?;
                if !BENCHES.contains(name) {
                    return Err(format!("{name}: no such bench; there are {BENCHES:?}"));
                }
                only.insert(*name);
            }
            _ => return Err(format!("{option}: no such option")),
        }
    }
    let command = format!("cargo xtask bench {}", options.join(" "));
    let wanted = |bench: &&str| only.is_empty() || only.contains(bench);
    let wanted: Vec<_> = BENCHES.into_iter().filter(wanted).collect();

    // All are built before the first runs: a compiler beside it would disturb it.
    let built: Result<Vec<_>, String> = wanted.iter().map(|bench| build(bench)).collect();
    let mut results = match Results::load() {
        Ok(results) if !only.is_empty() => results,
        Ok(_) | Err(_) => Results::default(),
    };
    let mut failed = Vec::new();
    for (bench, program) in wanted.iter().zip(built?) {
        let began = Instant::now();
        let machine = Machine::now(command.trim(), real_time())?;
        match measure(bench, &program, full) {
            Ok((lines, error)) => {
                println!("{bench}: {} s", began.elapsed().as_secs());
                failed.extend(error);
                results
                    .benches
                    .insert((*bench).into(), Run { machine, lines });
                results.save()?;
            }
            Err(error) => failed.push(format!("{bench}: {error}")),
        }
    }
    crate::page::draw()?;
    for failure in results.failures() {
        println!(
            "{}, {}, {} timers: {} failed: {}",
            failure.bench, failure.workload, failure.n, failure.peer, failure.error
        );
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(failed.join("\n"))
}

/// Where the program is.
pub(crate) fn build(bench: &str) -> Result<PathBuf, String> {
    println!("building the bench {bench}");
    // Of the features only what it needs: others might cost something.
    let features: &[&str] = match bench {
        "typed" => &["--features", "typed"],
        _ => &[],
    };
    let output = Command::new("cargo")
        .args(["bench", "--no-run", "--quiet", "--message-format=json"])
        .args(["--bench", bench])
        .args(features)
        .current_dir(crate::path("."))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("the bench {bench} does not build"));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let ours = message["target"]["name"] == bench && message["target"]["kind"][0] == "bench";
        let program = message["executable"].as_str().filter(|_| ours)?;
        Some(PathBuf::from(program))
    });
    program.ok_or_else(|| format!("cargo does not say where the bench {bench} is"))
}

/// Whether a program can be given real-time priority.
fn real_time() -> bool {
    let tried = Command::new("chrt")
        .args(["-f", "1", "true"])
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

/// What it found; and what of ours failed.
fn measure(
    bench: &str,
    program: &PathBuf,
    full: bool,
) -> Result<(Vec<Line>, Option<String>), String> {
    let file = std::env::temp_dir().join(format!("tickwheel-{bench}-{}.json", std::process::id()));
    let mut command = if real_time() {
        let mut command = Command::new("chrt");
        command.args(["-f", "1"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.arg("--bench").arg("--json").arg(&file);
    if full {
        command.arg("--full");
    }
    let said = watch(bench, command)?;
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    // What was read is of no use any more; that it stays behind is no failure.
    let _ = fs::remove_file(&file);
    Ok((parse(&text)?, said))
}

/// Shows how far it is, until it ends. What it said when it failed.
fn watch(bench: &str, mut command: Command) -> Result<Option<String>, String> {
    let bar = ProgressBar::new(0);
    let style = "{prefix:9} {bar:30} {pos:>4}/{len} {elapsed_precise} {wide_msg}";
    bar.set_style(ProgressStyle::with_template(style).map_err(|error| error.to_string())?);
    bar.set_prefix(bench.to_string());
    bar.enable_steady_tick(Duration::from_secs(1));
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{bench}: {error}"))?;
    let mut said = Vec::new();
    let stderr = child.stderr.take().expect("it is piped");
    for line in BufReader::new(stderr).lines() {
        let line = line.map_err(|error| format!("{bench}: {error}"))?;
        match job(&line) {
            Some((job, jobs, what)) => {
                bar.set_length(jobs);
                bar.set_position(job - 1);
                bar.set_message(what.to_string());
                // Where a bar cannot be drawn, a line now and then says as much.
                if bar.is_hidden() && (job - 1) % 20 == 0 {
                    println!("{bench}: job {job} of {jobs}");
                }
            }
            None => said.push(line),
        }
    }
    let status = child.wait().map_err(|error| format!("{bench}: {error}"))?;
    bar.set_position(bar.length().unwrap_or(0));
    bar.finish_with_message("");
    if status.success() {
        return Ok(None);
    }
    Ok(Some(format!("{bench}: {status}\n{}", said.join("\n"))))
}

/// Of `job 3 of 90: what`: the numbers, and what.
fn job(line: &str) -> Option<(u64, u64, &str)> {
    let (job, rest) = line.strip_prefix("job ")?.split_once(" of ")?;
    let (jobs, what) = rest.split_once(": ")?;
    Some((
        job.parse().ok().filter(|job| *job > 0)?,
        jobs.parse().ok()?,
        what,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_job_is_told_from_others() {
        assert_eq!(job("job 3 of 90: life: us"), Some((3, 90, "life: us")));
        for other in [
            "job 0 of 3: none",
            "job x of 3: none",
            "wheel: no such file",
        ] {
            assert_eq!(job(other), None, "{other}");
        }
    }
}
