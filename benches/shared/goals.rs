//! What the shared wheel is meant to reach, and whether it does.

use crate::harness::Found;
use crate::ours::ByLocal;
use crate::peers::{Owned, Peer, PerThread, Single};
use crate::published::Tokio;
use crate::suite::{
    ARM_CANCEL, BEYOND_A_POWER, BYTES, DRIVE, DRIVE_SHAPES, EVERY_MICROSECOND, LATENCY, REARM_LATER,
};
use crate::workloads::Shape;

/// A figure in the tables: workload, shape, peer, column.
type Cell = (&'static str, &'static str, &'static str, usize);

/// Something that is meant to be at most, or at least, so many times something else.
struct Goal {
    what: String,
    measured: Cell,
    /// Nothing where the figure itself is meant.
    over: Option<Cell>,
    limit: Limit,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

use Limit::{AtLeast, AtMost};

const OURS: &str = ByLocal::NAME;
const SINGLE: &str = Single::NAME;
const PER_THREAD: &str = PerThread::NAME;

/// The shapes by threads and thousands of timers.
const ONE: &str = "1,000, 1 thread";
const TWO: &str = "1,000, 2 threads";
const ONE_MILLION: &str = "1,000,000, 1 thread";
const TWO_MILLION: &str = "1,000,000, 2 threads";

/// Which of the figures is p99.99.
const P9999: usize = 3;

/// Prints a line for each goal whose figures were measured.
pub(crate) fn print(found: &[Found<'_, Shape>]) {
    let lines: Vec<_> = goals().iter().filter_map(|goal| goal.line(found)).collect();
    if !lines.is_empty() {
        println!("### Goals\n");
        println!("| goal | limit | measured | |\n|---|---:|---:|---|");
        println!("{}", lines.join("\n"));
    }
}

fn goals() -> Vec<Goal> {
    let mut goals = arm_cancel_goals();
    goals.extend(rearm_goals());
    goals.push(Goal {
        what: "latency, p99.99, Mutex per thread / ours".into(),
        measured: (LATENCY, EVERY_MICROSECOND, PER_THREAD, P9999),
        over: Some((LATENCY, EVERY_MICROSECOND, OURS, P9999)),
        limit: AtLeast(100.0),
    });
    goals.extend(DRIVE_SHAPES.map(|shape| Goal {
        what: format!("drive, {}, ours / single owner", shape.name),
        measured: (DRIVE, shape.name, OURS, 0),
        over: Some((DRIVE, shape.name, Owned::NAME, 0)),
        limit: AtMost(2.0),
    }));
    goals.extend([ONE_MILLION, BEYOND_A_POWER].map(|shape| Goal {
        what: format!("{BYTES}, {shape}"),
        measured: (BYTES, shape, OURS, 0),
        over: None,
        limit: AtMost(96.0),
    }));
    goals
}

fn arm_cancel_goals() -> Vec<Goal> {
    let goal = |what: &str, shape, over: [_; 2], limit| {
        let [measured, over] = over.map(|peer| (ARM_CANCEL, shape, peer, 0));
        Goal {
            what: format!("{ARM_CANCEL}, {shape}, {what}"),
            measured,
            over: Some(over),
            limit,
        }
    };
    vec![
        goal("ours / Mutex", ONE, [OURS, SINGLE], AtMost(1.3)),
        goal("Mutex / ours", TWO, [SINGLE, OURS], AtLeast(3.0)),
        goal(
            "ours / Mutex per thread",
            TWO,
            [OURS, PER_THREAD],
            AtMost(1.3),
        ),
        goal("tokio / ours", ONE, [Tokio::NAME, OURS], AtLeast(4.0)),
        goal("tokio / ours", TWO, [Tokio::NAME, OURS], AtLeast(4.0)),
    ]
}

fn rearm_goals() -> Vec<Goal> {
    let goal = |what: &str, over: [(&'static str, &'static str); 2], limit| {
        let [measured, over] = over.map(|(shape, peer)| (REARM_LATER, shape, peer, 0));
        Goal {
            what: format!("{REARM_LATER}, {}, {what}", measured.1),
            measured,
            over: Some(over),
            limit,
        }
    };
    let per_thread = |shape, limit| {
        goal(
            "Mutex per thread / ours",
            [(shape, PER_THREAD), (shape, OURS)],
            AtLeast(limit),
        )
    };
    let spread = |one, two| goal("ours / one thread", [(two, OURS), (one, OURS)], AtMost(1.3));
    vec![
        per_thread(ONE, 1.0),
        per_thread(TWO, 1.0),
        per_thread(ONE_MILLION, 1.5),
        per_thread(TWO_MILLION, 1.5),
        spread(ONE, TWO),
        spread(ONE_MILLION, TWO_MILLION),
    ]
}

// === impl Goal ===

impl Goal {
    fn line(&self, found: &[Found<'_, Shape>]) -> Option<String> {
        let measured = self.value(found)?;
        let (limit, reached) = match self.limit {
            AtMost(limit) => (format!("≤ {limit}"), measured <= limit),
            AtLeast(limit) => (format!("≥ {limit}"), measured >= limit),
        };
        let verdict = if reached { "reached" } else { "**missed**" };
        let what = &self.what;
        Some(format!("| {what} | {limit} | {measured:.2} | {verdict} |"))
    }

    /// Nothing when what it is about was not measured.
    fn value(&self, found: &[Found<'_, Shape>]) -> Option<f64> {
        let measured = figure(found, self.measured)?;
        match self.over {
            Some(over) => Some(measured / figure(found, over)?),
            None => Some(measured),
        }
    }
}

fn figure(found: &[Found<'_, Shape>], (workload, shape, peer, column): Cell) -> Option<f64> {
    let found = found.iter().find(|found| found.workload.name == workload);
    found?.figure(shape, peer, column)
}
