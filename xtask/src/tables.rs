//! Tables: ours beside the others, and what we are to the best of them.

use std::collections::BTreeSet;

use crate::chart::{Unit, escape, label, quantity};
use crate::results::{Figure, Results};

/// The same figure of all peers, in the same setting.
#[derive(Debug)]
pub(crate) struct Compared<'a> {
    pub(crate) figures: Vec<&'a Figure>,
}

/// All comparisons, in the order in which they were measured.
pub(crate) fn compared(results: &Results) -> Vec<Compared<'_>> {
    let mut all: Vec<Compared<'_>> = Vec::new();
    for figure in results.figures() {
        let one = Compared {
            figures: vec![figure],
        };
        let same = all.iter_mut().rev().find(|known| known.same_as(&one));
        match same {
            Some(same) => same.figures.push(figure),
            None => all.push(one),
        }
    }
    all
}

/// What is a part of another figure, and of another size from peer to peer by design.
const PARTS: [&str; 1] = ["driver"];

impl<'a> Compared<'a> {
    pub(crate) fn first(&self) -> &'a Figure {
        self.figures[0]
    }

    /// Whether it is the same figure in the same setting.
    pub(crate) fn same_as(&self, other: &Compared<'_>) -> bool {
        let (one, other) = (self.first(), other.first());
        (one.n, one.threads) == (other.n, other.threads)
            && (&one.bench, &one.workload, &one.shape)
                == (&other.bench, &other.workload, &other.shape)
            && (&one.figure, &one.unit) == (&other.figure, &other.unit)
    }

    /// The first of ours, which is the one that is meant to be used.
    pub(crate) fn ours(&self) -> Option<&'a Figure> {
        self.figures.iter().find(|figure| figure.ours).copied()
    }

    pub(crate) fn best_other(&self) -> Option<&'a Figure> {
        let others = self.figures.iter().filter(|figure| !figure.ours).copied();
        others.min_by(|a, b| a.value().total_cmp(&b.value()))
    }

    /// How many times ours the best of the others is: what is below one is a loss.
    ///
    /// Nothing for mere counts, and where there is nothing to divide.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Unit::of(&self.first().unit)?;
        if PARTS.contains(&self.first().figure.as_str()) {
            return None;
        }
        let (ours, other) = (self.ours()?.value(), self.best_other()?.value());
        let ratio = other / ours;
        (ours > 0.0 && ratio.is_finite()).then_some(ratio)
    }

    pub(crate) fn what(&self) -> String {
        let of = self.first();
        let mut text = match of.figure.as_str() {
            figure if figure == of.workload => of.figure.clone(),
            _ => format!("{}: {}", of.workload, of.figure),
        };
        if !of.shape.is_empty() {
            text += &format!(", {}", of.shape);
        }
        text
    }
}

/// `2.1×`, in red where it is a loss; behind it the name of the other, where it is not in a column
/// of its own.
pub(crate) fn ratio_cell(ratio: Option<f64>, told: &str, other: &str) -> String {
    let Some(ratio) = ratio else {
        return "<td></td>".into();
    };
    let digits = if ratio < 9.95 { 1 } else { 0 };
    let text = format!("{ratio:.digits$}");
    // What is level to the digit that is shown is neither.
    let class = match ratio {
        _ if text == "1.0" => "level",
        ..1.0 => "loss",
        _ => "win",
    };
    let text = if class == "loss" {
        format!("{ratio:.2}")
    } else {
        text
    };
    let (told, other) = (escape(told), escape(other));
    format!("<td class=\"{class}\" title=\"{told}\">{text}×<small>{other}</small></td>")
}

pub(crate) fn value(figure: &Figure) -> String {
    match Unit::of(&figure.unit) {
        Some((unit, factor)) => quantity(figure.value() * factor, unit),
        None => {
            let text = format!("{:.2}", figure.value());
            let text = text.trim_end_matches('0').trim_end_matches('.');
            format!("{text} {}", figure.unit).trim_end().into()
        }
    }
}

