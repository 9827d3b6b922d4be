//! The tables: which jobs they take, and what is printed of them.

use crate::cli::Options;
use crate::figures::COLUMNS;
use crate::rounds::{Column, Job, Row, medians_of, ratios, table};
use crate::{CONTENDERS, ours};

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

/// The medians of every job, at this size and start.
fn rows(rounds: usize, jobs: &[&'static str], n: usize, start: u64) -> Result<Vec<Row>, String> {
    let processes: Vec<_> = jobs.iter().map(|job| process(job, n, start)).collect();
    let medians = medians_of(rounds, &processes)?;
    let rows = jobs.iter().zip(medians);
    Ok(rows.map(|(name, figures)| Row { name, figures }).collect())
}

fn process(job: &str, n: usize, start: u64) -> Job {
    let (size, from) = (n.to_string(), start.to_string());
    let args = ["--child", job, "--n", &size, "--start", &from];
    Job {
        name: format!("{job}, {n} timers from tick {start}"),
        args: args.map(String::from).to_vec(),
    }
}

/// The column's heading without its unit.
fn ratio_column((heading, _): Column) -> Column {
    let name = heading.split(',').next().unwrap_or(heading);
    (name, 2)
}
