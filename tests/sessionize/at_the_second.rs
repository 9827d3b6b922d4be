//! What begins, continues and ends a session, and when exactly.

use serde_json::json;

use crate::run::{line, rows, summary};
use crate::sessions::Reason;

/// The sessions of one visitor with hits at the given times, each as `start end hits
/// seconds reason`, without the date.
fn sessions(idle: &str, absolute: &str, times: &[&str]) -> Vec<String> {
    let log: String = times
        .iter()
        .map(|time| line("10.0.0.1", time, "a"))
        .collect();
    let rows = rows(
        &["--idle", idle, "--absolute", absolute, "-"],
        log.as_bytes(),
    );
    let words = rows.iter().map(|row| {
        assert_eq!(row[..2], [b"10.0.0.1".to_vec(), b"a".to_vec()], "{times:?}");
        let text = String::from_utf8_lossy(&row[2..].join(&b' ')).replace("2004-03-07T", "");
        text.replace('Z', "")
    });
    words.collect()
}

#[test]
fn a_hit_one_second_before_the_idle_deadline_continues_the_session() {
    assert_eq!(
        sessions("30", "900", &["10:00:00", "10:00:29"]),
        ["10:00:00 10:00:59 2 29 idle"]
    );
}

#[test]
fn a_hit_exactly_at_the_idle_deadline_begins_a_new_session() {
    assert_eq!(
        sessions("30", "900", &["10:00:00", "10:00:30"]),
        ["10:00:00 10:00:30 1 0 idle", "10:00:30 10:01:00 1 0 idle"]
    );
}

#[test]
fn a_hit_exactly_at_the_absolute_deadline_begins_a_new_session() {
    let times = ["10:00:00", "10:00:20", "10:00:39", "10:00:40"];
    assert_eq!(
        sessions("30", "40", &times),
        [
            "10:00:00 10:00:40 3 39 absolute",
            "10:00:40 10:01:10 1 0 idle"
        ]
    );
}

#[test]
fn a_tie_of_both_deadlines_counts_as_absolute() {
    assert_eq!(
        sessions("30", "30", &["10:00:00"]),
        ["10:00:00 10:00:30 1 0 absolute"]
    );
    let times = ["10:00:00", "10:00:10"];
    assert_eq!(
        sessions("30", "40", &times),
        ["10:00:00 10:00:40 2 10 absolute"]
    );
    assert_eq!(
        sessions("30", "41", &times),
        ["10:00:00 10:00:40 2 10 idle"]
    );
    assert_eq!(
        [Reason::Idle.as_str(), Reason::Absolute.as_str()],
        ["idle", "absolute"]
    );
}

#[test]
fn an_old_line_counts_as_now() {
    // The second hit comes from before the first: it happens with it. The fourth happens
    // with the third, and so keeps the session alive until the fifth.
    let times = ["10:00:10", "10:00:00", "10:00:30", "09:00:00", "10:00:59"];
    assert_eq!(
        sessions("30", "900", &times),
        ["10:00:10 10:01:29 5 49 idle"]
    );
    let log: String = times
        .iter()
        .map(|time| line("10.0.0.1", time, "a"))
        .collect();
    let facts = summary(&["-"], log.as_bytes());
    assert_eq!(facts["out_of_order"], 2, "{facts}");
    assert_eq!(facts["from"], "2004-03-07T10:00:10Z", "{facts}");
    assert_eq!(facts["to"], "2004-03-07T10:00:59Z", "{facts}");
}

#[test]
fn an_old_line_does_not_bring_an_ended_session_back() {
    let log = [
        line("10.0.0.1", "10:00:00", "a"),
        line("10.0.0.2", "10:00:30", "a"), // by now the first session has ended
        line("10.0.0.1", "10:00:10", "a"),
    ];
    let facts = summary(&["--idle=30", "-"], log.concat().as_bytes());
    let found = json!([
        facts["sessions"],
        facts["single_hit"],
        facts["out_of_order"]
    ]);
    assert_eq!(found, json!([3, 3, 1]), "{facts}");
}

#[test]
fn address_and_agent_together_make_a_visitor() {
    let log = [
        line("10.0.0.1", "10:00:00", "a"),
        line("10.0.0.1", "10:00:01", "b"),
        line("10.0.0.2", "10:00:02", "a"),
        line("10.0.0.1", "10:00:03", "a"),
        line("10.0.0.1", "10:00:04", "-"),
        "10.0.0.1 - - [07/Mar/2004:10:00:05 +0000] \"GET /\" 200 5\n".to_owned(),
        "10.0.0.1 - - [07/Mar/2004:02:00:06 -0800] \"GET /\" 200 -\n".to_owned(),
    ];
    let facts = summary(&["-"], log.concat().as_bytes());
    assert_eq!(
        json!([facts["hits"], facts["sessions"]]),
        json!([7, 4]),
        "{facts}"
    );
    assert_eq!(facts["most_hits"]["user_agent"], "-", "{facts}");
    assert_eq!(facts["most_hits"]["hits"], 3, "{facts}");
}

#[test]
fn sessions_come_in_the_order_they_end() {
    let log = [
        line("10.0.0.1", "10:00:00", "a"),
        line("10.0.0.2", "10:00:01", "a"),
        line("10.0.0.1", "10:00:05", "a"),
        line("10.0.0.3", "11:00:00", "a"),
    ];
    let rows = rows(&["--idle", "10", "-"], log.concat().as_bytes());
    let order: Vec<_> = rows
        .iter()
        .map(|row| String::from_utf8_lossy(&row[0]))
        .collect();
    assert_eq!(order, ["10.0.0.2", "10.0.0.1", "10.0.0.3"], "{rows:?}");
}
