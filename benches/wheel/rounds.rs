//! Processes that measure, round after round; medians over the rounds; Markdown.

use std::fmt::Display;
use std::process::{Command, Stdio};

/// A heading, and how many digits after the point its figures get.
pub(crate) type Column = (&'static str, usize);

/// One line of a table: who, and the medians.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) figures: Vec<f64>,
}

/// Something that a process of this program measures when it is called with `args`.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
}

/// Runs every job once per round, one after the other, so that a slow minute of the machine
/// hits all of them. Returns the medians of each, in the same order.
pub(crate) fn medians_of(rounds: usize, jobs: &[Job]) -> Result<Vec<Vec<f64>>, String> {
    let mut found = vec![Vec::new(); jobs.len()];
    for round in 1..=rounds {
        for (job, found) in jobs.iter().zip(&mut found) {
            eprintln!("round {round} of {rounds}: {}", job.name);
            found.push(child(job)?);
        }
    }
    Ok(found.iter().map(|rounds| medians(rounds)).collect())
}

/// Has one job done in a fresh process, and reads what it found.
fn child(job: &Job) -> Result<Vec<f64>, String> {
    let failed = |what: &dyn Display| format!("measuring {}: {what}", job.name);
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let output = Command::new(program)
        .args(&job.args)
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

/// Prints what a job found, on the one line that `child` reads.
pub(crate) fn print(figures: &[f64]) {
    let figures: Vec<_> = figures.iter().map(f64::to_string).collect();
    println!("{}", figures.join(" "));
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
pub(crate) fn ratios(rows: &[Row]) -> Vec<Row> {
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

pub(crate) fn table(columns: &[Column], rows: &[Row]) -> String {
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
