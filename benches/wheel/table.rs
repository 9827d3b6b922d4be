//! Rounds of processes that measure one peer each, medians over the rounds, Markdown.

use std::process::{Command, Stdio};

use crate::cli::Options;
use crate::figures::COLUMNS;
use crate::{CONTENDERS, ours};

/// A heading, and how many digits after the point its figures get.
type Column = (&'static str, usize);

/// One line of a table: who, and the medians.
struct Row {
    name: &'static str,
    figures: Vec<f64>,
}

/// Prints two tables per size and start, and one of the wheel alone.
pub(crate) fn print(options: &Options) -> Result<(), String> {
    for n in &options.sizes {
        for start in &options.starts {
            print_setting(options.rounds, *n, *start)?;
        }
    }
    let jump = rows(options.rounds, &[ours::JUMP], 1, 0)?;
    println!("### The wheel alone, jumping\n");
    println!("{}", table(&ours::JUMP_COLUMNS, &jump));
    Ok(())
}

fn print_setting(rounds: usize, n: usize, start: u64) -> Result<(), String> {
    let mut jobs: Vec<_> = CONTENDERS.iter().map(|contender| contender.name).collect();
    jobs.push(ours::TICKLESS);
    let mut rows = rows(rounds, &jobs, n, start)?;
    let tickless = rows.split_off(CONTENDERS.len());

    println!("### {n} timers from tick {start}, median of {rounds}\n");
    println!("{}", table(&COLUMNS, &rows));
    println!("The same, as multiples of {}:\n", CONTENDERS[0].name);
    println!("{}", table(&COLUMNS.map(ratio_column), &ratios(&rows)));
    println!("The wheel alone, advanced only to `next_work()`:\n");
    println!("{}", table(&ours::TICKLESS_COLUMNS, &tickless));
    Ok(())
}

/// Runs every job once per round, one after the other, so that a slow minute of the machine
/// hits all of them.
fn rows(rounds: usize, jobs: &[&'static str], n: usize, start: u64) -> Result<Vec<Row>, String> {
    let mut found = vec![Vec::new(); jobs.len()];
    for round in 1..=rounds {
        for (job, found) in jobs.iter().zip(&mut found) {
            eprintln!("{n} timers from tick {start}, round {round} of {rounds}: {job}");
            found.push(child(job, n, start)?);
        }
    }
    let rows = jobs.iter().zip(&found).map(|(name, rounds)| Row {
        name,
        figures: medians(rounds),
    });
    Ok(rows.collect())
}

/// Has one job done in a fresh process, and reads what it found.
fn child(job: &str, n: usize, start: u64) -> Result<Vec<f64>, String> {
    let failed = |what: &dyn std::fmt::Display| format!("measuring {job}: {what}");
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let output = Command::new(program)
        .args(["--child", job])
        .args(["--n", &n.to_string()])
        .args(["--start", &start.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&output.status));
    }
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .map(|figure| figure.parse().map_err(|error| failed(&error)))
        .collect()
}

/// The median of each figure over the rounds.
fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    let figures = rounds.first().map_or(0, Vec::len);
    (0..figures)
        .map(|figure| {
            let mut values: Vec<f64> = rounds.iter().map(|round| round[figure]).collect();
            values.sort_unstable_by(f64::total_cmp);
            let (below, above) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
            (below + above) / 2.0
        })
        .collect()
}

/// What each row is of the first.
fn ratios(rows: &[Row]) -> Vec<Row> {
    let Some((first, others)) = rows.split_first() else {
        return Vec::new();
    };
    let of_first = |row: &Row| {
        let figures = row.figures.iter().zip(&first.figures);
        figures.map(|(figure, of)| figure / of).collect()
    };
    others
        .iter()
        .map(|row| Row {
            name: row.name,
            figures: of_first(row),
        })
        .collect()
}

/// The column's heading without its unit.
fn ratio_column((heading, _): Column) -> Column {
    let name = heading.split(',').next().unwrap_or(heading);
    (name, 2)
}

fn table(columns: &[Column], rows: &[Row]) -> String {
    let headings: Vec<_> = columns.iter().map(|(heading, _)| *heading).collect();
    let mut text = format!("| | {} |\n", headings.join(" | "));
    text += &format!("|---|{}\n", "---:|".repeat(columns.len()));
    for Row { name, figures } in rows {
        let cells = figures.iter().zip(columns);
        let cells: Vec<_> = cells
            .map(|(figure, (_, digits))| format!("{figure:.digits$}"))
            .collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text
}
