//! Markdown: medians, and what each peer is of the first.

use super::rounds::{Found, measure_all};
use super::{Options, Shape, Suite};

/// One line of a table: who, and the medians.
struct Row {
    name: &'static str,
    figures: Vec<f64>,
}

/// Prints the tables of every workload, and what the bench has to say below them.
pub(crate) fn print<S: Shape>(suite: &Suite<S>, options: &Options) -> Result<(), String> {
    let mut all = Vec::new();
    let done = measure_all(suite, options, |found| {
        print_one(&found);
        all.push(found);
        Ok(())
    });
    (suite.below)(&all);
    done
}

/// A table with a column for each shape, for each figure, where there are more shapes than figures; else
/// a table with a column for each figure, for each shape.
fn print_one<S: Shape>(found: &Found<'_, S>) {
    let Found { workload, measured } = found;
    let rounds = measured.first().map_or(0, |measured| measured.rounds);
    println!("### {}, median of {rounds}\n", workload.name);
    println!("{}\n", workload.about);
    let names = || workload.peers.iter().map(|peer| peer.name);
    if measured.len() > workload.columns.len() {
        for (figure, (heading, digits)) in workload.columns.iter().enumerate() {
            let shapes: Vec<_> = measured.iter().map(|found| found.shape.name()).collect();
            let columns: Vec<_> = shapes.iter().map(|name| (name.as_str(), *digits)).collect();
            let rows = names().map(|name| {
                let shapes = shapes.iter();
                let figures = shapes.map(|shape| found.figure(shape, name, figure));
                Row {
                    name,
                    figures: figures.map(|figure| figure.unwrap_or(f64::NAN)).collect(),
                }
            });
            println!("{heading}:\n");
            print_both(&columns, rows.collect());
        }
    } else {
        for measured in measured {
            let rows = names().zip(measured.medians());
            let rows = rows.filter_map(|(name, figures)| {
                let figures = figures?;
                Some(Row { name, figures })
            });
            println!("{}:\n", measured.shape.name());
            print_both(workload.columns, rows.collect());
        }
    }
    for measured in measured {
        for (peer, outcome) in workload.peers.iter().zip(&measured.outcomes) {
            if let Err(error) = outcome {
                let shape = measured.shape.name();
                println!("{}, {shape}, failed: {error}\n", peer.name);
            }
        }
    }
}

/// The figures, and what they are of the first peer's.
fn print_both(columns: &[(&str, usize)], rows: Vec<Row>) {
    println!("{}", table(columns, &rows));
    let Some((first, others)) = rows.split_first() else {
        return;
    };
    if others.is_empty() {
        return;
    }
    let ratios: Vec<_> = others.iter().map(|row| row.over(first)).collect();
    let columns: Vec<_> = columns.iter().map(without_unit).collect();
    println!("As multiples of {}:\n", first.name);
    println!("{}", table(&columns, &ratios));
}

/// Only what behind the last comma looks like a unit is one: a shape may have commas, too.
fn without_unit<'a>((heading, _): &(&'a str, usize)) -> (&'a str, usize) {
    match heading.rsplit_once(", ") {
        Some((name, unit)) if !unit.contains(' ') => (name, 2),
        _ => (heading, 2),
    }
}

fn table(columns: &[(&str, usize)], rows: &[Row]) -> String {
    let headings: Vec<_> = columns.iter().map(|(heading, _)| *heading).collect();
    let mut text = format!("| | {} |\n", headings.join(" | "));
    text += &format!("|---|{}\n", "---:|".repeat(columns.len()));
    for Row { name, figures } in rows {
        let cells = figures.iter().zip(columns);
        let cells: Vec<_> = cells
            .map(|(figure, (_, digits))| match figure.is_nan() {
                true => String::new(),
                false => format!("{figure:.digits$}"),
            })
            .collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text
}

impl Row {
    fn over(&self, first: &Self) -> Self {
        let figures = self.figures.iter().zip(&first.figures);
        Self {
            name: self.name,
            figures: figures.map(|(figure, of)| figure / of).collect(),
        }
    }
}
