//! The page: every picture in it, and nothing that has to be fetched.

use std::fs;

use crate::pictures::{self, Picture};
use crate::results::Results;
use crate::sections;
use crate::tables::compared;
use crate::worst;

const PAGE: &str = "docs/benchmarks.html";
const PICTURES: &str = "docs/charts";

const STYLE: &str = "
:root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--mute:#656d76;--grid:#d8dee4;--loss:#cf222e;--win:#1a7f37;--us:#0b57d0}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--mute:#9198a1;--grid:#30363d;--loss:#ff7b72;--win:#56d364;--us:#79b8ff}}
body{background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;max-width:1180px;margin:0 auto;padding:24px}
h1{margin:.2em 0}h2{margin:2em 0 .4em;border-bottom:1px solid var(--grid);padding-bottom:.2em}p{max-width:46em}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,540px),1fr));gap:12px 24px}
.pictures svg{width:100%;height:auto}
table{border-collapse:collapse;font-size:14px;margin:.6em 0;display:block;overflow-x:auto}
th,td{padding:3px 10px;border-bottom:1px solid var(--grid);text-align:right;white-space:nowrap}
th:first-child,.name{text-align:left}th{font-weight:600}tr>th:first-child{font-weight:400}tr:first-child>th{font-weight:600}.worst tr:first-child>th{font-weight:400}.worst .ours>th{font-weight:700!important}.worst .mute{white-space:normal}
.loss{color:var(--loss);font-weight:700}.level{color:var(--mute)}.win{color:var(--win)}
.mute,summary{color:var(--mute)}summary{cursor:pointer}code{font-size:.92em}
a{color:var(--us)}nav{margin:1em 0}nav a{margin-right:.9em;white-space:nowrap}small{color:var(--mute);font-weight:400}.us,.ours>th,.ours>td:nth-child(2){color:var(--us);font-weight:700}
.worst{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,540px),1fr));gap:4px 24px}.worst section{min-width:0}h3{font-size:1em;margin:1em 0 .2em}
@media(max-width:700px){body{padding:12px}small{display:block}th,td{padding:3px 5px}}
dt{font-weight:600}dd{margin:0 0 .6em 1em}
";

/// Names as [`sections::title`] makes them.
const NAV: &str = "<nav><a href=\"#at-a-glance\">At a glance</a> \
     <a href=\"#worst-cases\">Worst cases</a> \
     <a href=\"#one-owner--what-an-operation-costs\">One owner</a> \
     <a href=\"#how-long-single-calls-take\">Single calls</a> \
     <a href=\"#a-server-s-connections\">A trace</a> \
     <a href=\"#memory\">Memory</a> \
     <a href=\"#two-threads\">Threads</a> \
     <a href=\"#futures-and-callbacks\">Futures</a> \
     <a href=\"#sessions\">Sessions</a> \
     <a href=\"#where-we-lose\">Where we lose</a> \
     <a href=\"#all-figures\">All figures</a></nav>\n";

pub(crate) fn draw() -> Result<(), String> {
    let results = Results::load()?;
    let all = compared(&results);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>tickwheel beside its peers</title><style>{STYLE}</style></head><body>\n"
    );
    html += &sections::head(&results);
    html += NAV;
    html += &sections::glance(&all);
    html += &worst::worst(&results);
    // What was drawn before may have another name now.
    let old = fs::read_dir(crate::path(PICTURES)).into_iter().flatten();
    for file in old
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|is| is == "svg"))
    {
        fs::remove_file(file.path()).map_err(|error| format!("{PICTURES}: {error}"))?;
    }
    let drawn = [
        (
            "One owner: what an operation costs",
            "By how many timers are armed. Both scales are logarithmic, so that twice as much is \
             the same step everywhere; lower is better.",
            pictures::costs(&results),
        ),
        (
            "How long single calls take",
            "Half of all calls take no longer than p50, all but one in ten thousand no longer than \
             p99.99. Every call is timed by itself, with a reading of the clock.",
            pictures::latencies(&results),
        ),
        ("A server's connections", "", pictures::trace(&results)),
        (
            "Memory",
            "What the allocator was asked for and has not got back, keys held by the caller apart.",
            pictures::memory(&results),
        ),
        (
            "Two threads",
            "Each thread has timers of its own, unless it says otherwise.",
            pictures::threads(&results),
        ),
        (
            "Futures and callbacks",
            "",
            [pictures::runtime(&results), pictures::lateness(&results)]
                .into_iter()
                .flatten()
                .collect(),
        ),
        (
            "Sessions",
            "Each read is a use, and puts the end off. What caches have beside expiry is not \
             measured here.",
            pictures::typed(&results),
        ),
    ];
    for (title, text, pictures) in drawn {
        let text = match title {
            "A server's connections" => results.about("wheel", "trace"),
            _ => text,
        };
        html += &section(title, text, &pictures)?;
    }
    html += &sections::losses(&all);
    html += &sections::instructions();
    html += &sections::all_figures(&results, &all);
    html += &sections::how(&results);
    html += &sections::measured_on(&results);
    html += "</body></html>\n";
    crate::write(PAGE, &html)?;
    println!("{PAGE} and {PICTURES} are drawn");
    Ok(())
}

/// The pictures are written as files, too.
fn section(title: &str, text: &str, pictures: &[Picture]) -> Result<String, String> {
    if pictures.is_empty() {
        return Ok(String::new());
    }
    let mut html = sections::title(title);
    html += &format!(
        "<p>{}</p>\n<div class=\"pictures\">\n",
        crate::chart::escape(text)
    );
    for Picture { name, svg } in pictures {
        crate::write(&format!("{PICTURES}/{name}.svg"), svg)?;
        html += svg;
    }
    Ok(html + "</div>\n")
}
