//! The wheel against a scan that knows no timers.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use tickwheel::Ticks;

use crate::log::{self, Hit};
use crate::run::SHIPPED;
use crate::sessions::{Counts, Ended, Limits, Reason, Sessions};

/// 2004-03-01T00:00:00Z
const MARCH: u64 = 1_078_099_200;

/// A session, in the order of ending first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    end: u64,
    visitor: (Vec<u8>, Vec<u8>),
    first_hit: u64,
    last_hit: u64,
    hits: u64,
    reason: Reason,
}

/// Looks at a visitor's session only when there is a hit, and at the end.
struct Oracle {
    limits: Limits,
    now: u64,
    out_of_order: u64,
    open: HashMap<(Vec<u8>, Vec<u8>), Row>,
    ended: Vec<Row>,
}

/// When the next hit happens.
#[derive(Clone, Copy, Debug)]
enum Jump {
    Ahead(u64),
    Back(u64),
    /// This far from the moment at which the visitor's session would end.
    Deadline(i64),
}

impl Oracle {
    fn new(limits: Limits, now: u64) -> Self {
        Self {
            limits,
            now,
            out_of_order: 0,
            open: HashMap::new(),
            ended: Vec::new(),
        }
    }

    fn hit(&mut self, hit: &Hit<'_>) {
        self.out_of_order += u64::from(hit.at < self.now);
        self.now = self.now.max(hit.at);
        let visitor = (hit.address.to_vec(), hit.agent.to_vec());
        if self
            .open
            .get(&visitor)
            .is_some_and(|session| self.now >= session.end)
        {
            self.ended.extend(self.open.remove(&visitor));
        }
        let session = self.open.entry(visitor.clone()).or_insert(Row {
            end: 0,
            visitor,
            first_hit: self.now,
            last_hit: self.now,
            hits: 0,
            reason: Reason::Idle,
        });
        session.last_hit = self.now;
        session.hits += 1;
        let idle_end = session.last_hit + self.limits.idle.get();
        let absolute_end = session.first_hit + self.limits.absolute.get();
        (session.end, session.reason) = if idle_end < absolute_end {
            (idle_end, Reason::Idle)
        } else {
            (absolute_end, Reason::Absolute)
        };
    }

    fn finish(mut self) -> Vec<Row> {
        self.ended.extend(self.open.into_values());
        self.ended.sort();
        self.ended
    }
}

fn limits(idle: u64, absolute: u64) -> Limits {
    Limits {
        idle: Ticks::new(idle),
        absolute: Ticks::new(absolute),
    }
}

/// The sessions of a log as the wheel finds them, in its order.
fn by_wheel<'a>(lines: impl IntoIterator<Item = &'a [u8]>, limits: Limits) -> (Vec<Row>, Counts) {
    let mut rows = Vec::new();
    let mut keep = |ended: &Ended<'_>| {
        rows.push(Row {
            end: ended.end,
            visitor: (ended.address.to_vec(), ended.agent.to_vec()),
            first_hit: ended.first_hit,
            last_hit: ended.last_hit,
            hits: ended.hits,
            reason: ended.reason,
        });
        assert_eq!(
            ended.seconds(),
            ended.last_hit - ended.first_hit,
            "{ended:?}"
        );
        Ok(())
    };
    let mut sessions = Sessions::new(limits);
    for line in lines {
        let hit = log::parse(line).expect("the tests write lines that make sense");
        sessions
            .hit(&hit, &mut keep)
            .expect("keeping does not fail");
    }
    let counts = sessions.finish(&mut keep).expect("keeping does not fail");
    (rows, counts)
}

/// A hit of one of four visitors: two addresses, two user agents.
fn line(visitor: u8, at: u64) -> String {
    let (address, agent) = (visitor & 1, visitor >> 1);
    let second = at - MARCH;
    let (day, hour) = (second / 86_400 + 1, second / 3_600 % 24);
    let (minute, second) = (second / 60 % 60, second % 60);
    format!(
        "10.0.0.{address} - - [{day:02}/Mar/2004:{hour:02}:{minute:02}:{second:02} +0000] \
         \"GET / HTTP/1.1\" 200 1 \"-\" \"agent/{agent}\""
    )
}

