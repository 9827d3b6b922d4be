//! Which pictures are drawn of which figures.

use crate::chart::{Axis, Dots, Lines, Row, Series, Unit};
use crate::results::{Figure, Results};

#[derive(Debug)]
pub(crate) struct Picture {
    /// Of the file.
    pub(crate) name: String,
    pub(crate) svg: String,
}

/// Of the costs of one owner, the workload, the figure and what it is called.
const COSTS: [(&str, &str, &str); 9] = [
    ("life", "arm", "Arm"),
    ("life", "cancel+arm", "Cancel, and arm another"),
    ("life", "rearm", "Re-arm, to any deadline"),
    ("life", "refresh", "Re-arm, to a later deadline"),
    ("life", "expire", "Expire, one advance per tick"),
    (
        "tickless",
        "expire, tickless",
        "Expire, advancing only when due",
    ),
    ("nothing due", "nothing due", "Advance, nothing due"),
    ("burst", "arm into one tick", "Arm, all into one tick"),
    ("burst", "fire in one tick", "Fire, all in one tick"),
];

/// What each operation costs, by how many timers are armed.
pub(crate) fn costs(results: &Results) -> Vec<Picture> {
    let drawn = COSTS.iter().filter_map(|(workload, figure, title)| {
        let of = |found: &&Figure| {
            found.bench == "wheel"
                && found.workload == *workload
                && found.figure == *figure
                && found.shape.is_empty()
        };
        let per = if *figure == "nothing due" {
            "per tick"
        } else {
            "per timer"
        };
        let lines = Lines {
            title,
            figure: &format!("time {per}"),
            unit: Unit::Nanoseconds,
            across: Axis::Timers,
            series: series(results.figures().filter(of), |found| found.n as f64),
        };
        picture(&format!("cost-{figure}"), lines.draw())
    });
    drawn.collect()
}

/// How long single calls take: the names of the quantiles, without what they are of.
const QUANTILES: [&str; 6] = ["p50", "p90", "p99", "p99.9", "p99.99", "worst"];

pub(crate) fn latencies(results: &Results) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for (of, title) in [("advance", "One advance by a tick"), ("arm", "One arm")] {
        for (shape, from) in [("", ""), ("from tick 16747216", ", across a carry of 2^24")] {
            if of == "arm" && !shape.is_empty() {
                continue;
            }
            let title = format!("{title}, a million timers{from}");
            let found = results.figures().filter(|found| {
                found.bench == "wheel"
                    && found.workload == "latency"
                    && found.shape == shape
                    && found.n == 1_000_000
                    && found.figure.starts_with(&format!("{of} "))
            });
            pictures.extend(quantiles(&format!("latency-{of}{from}"), &title, found));
        }
    }
    let found = results.figures().filter(|found| {
        found.bench == "shared" && found.workload == "latency" && found.shape == "a request per µs"
    });
    let title = "Cancel and arm while a million timers fire";
    pictures.extend(quantiles("latency-shared", title, found));
    pictures
}

pub(crate) fn lateness(results: &Results) -> Vec<Picture> {
    let found = results.figures().filter(|found| found.bench == "lateness");
    let found: Vec<_> = found.filter(|found| found.workload == "load").collect();
    let title = "How late 100,000 callbacks a second are";
    quantiles("lateness", title, found.into_iter())
        .into_iter()
        .collect()
}

/// A line for each peer over the quantiles of one distribution.
fn quantiles<'a>(
    name: &str,
    title: &str,
    found: impl Iterator<Item = &'a Figure>,
) -> Option<Picture> {
    let found: Vec<_> = found.collect();
    let place = |figure: &Figure| {
        let quantile = figure.figure.rsplit(' ').next()?;
        QUANTILES.iter().position(|known| *known == quantile)
    };
    let measured: Vec<usize> = (0..QUANTILES.len())
        .filter(|at| found.iter().any(|figure| place(figure) == Some(*at)))
        .collect();
    let across = |figure: &Figure| {
        let at = place(figure).unwrap_or(0);
        let place = measured.iter().position(|known| *known == at);
        place.unwrap_or(0) as f64
    };
    let of_quantiles = found
        .iter()
        .copied()
        .filter(|figure| place(figure).is_some());
    let names = measured.iter().map(|at| QUANTILES[*at].to_string());
    let lines = Lines {
        title,
        figure: "time",
        unit: Unit::Nanoseconds,
        across: Axis::Places(names.collect(), "so many calls take no longer"),
        series: series(of_quantiles, across),
    };
    picture(name, lines.draw())
}

