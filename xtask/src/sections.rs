//! Parts of the page that are words and tables.

use std::collections::BTreeMap;

use crate::chart::{Unit, escape, quantity};
use crate::instructions;
use crate::results::{Figure, Line, Results};
use crate::tables::{Compared, by_timers, everything, listed};

pub(crate) fn title(title: &str) -> String {
    let id = title
        .to_lowercase()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("<h2 id=\"{id}\">{}</h2>\n", escape(title))
}

pub(crate) fn head(results: &Results) -> String {
    let mut html = String::from(
        "<h1>tickwheel: how fast</h1>\n\
         <p>Every peer runs the same code through a small trait, in a process of its own, in turns. \
         Ratios carry further than digits: run it on your machine. What is slower than the best of \
         the others is <span class=\"loss\">red</span>.</p>\n",
    );
    let Some(latest) = results
        .benches
        .values()
        .map(|run| &run.machine)
        .max_by(|a, b| a.date.cmp(&b.date))
    else {
        return html;
    };
    html += &format!(
        "<p class=\"mute\">{}, {}, {} · {}</p>\n",
        escape(&latest.processor),
        escape(&latest.memory),
        escape(&latest.system),
        escape(&latest.rustc),
    );
    let versions = latest.versions.iter();
    let versions: Vec<_> = versions
        .map(|(name, version)| format!("{} {}", escape(name), escape(version)))
        .collect();
    html += &format!("<p class=\"mute\">{}</p>\n", versions.join(" · "));
    html += "<table><tr><th>bench</th><th>day</th><th>tickwheel at</th><th>load before</th>\
             <th>priority</th><th class=\"name\">command</th></tr>\n";
    for (bench, run) in &results.benches {
        let of = &run.machine;
        let priority = if of.real_time {
            "real-time"
        } else {
            "as usual"
        };
        html += &format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{priority}</td>\
             <td class=\"name\"><code>{}</code></td></tr>\n",
            escape(bench),
            escape(&of.date),
            escape(&of.commit),
            escape(&of.load),
            escape(&of.command),
        );
        if (&of.processor, &of.rustc, &of.versions)
            != (&latest.processor, &latest.rustc, &latest.versions)
        {
            html += &format!(
                "<tr><th></th><td class=\"name\" colspan=5>on another machine or with other \
                 versions: {}, {}</td></tr>\n",
                escape(&of.processor),
                escape(&of.rustc)
            );
        }
    }
    html + "</table>\n"
}

