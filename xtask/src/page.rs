//! The page: every picture in it, and nothing that has to be fetched.

use std::fs;

use crate::pictures::{self, Picture};
use crate::results::Results;
use crate::sections;
use crate::tables::compared;

const PAGE: &str = "docs/benchmarks.html";
const PICTURES: &str = "docs/charts";

const STYLE: &str = "
:root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--mute:#656d76;--grid:#d8dee4;--loss:#cf222e;--win:#1a7f37}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--mute:#9198a1;--grid:#30363d;--loss:#ff7b72;--win:#56d364}}
body{background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;max-width:1180px;margin:0 auto;padding:24px}
h1{margin:.2em 0}h2{margin:2em 0 .4em;border-bottom:1px solid var(--grid);padding-bottom:.2em}p{max-width:46em}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,540px),1fr));gap:12px 24px}
.pictures svg{width:100%;height:auto}
table{border-collapse:collapse;font-size:14px;margin:.6em 0;display:block;overflow-x:auto}
th,td{padding:3px 10px;border-bottom:1px solid var(--grid);text-align:right;white-space:nowrap}
th:first-child,.name{text-align:left}th{font-weight:600}tr>th:first-child{font-weight:400}tr:first-child>th{font-weight:600}
.loss{color:var(--loss);font-weight:700}.level{color:var(--mute)}.win{color:var(--win)}
.mute,summary{color:var(--mute)}summary{cursor:pointer}code{font-size:.92em}
nav a{margin-right:1em}dt{font-weight:600}dd{margin:0 0 .6em 1em}
";

pub(crate) fn draw() -> Result<(), String> {
    let results = Results::load()?;
    let all = compared(&results);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>tickwheel: how fast</title><style>{STYLE}</style></head><body>\n"
    );
    html += &sections::head(&results);
    html += &sections::glance(&all);
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
        if title.starts_with("How long") {
            html += &sections::worst(&results);
        }
    }
    html += &sections::losses(&all);
    html += &sections::instructions();
    html += &sections::all_figures(&results, &all);
    html += &sections::how(&results);
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
