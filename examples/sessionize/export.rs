//! For other programs: the summary as JSON, the sessions as CSV.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::args::Options;
use crate::date::Utc;
use crate::sessions::Ended;
use crate::summary::{BUCKETS, Longest, Summary};

/// Writes the summary as one JSON object on one line. Bytes that are not UTF-8 are
/// replaced: JSON has no place for them.
pub(crate) fn json(out: &mut impl Write, options: &Options, summary: &Summary) -> io::Result<()> {
    let malformed: Vec<Value> = summary
        .first_malformed
        .iter()
        .map(|(line, reason)| json!({ "line": line, "reason": reason.to_string() }))
        .collect();
    let ends = BUCKETS
        .iter()
        .skip(1)
        .map(|&(from, _)| Some(from - 1))
        .chain([None]);
    let lengths: Vec<Value> = BUCKETS
        .iter()
        .zip(ends)
        .zip(summary.histogram)
        .map(|((&(from, _), to), sessions)| json!({ "from": from, "to": to, "sessions": sessions }))
        .collect();
    let object = json!({
        "log": options.file.to_string_lossy(),
        "idle_limit": options.limits.idle.get(),
        "absolute_limit": options.limits.absolute.get(),
        "from": summary.span.map(|(first, _)| Utc(first).to_string()),
        "to": summary.span.map(|(_, newest)| Utc(newest).to_string()),
        "lines": summary.lines(),
        "hits": summary.hits,
        "malformed": summary.malformed,
        "first_malformed": malformed,
        "out_of_order": summary.counts.out_of_order,
        "sessions": summary.sessions(),
        "ended_idle": summary.idle,
        "ended_absolute": summary.absolute,
        "single_hit": summary.single_hit,
        "most_hits": summary.most_hits.as_ref().map(longest),
        "most_seconds": summary.most_seconds.as_ref().map(longest),
        "sessions_by_seconds": lengths,
        "timers": {
            "armed": summary.counts.armed,
            "rearmed": summary.counts.rearmed,
            "fired": summary.counts.fired,
        },
        "elapsed_seconds": summary.elapsed.as_secs_f64(),
        "lines_per_second": summary.lines_per_second(),
    });
    writeln!(out, "{object}")
}

fn longest(session: &Longest) -> Value {
    json!({
        "address": String::from_utf8_lossy(&session.address),
        "user_agent": String::from_utf8_lossy(&session.agent),
        "start": Utc(session.first_hit).to_string(),
        "hits": session.hits,
        "seconds": session.seconds,
    })
}

pub(crate) fn csv_header(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "address,user_agent,start,end,hits,seconds,reason")
}

/// Writes one session as one row, its bytes as they are in the log.
pub(crate) fn csv_row(out: &mut impl Write, ended: &Ended<'_>) -> io::Result<()> {
    csv_field(out, ended.address)?;
    out.write_all(b",")?;
    csv_field(out, ended.agent)?;
    let (start, end) = (Utc(ended.first_hit), Utc(ended.end));
    let (hits, seconds, reason) = (ended.hits, ended.seconds(), ended.reason.as_str());
    writeln!(out, ",{start},{end},{hits},{seconds},{reason}")
}

/// A field that could be mistaken for more than one is quoted, quotes in it are doubled.
fn csv_field(out: &mut impl Write, field: &[u8]) -> io::Result<()> {
    if !field.iter().any(|byte| b",\"\r\n".contains(byte)) {
        return out.write_all(field);
    }
    out.write_all(b"\"")?;
    for (nth, part) in field.split(|&byte| byte == b'"').enumerate() {
        if nth > 0 {
            out.write_all(b"\"\"")?;
        }
        out.write_all(part)?;
    }
    out.write_all(b"\"")
}
