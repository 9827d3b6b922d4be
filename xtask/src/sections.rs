//! Parts of the page that are words and tables.

use crate::chart::escape;
use crate::instructions;
use crate::machine::Machine;
use crate::results::{Line, Results};
use crate::tables::{Compared, by_timers, everything, listed, peer_by_peer};

pub(crate) fn title(title: &str) -> String {
    let id = title
        .to_lowercase()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("<h2 id=\"{id}\">{}</h2>\n", escape(title))
}

/// What is said before all else: on what machine, when, and by which command.
pub(crate) fn head(results: &Results) -> String {
    let mut html = String::from("<h1>tickwheel beside its peers</h1>\n");
    if let Some(latest) = latest(results) {
        html += &format!(
            "<p class=\"mute\">{} · {} · {}, {} · {} · made by <code>{}</code> · \
             <a href=\"#measured-on\">versions</a></p>\n",
            escape(&latest.date),
            escape(&latest.processor),
            escape(&latest.memory),
            escape(&latest.system),
            escape(&latest.rustc),
            escape(&latest.command),
        );
    }
    html + "<p>Every peer runs the same code through a small trait, in a process of its own, in \
           turns. Ratios carry further than digits: run it on your machine. What is slower or larger \
           than the best of the others is <span class=\"loss\">red</span>; this crate is \
           <span class=\"us\">blue</span> in every picture, and each peer has one colour.</p>\n"
}

fn latest(results: &Results) -> Option<&Machine> {
    let machines = results.benches.values().map(|run| &run.machine);
    machines.max_by(|a, b| a.date.cmp(&b.date))
}

/// What each bench was measured on, and with which versions.
pub(crate) fn measured_on(results: &Results) -> String {
    let mut html = title("Measured on");
    let Some(latest) = latest(results) else {
        return html;
    };
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
    let ratios: Vec<f64> = all.iter().filter_map(Compared::ratio).collect();
    let (ahead, behind) = (
        ratios.iter().filter(|ratio| **ratio > 1.05).count(),
        ratios.iter().filter(|ratio| **ratio < 0.95).count(),
    );
    html += &format!(
        "<p>Of {} figures that peers have too, this crate is ahead of the best of them in {ahead}, \
         behind in <a href=\"#where-we-lose\">{behind}</a>, and level, within a twentieth, in {}. \
         The table says how many times as long, or as large, the best of the others is, and which one \
         that is, by how many timers are armed.</p>\n",
        ratios.len(),
        ratios.len() - ahead - behind,
    );
    html += &by_timers(all, &["life", "nothing due", "burst", "tickless"]);
    html += &peer_by_peer(all);
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
