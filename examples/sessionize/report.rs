//! The summary for people.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use indicatif::{FormattedDuration, HumanCount};

use crate::args::Options;
use crate::date::Utc;
use crate::escape::escaped;
use crate::summary::{BUCKETS, Longest, Summary};

/// Narrower terminals get lines that wrap.
const NARROWEST: usize = 40;

/// Counts stand right-aligned in a column of this width.
const COUNT: usize = 13;

/// Writes everything there is to say. Nothing from the log reaches `out` unescaped.
pub(crate) fn text(out: &mut impl Write, options: &Options, summary: &Summary) -> io::Result<()> {
    let width = terminal_width();
    let limits = options.limits;
    writeln!(out, "{}", options.input_name())?;
    match summary.span {
        Some((first, newest)) => writeln!(out, "from {} to {}\n", Utc(first), Utc(newest))?,
        None => writeln!(out, "no hits\n")?,
    }
    lines(out, summary)?;

    writeln!(out)?;
    count(out, "Sessions", summary.sessions(), "")?;
    let idle = format!("after {} s without a hit", HumanCount(limits.idle.get()));
    count(out, "  idle", summary.idle, &idle)?;
    let absolute = format!("after {} s in all", HumanCount(limits.absolute.get()));
    count(out, "  absolute", summary.absolute, &absolute)?;
    count(out, "  single hit", summary.single_hit, "")?;
    if let (Some(most_hits), Some(most_seconds)) = (&summary.most_hits, &summary.most_seconds) {
        writeln!(out)?;
        count(out, "Most hits", most_hits.hits, "")?;
        visitor(out, most_hits, width)?;
        let time = FormattedDuration(Duration::from_secs(most_seconds.seconds));
        count(
            out,
            "Most seconds",
            most_seconds.seconds,
            &format!("{time}"),
        )?;
        visitor(out, most_seconds, width)?;
        writeln!(out, "\nSessions by time from first hit to last")?;
        histogram(out, &summary.histogram, width)?;
    }

    let counts = summary.counts;
    writeln!(out)?;
    count(out, "Timers armed", counts.armed, "")?;
    count(out, "  re-armed", counts.rearmed, "")?;
    count(out, "  fired", counts.fired, "")?;
    let milliseconds = summary.elapsed.as_secs_f64() * 1e3;
    count(
        out,
        "Lines/second",
        summary.lines_per_second() as u64,
        &format!("{milliseconds:.1} ms"),
    )
}

fn lines(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    count(out, "Lines", summary.lines(), "")?;
    count(out, "  hits", summary.hits, "")?;
    let remark = match summary.counts.out_of_order {
        0 => "",
        _ => "counted at the newest time before them",
    };
    count(out, "  out of order", summary.counts.out_of_order, remark)?;
    count(out, "  malformed", summary.malformed, "")?;
    for (line, reason) in &summary.first_malformed {
        writeln!(out, "    line {line}: {reason}")?;
    }
    match summary.malformed - summary.first_malformed.len() as u64 {
        0 => Ok(()),
        more => writeln!(out, "    and {} more", HumanCount(more)),
    }
}

/// One sentence about malformed lines, for where no summary is printed.
pub(crate) fn malformed_note(summary: &Summary) -> String {
    let (malformed, lines) = (HumanCount(summary.malformed), HumanCount(summary.lines()));
    let first = match summary.first_malformed.first() {
        Some((line, reason)) => format!("; the first is line {line}: {reason}"),
        None => String::new(),
    };
    format!("left out malformed lines: {malformed} of {lines}{first}")
}

fn count(out: &mut impl Write, name: &str, count: u64, remark: &str) -> io::Result<()> {
    let gap = if remark.is_empty() { "" } else { "  " };
    writeln!(
        out,
        "{name:<14} {:>COUNT$}{gap}{remark}",
        HumanCount(count).to_string()
    )
}

/// Whose session it was, on a line of its own.
fn visitor(out: &mut impl Write, session: &Longest, width: usize) -> io::Result<()> {
    let (address, agent) = (escaped(&session.address), escaped(&session.agent));
    let line = format!("  {address}  from {}  {agent}", Utc(session.first_hit));
    if line.chars().count() <= width {
        return writeln!(out, "{line}");
    }
    let cut: String = line.chars().take(width - 1).collect();
    writeln!(out, "{cut}…")
}

fn histogram(
    out: &mut impl Write,
    histogram: &[u64; BUCKETS.len()],
    width: usize,
) -> io::Result<()> {
    let label = BUCKETS
        .iter()
        .map(|(_, label)| label.len())
        .max()
        .unwrap_or(0);
    let most = histogram.iter().copied().max().unwrap_or(0);
    let digits = HumanCount(most).to_string().len();
    let room = width.saturating_sub(2 + label + 1 + 1 + digits);
    for ((_, name), &sessions) in BUCKETS.iter().zip(histogram) {
        let count = HumanCount(sessions).to_string();
        let row = format!(
            "  {name:>label$} {count:>digits$} {}",
            bar(sessions, most, room)
        );
        writeln!(out, "{}", row.trim_end())?;
    }
    Ok(())
}

/// A bar of up to `room` characters, to the eighth of one; not empty unless `part` is zero.
fn bar(part: u64, most: u64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if part == 0 {
        return String::new();
    }
    let eighths = (part as f64 / most as f64 * (room * 8) as f64).round() as usize;
    let eighths = eighths.max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Columns to fill: `COLUMNS` if it is set, what the terminal says if there is one, or 80.
fn terminal_width() -> usize {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    told.filter(|&columns| columns > 0)
        .or_else(ask_terminal)
        .unwrap_or(80)
        .max(NARROWEST)
}

/// `stty` knows how to ask every kind of terminal; where there is none, nobody answers.
fn ask_terminal() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let terminal = File::open("/dev/tty").ok()?;
    let stty = Command::new("stty")
        .arg("size")
        .stdin(terminal)
        .stderr(Stdio::null())
        .output();
    let size = String::from_utf8(stty.ok()?.stdout).ok()?;
    size.split_whitespace()
        .nth(1)?
        .parse()
        .ok()
        .filter(|&columns| columns > 0)
}
