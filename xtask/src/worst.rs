//! The longest and the largest, over all that was measured.

use std::collections::BTreeMap;

use crate::chart::{Unit, escape, quantity};
use crate::results::{Figure, Results};
use crate::sections::title;
use crate::tables::thousands;

/// What is looked for, and which figures tell it.
type Case = (&'static str, fn(&Figure) -> bool);

const CASES: [Case; 6] = [
    (
        "The longest advance by a tick, in any workload and at any size, unless all were due in it",
        |figure| {
            let named = figure.figure.contains("worst advance") || figure.figure == "advance worst";
            figure.bench == "wheel" && named
        },
    ),
    (
        "The longest cancel and arm while another thread fires a million timers",
        |figure| {
            figure.bench == "shared" && figure.workload == "latency" && figure.figure == "worst"
        },
    ),
    (
        "The latest of 100,000 callbacks a second, among a million timers",
        |figure| figure.bench == "lateness" && figure.figure == "worst",
    ),
    (
        "The longest read of a session while a million others end",
        |figure| figure.workload == "storm" && figure.figure == "during worst",
    ),
    (
        "Bytes for each armed timer after two million others were cancelled",
        |figure| figure.bench == "wheel" && figure.figure == "after churn",
    ),
    (
        "Memory that a process has grown by while timers come and go, and nobody drives",
        |figure| figure.bench == "shared" && figure.figure == "grown",
    ),
];

pub(crate) fn worst(results: &Results) -> String {
    let mut html = title("Worst cases");
    html += "<p>The longest and the largest of all rounds, not a median. The longest of a run holds \
             what the machine did to it as well: an interrupt, a page that had to be fetched.</p>\n\
             <div class=\"worst\">\n";
    for (what, of) in CASES {
        html += &extremes(results, what, of);
    }
    html + "</div>\n"
}

/// The largest figure of each peer, and where it was.
fn extremes(results: &Results, title: &str, of: fn(&Figure) -> bool) -> String {
    let mut worst: BTreeMap<&str, (&Figure, f64)> = BTreeMap::new();
    for figure in results.figures().filter(|figure| of(figure)) {
        let factor = Unit::of(&figure.unit).map_or(1.0, |(_, factor)| factor);
        let value = figure.values.iter().copied().fold(0.0, f64::max) * factor;
        let known = worst.entry(&figure.peer).or_insert((figure, value));
        if known.1 < value {
            *known = (figure, value);
        }
    }
    if worst.is_empty() {
        return String::new();
    }
    let mut rows: Vec<_> = worst.into_iter().collect();
    rows.sort_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
    let mut html = format!("<section><h3>{}</h3>\n<table>\n", escape(title));
    for (peer, (figure, value)) in rows {
        let unit = Unit::of(&figure.unit).map_or(Unit::Bytes, |(unit, _)| unit);
        let us = if figure.ours { " class=\"ours\"" } else { "" };
        let shape = if figure.shape.is_empty() {
            String::new()
        } else {
            format!(", {}", escape(&figure.shape))
        };
        html += &format!(
            "<tr{us}><th>{}</th><td>{}</td><td class=\"name mute\">{}{shape}, {} timers</td></tr>\n",
            escape(peer),
            quantity(value, unit),
            escape(&figure.workload),
            thousands(figure.n),
        );
    }
    html + "</table></section>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::parse;

    #[test]
    fn the_worst_round_counts_wherever_it_was() {
        let line = |workload, figure, values| {
            format!(
                r#"{{"kind":"figure","bench":"wheel","workload":"{workload}","shape":"","n":1000,"threads":1,"peer":"tickwheel","ours":true,"figure":"{figure}","unit":"µs","values":{values}}}"#
            )
        };
        let text = [
            line("life", "worst advance", "[1.0,7.0,2.0]"),
            line("latency", "advance worst", "[3.0]"),
            line("life", "p99.9 advance", "[90.0]"),
        ];
        let results = Results::of("wheel", parse(&text.join("\n")).expect("lines of results"));
        let html = worst(&results);
        assert!(html.contains("<td>7 µs</td>"), "{html}");
        assert!(html.contains("life, 1,000 timers"), "{html}");
        assert_eq!(html.matches("<tr").count(), 1, "one row for a peer: {html}");
    }
}
