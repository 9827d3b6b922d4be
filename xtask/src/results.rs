//! What the benches found, and where it is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where it is kept.
const FILE: &str = "docs/results.json";

/// Everything that the page is drawn from.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Results {
    /// By the name of the bench.
    pub(crate) benches: BTreeMap<String, Run>,
}

/// One run of a bench.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) machine: crate::machine::Machine,
    pub(crate) lines: Vec<Line>,
}

/// A line that a bench wrote.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Line {
    About {
        bench: String,
        workload: String,
        text: String,
    },
    Peer {
        bench: String,
        peer: String,
        how: String,
    },
    Figure(Figure),
    Failure(Failure),
}

/// What was found of one peer, once per round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) bench: String,
    pub(crate) workload: String,
    pub(crate) shape: String,
    pub(crate) n: u64,
    pub(crate) threads: u64,
    pub(crate) peer: String,
    pub(crate) ours: bool,
    pub(crate) figure: String,
    pub(crate) unit: String,
    pub(crate) values: Vec<f64>,
}

/// That a peer did not do it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) bench: String,
    pub(crate) workload: String,
    pub(crate) shape: String,
    pub(crate) n: u64,
    pub(crate) peer: String,
    pub(crate) ours: bool,
    pub(crate) error: String,
}

impl Results {
    pub(crate) fn load() -> Result<Self, String> {
        Self::parse(FILE, &crate::read(FILE)?)
    }

    /// From any file.
    pub(crate) fn load_from(path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Self::parse(path, &text)
    }

    fn parse(path: &str, text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))
    }

    /// Of one bench, without a machine.
    #[cfg(test)]
    pub(crate) fn of(bench: &str, lines: Vec<Line>) -> Self {
        let run = Run {
            lines,
            ..Run::default()
        };
        Self {
            benches: [(bench.into(), run)].into(),
        }
    }

    /// A line for each line, so that a change of one shows as one.
    pub(crate) fn save(&self) -> Result<(), String> {
        let mut text = String::from("{\"benches\":{");
        for (at, (bench, run)) in self.benches.iter().enumerate() {
            let json = |value: serde_json::Result<String>| value.map_err(|error| error.to_string());
            text += if at == 0 { "\n" } else { ",\n" };
            let machine = json(serde_json::to_string(&run.machine))?;
            text += &format!("\"{bench}\":{{\"machine\":{machine},\"lines\":[\n");
            let lines: Result<Vec<_>, _> = run
                .lines
                .iter()
                .map(|line| json(serde_json::to_string(line)))
                .collect();
            text += &lines?.join(",\n");
            text += "\n]}";
        }
        text += "\n}}\n";
        crate::write(FILE, &text)
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.benches.values().flat_map(|run| &run.lines)
    }

    pub(crate) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.lines().filter_map(|line| match line {
            Line::Figure(figure) => Some(figure),
            Line::About { .. } | Line::Peer { .. } | Line::Failure(_) => None,
        })
    }

    pub(crate) fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.lines().filter_map(|line| match line {
            Line::Failure(failure) => Some(failure),
            Line::About { .. } | Line::Peer { .. } | Line::Figure(_) => None,
        })
    }

    /// What is done in a workload.
    pub(crate) fn about(&self, bench: &str, workload: &str) -> &str {
        let text = self.lines().find_map(|line| match line {
            Line::About {
                bench: of,
                workload: named,
                text,
            } if of == bench && named == workload => Some(text.as_str()),
            _ => None,
        });
        text.unwrap_or_default()
    }
}

impl Figure {
    /// The median over the rounds.
    pub(crate) fn value(&self) -> f64 {
        let mut values = self.values.clone();
        values.sort_unstable_by(f64::total_cmp);
        match values.len() {
            0 => f64::NAN,
            count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
        }
    }
}

/// Reads what a bench wrote.
pub(crate) fn parse(text: &str) -> Result<Vec<Line>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{error} in {line}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_bench_writes_is_read() {
        let text = r#"{"kind":"figure","bench":"wheel","workload":"life","shape":"","n":10,"threads":1,"peer":"p","ours":false,"figure":"arm","unit":"ns","values":[3.0,1.0]}"#;
        let lines = parse(text).expect("it is one");
        let [Line::Figure(figure)] = &lines[..] else {
            panic!("{lines:?}")
        };
        assert_eq!(figure.value(), 2.0, "the median of an even count");
    }

    #[test]
    fn what_is_no_line_is_refused_with_the_line() {
        let error = parse("{}").expect_err("it says nothing");
        assert!(error.ends_with("{}"), "{error}");
    }
}
