//! What has changed from one file of results to another, in Markdown.

use crate::results::{Figure, Results};
use crate::tables::{Compared, compared, thousands, value};

/// Prints a line for each figure of ours that both have.
pub(crate) fn print(old: &str, new: &str) -> Result<(), String> {
    let [old, new] = [Results::load_from(old)?, Results::load_from(new)?];
    println!("{}", table(&old, &new));
    Ok(())
}

/// Ours before and now, how many times as much it is now, and how many times ours the best of the
/// others is: before and now, below one where we lose.
fn table(old: &Results, new: &Results) -> String {
    let (before, now) = (compared(old), compared(new));
    let mut text = String::from(
        "| figure | timers | threads | ours, before | ours, now | now ÷ before | \
         best of the others ÷ ours, before | now |\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut missing = Vec::new();
    for compared in &now {
        let earlier = before.iter().find(|known| known.same_as(compared));
        for ours in compared.figures.iter().filter(|figure| figure.ours) {
            let Some(change) = change(earlier, compared, ours) else {
                missing.push(row_name(compared, ours));
                continue;
            };
            text += &change;
        }
    }
    if !missing.is_empty() {
        text += &format!("\nOnly in the newer one: {}.\n", missing.join("; "));
    }
    text
}

/// Nothing when it was not measured before.
fn change(earlier: Option<&Compared<'_>>, now: &Compared<'_>, ours: &Figure) -> Option<String> {
    let mut figures = earlier?.figures.iter();
    let old = figures.find(|figure| figure.peer == ours.peer)?;
    let times = |part: f64, whole: f64| {
        let ratio = part / whole;
        match ratio.is_finite() {
            true => format!("{ratio:.2}"),
            false => String::new(),
        }
    };
    let best = |compared: &Compared<'_>, ours: &Figure| {
        let best = compared.best_other();
        best.map_or_else(String::new, |best| times(best.value(), ours.value()))
    };
    Some(format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        row_name(now, ours),
        thousands(ours.n),
        ours.threads,
        value(old),
        value(ours),
        times(ours.value(), old.value()),
        earlier.map_or_else(String::new, |earlier| best(earlier, old)),
        best(now, ours),
    ))
}

fn row_name(compared: &Compared<'_>, ours: &Figure) -> String {
    let what = compared.what();
    let name = format!("{} {what}: {}", ours.bench, ours.peer);
    name.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::parse;

    /// Results in which ours takes so long, and the best of the others so long.
    fn results(figure: &str, ours: f64, other: f64) -> Results {
        let line = |peer, ours, value: f64| {
            format!(
                r#"{{"kind":"figure","bench":"wheel","workload":"life","shape":"","n":1000,"threads":1,"peer":"{peer}","ours":{ours},"figure":"{figure}","unit":"ns","values":[{value}]}}"#
            )
        };
        let text = [
            line("tickwheel", true, ours),
            line("slow", false, 2.0 * other),
            line("best", false, other),
        ];
        Results::of("wheel", parse(&text.join("\n")).expect("lines of results"))
    }

    #[test]
    fn the_change_and_both_ratios_to_the_best_peer_are_told() {
        let text = table(&results("arm", 10.0, 15.0), &results("arm", 5.0, 20.0));
        let line = text.lines().last().expect("a line for the figure");
        assert_eq!(
            line,
            "| wheel life: arm: tickwheel | 1,000 | 1 | 10 ns | 5 ns | 0.50 | 1.50 | 4.00 |"
        );
        assert_eq!(text.lines().count(), 3, "none for the others: {text}");
    }

    #[test]
    fn what_was_not_measured_before_is_named_and_not_compared() {
        let text = table(&results("arm", 10.0, 15.0), &results("rearm", 5.0, 20.0));
        assert!(
            text.ends_with("\nOnly in the newer one: wheel life: rearm: tickwheel.\n"),
            "{text}"
        );
        assert!(!text.contains("5 ns"), "{text}");
    }

    #[test]
    fn the_committed_results_are_as_good_as_themselves() {
        let results = Results::load().expect("docs/results.json");
        let text = table(&results, &results);
        let ours = results.figures().filter(|figure| figure.ours).count();
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), ours, "a line for each figure of ours");
        for line in lines {
            let cells: Vec<_> = line.split(" | ").collect();
            assert_eq!(cells.len(), 8, "{line}");
            assert_eq!(cells[3], cells[4], "{line}");
            // What is nothing is no multiple of itself.
            let zero = cells[3].starts_with("0 ") || cells[3] == "0";
            assert_eq!(cells[5], if zero { "" } else { "1.00" }, "{line}");
            assert_eq!(cells[6], cells[7].trim_end_matches(" |"), "{line}");
        }
    }
}
