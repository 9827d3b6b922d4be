//! Instruction counts, and the baseline that they are compared with.

use std::process::Command;

use crate::bench::build;

const BASELINE: &str = "benches/instructions.baseline";

/// By how much an operation may grow.
const GROWTH: f64 = 1.05;

/// What stands in the baseline, or was counted just now.
#[derive(Debug, PartialEq)]
pub(crate) struct Counts {
    /// What they were counted of: compiler, target, valgrind.
    pub(crate) of: String,
    pub(crate) counts: Vec<(String, f64)>,
}

pub(crate) fn baseline() -> Result<Counts, String> {
    let text = crate::read(BASELINE)?;
    Counts::read(&text).ok_or_else(|| format!("{BASELINE} is not what --update writes"))
}

/// Fails when an operation takes too many instructions more than the baseline says.
pub(crate) fn check() -> Result<(), String> {
    let (before, now) = (baseline()?, count()?);
    let grown = now.compare(&before);
    if before.of != now.of {
        println!("The baseline is of {}, this is {}.", before.of, now.of);
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\nIf that is meant: cargo xtask instructions --update",
        grown.join("\n")
    ))
}

pub(crate) fn update() -> Result<(), String> {
    crate::write(BASELINE, &count()?.text())?;
    println!("{BASELINE} is written");
    Ok(())
}

fn count() -> Result<Counts, String> {
    let version = Command::new("valgrind").arg("--version").output();
    let version = version.map_err(|error| format!("valgrind: {error}; it has to be installed"))?;
    let rustc = Command::new("rustc").arg("-vV").output();
    let rustc = rustc.map_err(|error| format!("rustc: {error}"))?;
    let rustc = String::from_utf8_lossy(&rustc.stdout);
    let field = |name: &str| {
        let line = rustc.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_string()
    };
    let of = format!(
        "rustc {}, {}, {}",
        field("release:"),
        field("host:"),
        String::from_utf8_lossy(&version.stdout).trim()
    );
    let program = build("instructions")?;
    let output = Command::new(program)
        .args(["--bench", "--lines"])
        .output()
        .map_err(|error| format!("instructions: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    Counts::read(&format!("# {of}\n{lines}")).ok_or_else(|| format!("no counts in {lines:?}"))
}

impl Counts {
    /// A line that says of what, and then one for each operation: its name, a tab, the count.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let of = lines.next()?.strip_prefix("# ")?.to_string();
        let counts: Option<Vec<_>> = lines
            .filter(|line| !line.trim().is_empty())
            .map(|line| {
                let (name, count) = line.split_once('\t')?;
                Some((name.to_string(), count.trim().parse().ok()?))
            })
            .collect();
        Some(Self {
            of,
            counts: counts.filter(|counts| !counts.is_empty())?,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("# {}\n", self.of);
        for (name, count) in &self.counts {
            text += &format!("{name}\t{count:.1}\n");
        }
        text
    }

    /// Prints both beside each other. What has grown too much, or is missing.
    fn compare(&self, before: &Self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, now) in &self.counts {
            let known = before.counts.iter().find(|(known, _)| known == name);
            let Some((_, before)) = known else {
                wrong.push(format!("{name}: not in the baseline"));
                continue;
            };
            let percent = (now / before - 1.0) * 100.0;
            println!("{name:48} {before:8.1} {now:8.1} {percent:+6.1}%");
            if *now > before * GROWTH {
                wrong.push(format!("{name}: {now:.1} instructions, {percent:.1}% more"));
            }
        }
        for (name, _) in &before.counts {
            if self.counts.iter().all(|(now, _)| now != name) {
                wrong.push(format!("{name}: in the baseline, and not counted"));
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(arm: f64) -> Counts {
        Counts {
            of: "a compiler".into(),
            counts: vec![("arm".into(), arm)],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Counts::read(&counts(12.5).text()), Some(counts(12.5)));
    }

    #[test]
    fn more_than_a_twentieth_is_too_much() {
        assert_eq!(counts(105.0).compare(&counts(100.0)), [""; 0]);
        assert_eq!(counts(105.1).compare(&counts(100.0)).len(), 1);
    }

    #[test]
    fn an_operation_that_is_missing_is_told() {
        let none = Counts {
            of: "a compiler".into(),
            counts: vec![],
        };
        assert_eq!(none.compare(&counts(1.0)).len(), 1, "it is not counted");
        assert_eq!(counts(1.0).compare(&none).len(), 1, "it has no baseline");
    }
}