fn jump() -> impl Strategy<Value = Jump> {
    prop_oneof![
        4 => (0u64..8).prop_map(Jump::Ahead),
        1 => (0u64..100).prop_map(Jump::Ahead),
        1 => (1u64..20).prop_map(Jump::Back),
        3 => (-1i64..=1).prop_map(Jump::Deadline),
    ]
}

proptest! {
    #[test]
    fn the_wheel_finds_the_sessions_that_a_scan_finds(
        idle in 1u64..15, absolute in 1u64..50, steps in vec((0u8..4, jump()), 0..150),
    ) {
        let limits = limits(idle, absolute);
        let mut oracle = Oracle::new(limits, MARCH + 100);
        let mut lines = Vec::new();
        for (visitor, jump) in steps {
            let who = line(visitor, MARCH);
            let who = log::parse(who.as_bytes()).expect("a line that makes sense");
            let open = oracle.open.get(&(who.address.to_vec(), who.agent.to_vec()));
            let at = match jump {
                Jump::Ahead(seconds) => oracle.now + seconds,
                // The first line sets the time: nothing is older than that.
                Jump::Back(seconds) if !lines.is_empty() => oracle.now - seconds,
                Jump::Back(_) => oracle.now,
                Jump::Deadline(off) => {
                    open.map_or(oracle.now, |session| session.end.wrapping_add_signed(off))
                }
            };
            oracle.hit(&Hit { at, ..who });
            lines.push(line(visitor, at));
        }
        let (mut found, counts) = by_wheel(lines.iter().map(|line| line.as_bytes()), limits);
        prop_assert!(found.is_sorted_by_key(|row| row.end), "out of order: {found:#?}");
        prop_assert_eq!(counts.out_of_order, oracle.out_of_order, "{:#?}", lines);
        prop_assert_eq!(counts.armed, found.len() as u64, "{:?} {:#?}", counts, found);
        prop_assert_eq!(counts.armed + counts.rearmed, lines.len() as u64, "{:?}", counts);
        prop_assert_eq!(counts.fired, counts.armed, "{:?}", counts);
        found.sort();
        prop_assert_eq!(found, oracle.finish(), "{:?} {:#?}", limits, lines);
    }
}

#[test]
fn the_wheel_finds_the_same_sessions_in_the_shipped_log() {
    let log = std::fs::read(SHIPPED).expect("the log is there");
    let lines = || log.split_inclusive(|&byte| byte == b'\n');
    for (idle, absolute) in [
        (1_800, 43_200),
        (300, 3_600),
        (1, 1),
        (60, 60),
        (5, 1_000_000),
    ] {
        let limits = limits(idle, absolute);
        let mut oracle = Oracle::new(limits, 0);
        for line in lines() {
            oracle.hit(&log::parse(line).expect("a line that makes sense"));
        }
        let (mut found, counts) = by_wheel(lines(), limits);
        assert!(
            found.is_sorted_by_key(|row| row.end),
            "{limits:?}: out of order"
        );
        assert_eq!(
            counts.out_of_order, oracle.out_of_order,
            "{limits:?}: {counts:?}"
        );
        found.sort();
        assert_eq!(found, oracle.finish(), "{limits:?}");
    }
}

#[test]
fn once_a_row_cannot_be_written_no_other_is_tried() {
    let lines: Vec<_> = (0..4).map(|visitor| line(visitor, MARCH)).collect();
    let mut sessions = Sessions::new(limits(5, 5));
    for line in &lines {
        let hit = log::parse(line.as_bytes()).expect("a line that makes sense");
        sessions
            .hit(&hit, |ended| panic!("too early: {ended:?}"))
            .expect("nothing is written");
    }
    let mut tried = 0;
    let result = sessions.finish(|_| {
        tried += 1;
        Err(std::io::ErrorKind::BrokenPipe.into())
    });
    let kind = result.expect_err("the error comes through").kind();
    assert_eq!((kind, tried), (std::io::ErrorKind::BrokenPipe, 1));
}