pub(crate) fn memory(results: &Results) -> Vec<Picture> {
    let wheel = |workload: &str, figure: &str, n: u64| {
        let (workload, figure) = (workload.to_string(), figure.to_string());
        move |found: &&Figure| {
            found.bench == "wheel"
                && found.workload == workload
                && found.figure == figure
                && found.n == n
        }
    };
    let armed = Dots {
        title: "Memory, a million timers with 8 bytes each",
        figure: "bytes per timer",
        unit: Unit::Bytes,
        rows: rows(results, &wheel("life", "memory", 1_000_000), None),
    };
    let churned = Dots {
        title: "Memory after two million cancelled timers",
        figure: "bytes per armed timer, before (hollow) and after",
        unit: Unit::Bytes,
        rows: rows(
            results,
            &wheel("churn", "after churn", 10_000),
            Some(&wheel("churn", "when armed", 10_000)),
        ),
    };
    let trace = results.figures().filter(|found| found.workload == "trace");
    let most = trace.map(|found| found.n).max().unwrap_or(0).min(100_000);
    let peak = Dots {
        title: "Memory at the peak of the trace",
        figure: "bytes per timer armed then",
        unit: Unit::Bytes,
        rows: rows(results, &wheel("trace", "peak of the trace", most), None),
    };
    let drawn = [
        ("memory", armed),
        ("memory-churn", churned),
        ("memory-trace", peak),
    ];
    drawn
        .into_iter()
        .filter_map(|(name, dots)| picture(name, dots.draw()))
        .collect()
}

pub(crate) fn trace(results: &Results) -> Vec<Picture> {
    let of = |figure: &str| {
        let figure = figure.to_string();
        move |found: &&Figure| {
            found.workload == "trace" && found.figure == figure && found.n == 100_000
        }
    };
    let cost = Dots {
        title: "The trace: an event, with the ticks in between",
        figure: "time per event",
        unit: Unit::Nanoseconds,
        rows: rows(results, &of("an event of the trace"), None),
    };
    let worst = Dots {
        title: "The trace: single advances",
        figure: "time, at p99.9 (hollow) and the longest",
        unit: Unit::Nanoseconds,
        rows: rows(
            results,
            &of("worst advance in the trace"),
            Some(&of("p99.9 advance in the trace")),
        ),
    };
    let drawn = [("trace-event", cost), ("trace-advance", worst)];
    drawn
        .into_iter()
        .filter_map(|(name, dots)| picture(name, dots.draw()))
        .collect()
}

/// What changes when a second thread does the same: workload, timers of each thread, figure, title.
const THREADS: [(&str, u64, &str, &str); 6] = [
    (
        "arm_cancel",
        1_000,
        "cancel+arm",
        "Cancel and arm, 1,000 timers a thread",
    ),
    (
        "mixed",
        1_000,
        "arm and cancel or fire",
        "90% cancelled, 10% fired",
    ),
    (
        "rearm_later",
        1_000,
        "rearm",
        "Re-arm later, 1,000 timers a thread",
    ),
    (
        "rearm_later",
        1_000_000,
        "rearm",
        "Re-arm later, a million timers a thread",
    ),
    (
        "rearm_earlier",
        1_000,
        "rearm and driver",
        "Re-arm earlier, with the driver's part",
    ),
    ("cross", 1_000, "both", "One thread arms, another cancels"),
];

pub(crate) fn threads(results: &Results) -> Vec<Picture> {
    let drawn = THREADS.iter().filter_map(|(workload, n, figure, title)| {
        let of = |threads: u64| {
            move |found: &&Figure| {
                found.bench == "shared"
                    && found.workload == *workload
                    && found.figure == *figure
                    && found.n == *n
                    && found.threads == threads
            }
        };
        let alone: &dyn Fn(&&Figure) -> bool = &of(1);
        let both = *workload == "cross";
        let dots = Dots {
            title,
            figure: if both {
                "time per timer"
            } else {
                "time per operation and thread; one thread (hollow), two"
            },
            unit: Unit::Nanoseconds,
            rows: rows(results, &of(2), (!both).then_some(alone)),
        };
        picture(&format!("threads-{workload}-{n}"), dots.draw())
    });
    drawn.collect()
}