pub(crate) fn told(compared: &Compared<'_>) -> String {
    match (compared.ours(), compared.best_other()) {
        (Some(ours), Some(other)) => {
            format!("{}; {} {}", value(ours), other.peer, value(other))
        }
        _ => String::new(),
    }
}

/// A row for each figure, a column for each number of timers, and in each cell the ratio.
pub(crate) fn by_timers(all: &[Compared<'_>], workloads: &[&str]) -> String {
    let wanted: Vec<_> = all
        .iter()
        .filter(|compared| {
            let of = compared.first();
            of.bench == "wheel"
                && of.shape.is_empty()
                && workloads.contains(&of.workload.as_str())
                && compared.ratio().is_some()
        })
        .collect();
    let sizes: BTreeSet<u64> = wanted.iter().map(|compared| compared.first().n).collect();
    let mut names: Vec<&str> = Vec::new();
    for compared in &wanted {
        let name = compared.first().figure.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut html = String::from("<table><tr><th>best of the others ÷ tickwheel</th>");
    for n in &sizes {
        html += &format!("<th>{}</th>", thousands(*n));
    }
    html += "</tr>\n";
    for name in names {
        html += &format!("<tr><th>{}</th>", escape(name));
        for n in &sizes {
            let found = wanted
                .iter()
                .find(|compared| compared.first().figure == name && compared.first().n == *n);
            html += &found.map_or_else(
                || "<td></td>".into(),
                |compared| {
                    let other = compared.best_other().map_or("", |other| &other.peer);
                    let name = format!(" {}", label(other));
                    ratio_cell(compared.ratio(), &told(compared), &name)
                },
            );
        }
        html += "</tr>\n";
    }
    html + "</table>\n"
}

/// Each peer by itself: in how many figures it is behind, level and ahead, and the median of the ratios.
pub(crate) fn peer_by_peer(all: &[Compared<'_>]) -> String {
    let mut peers: Vec<(&str, Vec<f64>)> = Vec::new();
    for compared in all.iter().filter(|compared| compared.ratio().is_some()) {
        let ours = compared.ours().map_or(f64::NAN, Figure::value);
        for other in compared.figures.iter().filter(|figure| !figure.ours) {
            let ratio = other.value() / ours;
            match peers.iter_mut().find(|(peer, _)| *peer == other.peer) {
                Some((_, ratios)) => ratios.push(ratio),
                None => peers.push((&other.peer, vec![ratio])),
            }
        }
    }
    let mut html = String::from(
        "<details><summary>One peer at a time</summary><p>Over all figures that both have: in how many \
         it takes more than ours, as much within a twentieth, or less; and the median of how many \
         times as much.</p>\n<table><tr><th>peer</th><th>figures</th><th>more</th><th>level</th><th>less</th>\
         <th>median</th></tr>\n",
    );
    peers.sort_by_key(|(_, ratios)| std::cmp::Reverse(ratios.len()));
    for (peer, mut ratios) in peers {
        ratios.sort_unstable_by(f64::total_cmp);
        let more = ratios.iter().filter(|ratio| **ratio > 1.05).count();
        let less = ratios.iter().filter(|ratio| **ratio < 0.95).count();
        html += &format!(
            "<tr><th>{}</th><td>{}</td><td>{more}</td><td>{}</td><td>{less}</td>{}</tr>\n",
            escape(peer),
            ratios.len(),
            ratios.len() - more - less,
            ratio_cell(Some(ratios[ratios.len() / 2]), "", ""),
        );
    }
    html + "</table></details>\n"
}

/// A row for each comparison: ours, the best of the others, and the ratio.
pub(crate) fn listed<'a>(all: impl Iterator<Item = &'a Compared<'a>>) -> String {
    let mut html = String::from(
        "<table><tr><th>figure</th><th>timers</th><th>threads</th><th>ours</th>\
         <th colspan=2>best of the others</th><th>ratio</th></tr>\n",
    );
    for compared in all {
        let (Some(ours), Some(other)) = (compared.ours(), compared.best_other()) else {
            continue;
        };
        html += &format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"name\">{}</td>{}</tr>\n",
            escape(&compared.what()),
            thousands(ours.n),
            ours.threads,
            value(ours),
            value(other),
            escape(&other.peer),
            ratio_cell(compared.ratio(), &told(compared), ""),
        );
    }
    html + "</table>\n"
}

/// Everything that was found in a workload: a row for each figure and setting, a column for each
/// peer.
pub(crate) fn everything(all: &[Compared<'_>], bench: &str, workload: &str) -> String {
    let of_it: Vec<_> = all
        .iter()
        .filter(|compared| {
            let of = compared.first();
            of.bench == bench && of.workload == workload
        })
        .collect();
    let mut peers: Vec<&str> = Vec::new();
    for figure in of_it.iter().flat_map(|compared| &compared.figures) {
        if !peers.contains(&figure.peer.as_str()) {
            peers.push(&figure.peer);
        }
    }
    let mut html = String::from("<table><tr><th>figure</th><th>timers</th><th>threads</th>");
    for peer in &peers {
        html += &format!("<th>{}</th>", escape(peer));
    }
    html += "</tr>\n";
    for compared in of_it {
        let first = compared.first();
        let (what, n) = (escape(&compared.what()), thousands(first.n));
        html += &format!("<tr><th>{what}</th><td>{n}</td><td>{}</td>", first.threads);
        for peer in &peers {
            let figure = compared.figures.iter().find(|figure| figure.peer == *peer);
            html += &match figure {
                Some(figure) => format!("<td title=\"{}\">{}</td>", spread(figure), value(figure)),
                None => "<td></td>".into(),
            };
        }
        html += "</tr>\n";
    }
    html + "</table>\n"
}

/// From the lowest to the highest of the rounds.
fn spread(figure: &Figure) -> String {
    let values = || figure.values.iter().copied();
    let (low, high) = (
        values().fold(f64::MAX, f64::min),
        values().fold(f64::MIN, f64::max),
    );
    let rounds = figure.values.len();
    format!("{rounds} rounds, {low:.1} to {high:.1} {}", figure.unit)
}

pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(peer: &str, ours: bool, value: f64) -> Figure {
        Figure {
            bench: "wheel".into(),
            workload: "life".into(),
            shape: String::new(),
            n: 1_000,
            threads: 1,
            peer: peer.into(),
            ours,
            figure: "arm".into(),
            unit: "ns".into(),
            values: vec![value],
        }
    }

    #[test]
    fn the_ratio_is_to_the_best_of_the_others() {
        let figures = [
            figure("us", true, 10.0),
            figure("slow", false, 50.0),
            figure("quick", false, 5.0),
        ];
        let compared = Compared {
            figures: figures.iter().collect(),
        };
        assert_eq!(compared.ratio(), Some(0.5));
        let cell = ratio_cell(compared.ratio(), &told(&compared), "");
        assert!(cell.contains("class=\"loss\""), "{cell}");
        assert!(cell.contains("quick 5 ns"), "{cell}");
    }

    #[test]
    fn what_has_no_unit_of_time_or_memory_keeps_its_own() {
        let told = |found: f64, unit: &str| {
            let figure = Figure {
                unit: unit.into(),
                ..figure("us", true, found)
            };
            value(&figure)
        };
        assert_eq!(told(14.9998, "%"), "15 %");
        assert_eq!(told(1_200.0, ""), "1200");
        assert_eq!(told(0.0, ""), "0");
    }

    #[test]
    fn each_peer_is_counted_by_itself() {
        let figures = [
            figure("us", true, 10.0),
            figure("slow", false, 50.0),
            figure("quick", false, 5.0),
        ];
        let all = [Compared {
            figures: figures.iter().collect(),
        }];
        let html = peer_by_peer(&all);
        let slow = "<tr><th>slow</th><td>1</td><td>1</td><td>0</td><td>0</td><td class=\"win\"";
        let quick = "<tr><th>quick</th><td>1</td><td>0</td><td>0</td><td>1</td><td class=\"loss\"";
        assert!(html.contains(slow) && html.contains(quick), "{html}");
    }

    #[test]
    fn thousands_are_told_apart() {
        assert_eq!(
            [7, 1_000, 10_000_000].map(thousands),
            ["7", "1,000", "10,000,000"]
        );
    }
}