/// The ratios, first of one owner by how many timers, then of the rest.
pub(crate) fn glance(all: &[Compared<'_>]) -> String {
    let mut html = title("At a glance");
    html += "<p>How many times as long, or as large, the best of the others is. It is a different one \
             from row to row: rest the pointer on a cell to see which.</p>\n";
    html += &by_timers(all, &["life", "nothing due", "burst", "tickless"]);
    for (bench, name) in [
        ("wheel", "Carries, the trace, memory, a long jump"),
        ("shared", "Several threads"),
        ("runtime", "Futures"),
        ("lateness", "Lateness"),
        ("typed", "Typed expiry"),
    ] {
        let rest = all.iter().filter(|compared| {
            let of = compared.first();
            let tabled =
                ["life", "nothing due", "burst", "tickless"].contains(&of.workload.as_str());
            of.bench == bench && !(bench == "wheel" && tabled) && compared.ratio().is_some()
        });
        let rest: Vec<_> = rest.collect();
        if !rest.is_empty() {
            html += &format!("<details><summary>{name}</summary>\n");
            html += &listed(rest.into_iter());
            html += "</details>\n";
        }
    }
    html
}

/// Every figure in which one of the others is ahead.
pub(crate) fn losses(all: &[Compared<'_>]) -> String {
    let lost = all
        .iter()
        .filter(|compared| compared.ratio().is_some_and(|ratio| ratio < 0.95));
    let mut lost: Vec<_> = lost.collect();
    lost.sort_by(|a, b| {
        a.ratio()
            .unwrap_or(1.0)
            .total_cmp(&b.ratio().unwrap_or(1.0))
    });
    let mut html = title("Where we lose");
    if lost.is_empty() {
        return html + "<p>Nowhere, in what was measured.</p>\n";
    }
    html += "<p>Every figure in which one of the others is ahead by more than a twentieth, the \
             worst first.</p>\n";
    html + &listed(lost.into_iter())
}

/// The longest and the largest, over all that was measured.
pub(crate) fn worst(results: &Results) -> String {
    let mut html = title("Worst cases");
    let advance = |figure: &Figure| {
        figure.bench == "wheel"
            && figure.figure.contains("worst")
            && figure.figure.contains("advance")
            || figure.bench == "wheel" && figure.figure == "advance worst"
    };
    html += &extremes(
        results,
        "The longest advance by a tick, in any workload and at any size, unless all were due in it",
        advance,
    );
    html += &extremes(
        results,
        "The longest cancel and arm while another thread fires a million timers",
        |figure| {
            figure.bench == "shared" && figure.workload == "latency" && figure.figure == "worst"
        },
    );
    html += &extremes(
        results,
        "Bytes for each armed timer after two million others were cancelled",
        |figure| figure.bench == "wheel" && figure.figure == "after churn",
    );
    html += &extremes(
        results,
        "Memory that a process has grown by while timers come and go, and nobody drives",
        |figure| figure.bench == "shared" && figure.figure == "grown",
    );
    html + "<p class=\"mute\">The longest of a run holds what the machine did to it as well: an \
            interrupt, a page that had to be fetched.</p>\n"
}

/// The largest figure of each peer, and where it was.
fn extremes(results: &Results, title: &str, of: impl Fn(&Figure) -> bool) -> String {
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
    let mut html = format!(
        "<table><tr><th>{}</th><th></th><th class=\"name\">where</th></tr>\n",
        escape(title)
    );
    for (peer, (figure, value)) in rows {
        let unit = Unit::of(&figure.unit).map_or(Unit::Bytes, |(unit, _)| unit);
        let bold = if figure.ours { " class=\"win\"" } else { "" };
        let shape = if figure.shape.is_empty() {
            String::new()
        } else {
            format!(", {}", figure.shape)
        };
        html += &format!(
            "<tr><th>{}</th><td{bold}>{}</td><td class=\"name mute\">{}{shape}, {} timers</td></tr>\n",
            escape(peer),
            quantity(value, unit),
            escape(&figure.workload),
            crate::tables::thousands(figure.n),
        );
    }
    html + "</table>\n"
}

pub(crate) fn instructions() -> String {
    let Ok(baseline) = instructions::baseline() else {
        return String::new();
    };
    let mut html = title("Instructions");
    html += &format!(
        "<p>Counted by valgrind, the same on every run: {}. <code>cargo xtask instructions</code> \
         fails when an operation takes over 5% more.</p>\n",
        escape(&baseline.of)
    );
    html += "<table><tr><th>operation</th><th>instructions</th></tr>\n";
    for (name, count) in &baseline.counts {
        html += &format!("<tr><th>{}</th><td>{count:.1}</td></tr>\n", escape(name));
    }
    html + "</table>\n"
}

pub(crate) fn all_figures(results: &Results, all: &[Compared<'_>]) -> String {
    let mut html = title("All figures");
    html += "<p>Medians; the lowest and the highest of the rounds where the pointer rests.</p>\n";
    for line in results.lines() {
        let Line::About {
            bench,
            workload,
            text,
        } = line
        else {
            continue;
        };
        html += &format!(
            "<details><summary>{}: {}</summary><p>{}</p>\n{}</details>\n",
            escape(bench),
            escape(workload),
            escape(text),
            everything(all, bench, workload),
        );
    }
    html
}

/// How each peer is used, and who failed.
pub(crate) fn how(results: &Results) -> String {
    let mut html = title("How the peers are used");
    html += "<dl>\n";
    for line in results.lines() {
        if let Line::Peer { bench, peer, how } = line {
            html += &format!(
                "<dt>{} <span class=\"mute\">{}</span></dt><dd>{}</dd>\n",
                escape(peer),
                escape(bench),
                escape(how)
            );
        }
    }
    html += "</dl>\n";
    let failures: Vec<_> = results.failures().collect();
    if failures.is_empty() {
        return html;
    }
    html += &title("What failed");
    html += "<table><tr><th>peer</th><th>workload</th><th>timers</th><th>why</th></tr>\n";
    for failure in failures {
        html += &format!(
            "<tr><th>{}</th><td class=\"name\">{} {}</td><td>{}</td><td class=\"name\">{}</td></tr>\n",
            escape(&failure.peer),
            escape(&failure.workload),
            escape(&failure.shape),
            crate::tables::thousands(failure.n),
            escape(&failure.error)
        );
    }
    html + "</table>\n"
}