pub(crate) fn runtime(results: &Results) -> Vec<Picture> {
    let mut names: Vec<&str> = Vec::new();
    for found in results.figures().filter(|found| found.bench == "runtime") {
        if !names.contains(&found.workload.as_str()) {
            names.push(&found.workload);
        }
    }
    let drawn = names.iter().filter_map(|workload| {
        let of = |found: &&Figure| found.bench == "runtime" && found.workload == *workload;
        let dots = Dots {
            title: &format!("Futures: {workload}"),
            figure: "time to make, poll once and drop",
            unit: Unit::Nanoseconds,
            rows: rows(results, &of, None),
        };
        picture(&format!("runtime-{workload}"), dots.draw())
    });
    drawn.collect()
}

/// Sessions beside caches: by how many threads read, and what one takes.
pub(crate) fn typed(results: &Results) -> Vec<Picture> {
    let of = |workload: &'static str, figure: &'static str, n: u64, threads: u64| {
        move |found: &&Figure| {
            found.bench == "typed"
                && found.workload == workload
                && found.figure == figure
                && (found.n, found.threads) == (n, threads)
                && ["", "a session"].contains(&found.shape.as_str())
        }
    };
    let read = |title, n| Dots {
        title,
        figure: "time per call and thread, median; one thread (hollow), two",
        unit: Unit::Nanoseconds,
        rows: rows(
            results,
            &of("get", "median", n, 2),
            Some(&of("get", "median", n, 1)),
        ),
    };
    let taken = Dots {
        title: "Take out a session that has expired",
        figure: "time per session, of 100,000",
        unit: Unit::Nanoseconds,
        rows: rows(results, &of("expire", "take out", 100_000, 1), None),
    };
    let bytes = Dots {
        title: "Memory of a session, key and value of 16 bytes each",
        figure: "resident bytes, of a million",
        unit: Unit::Bytes,
        rows: rows(results, &of("bytes", "memory", 1_000_000, 1), None),
    };
    let drawn = [
        (
            "typed-get-1k",
            read("Read and touch one of 1,000 sessions", 1_000),
        ),
        (
            "typed-get-100k",
            read("Read and touch one of 100,000 sessions", 100_000),
        ),
        ("typed-expire", taken),
        ("typed-bytes", bytes),
    ];
    drawn
        .into_iter()
        .filter_map(|(name, dots)| picture(name, dots.draw()))
        .collect()
}

// --- what they share ---

fn picture(name: &str, svg: Option<String>) -> Option<Picture> {
    let svg = svg?;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.to_lowercase().chars().map(plain).collect();
    let parts: Vec<_> = name.split('-').filter(|part| !part.is_empty()).collect();
    let name = parts.join("-");
    Some(Picture { name, svg })
}

/// In nanoseconds or bytes.
fn scaled(figure: &Figure) -> Option<f64> {
    let (_, factor) = Unit::of(&figure.unit)?;
    let value = figure.value() * factor;
    (value > 0.0).then_some(value)
}

fn series<'a>(
    found: impl Iterator<Item = &'a Figure>,
    across: impl Fn(&Figure) -> f64,
) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for figure in found {
        let Some(value) = scaled(figure) else {
            continue;
        };
        let point = (across(figure), value);
        match all.iter_mut().find(|series| series.peer == figure.peer) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                peer: figure.peer.clone(),
                ours: figure.ours,
                points: vec![point],
            }),
        }
    }
    for series in &mut all {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

fn rows(
    results: &Results,
    after: &dyn Fn(&&Figure) -> bool,
    before: Option<&dyn Fn(&&Figure) -> bool>,
) -> Vec<Row> {
    let found = results.figures().filter(|found| after(found));
    let row = |figure: &Figure| {
        let earlier = before.and_then(|before| {
            let mut all = results.figures().filter(|found| before(found));
            scaled(all.find(|found| found.peer == figure.peer)?)
        });
        Some(Row {
            peer: figure.peer.clone(),
            ours: figure.ours,
            before: earlier,
            after: scaled(figure)?,
        })
    };
    found.filter_map(row).collect()
}
