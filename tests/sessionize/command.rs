//! The example as a command: ways in, ways out, and failure.

use std::io::Write;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::log::Malformed;
use crate::run::{SHIPPED, example, file, line, rows, run, sessionize, summary};

fn shipped() -> Vec<u8> {
    std::fs::read(SHIPPED).expect("the log is there")
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

/// What does not depend on the machine or on where the log came from.
fn facts(mut summary: Value) -> Value {
    let object = summary.as_object_mut().expect("one object");
    for measured in ["log", "elapsed_seconds", "lines_per_second"] {
        assert!(
            object.remove(measured).is_some(),
            "no {measured} in {object:?}"
        );
    }
    summary
}

#[test]
fn the_shipped_log_has_the_sessions_it_has() {
    let facts = |limits: &[&str]| {
        let facts = summary(&[limits, &[SHIPPED]].concat(), b"");
        let whole = json!([facts["lines"], facts["hits"], facts["malformed"]]);
        assert_eq!(whole, json!([1_406, 1_406, 0]), "{facts}");
        let histogram = facts["sessions_by_seconds"]
            .as_array()
            .expect("an array")
            .iter();
        let sum: u64 = histogram
            .filter_map(|bucket| bucket["sessions"].as_u64())
            .sum();
        assert_eq!(facts["sessions"], sum, "{facts}");
        json!([
            facts["sessions"],
            facts["ended_idle"],
            facts["ended_absolute"],
            facts["single_hit"],
            facts["most_hits"]["hits"],
            facts["most_seconds"]["seconds"],
        ])
    };
    assert_eq!(facts(&[]), json!([233, 232, 1, 133, 245, 42_560]));
    assert_eq!(facts(&["--idle=1800", "--absolute=43200"]), facts(&[]));
    let short = facts(&["--idle", "300", "--absolute", "3600"]);
    assert_eq!(short, json!([326, 325, 1, 154, 44, 3_599]));
}

#[test]
fn the_way_in_does_not_change_the_answer() {
    let plain = shipped();
    let whole = gzip(&plain);
    let (head, tail) = plain.split_at(plain.len() / 3); // in the middle of a line
    let members = [gzip(head), gzip(b""), gzip(tail)].concat();
    let expected = facts(summary(&[SHIPPED], b""));
    let sessions = rows(&[SHIPPED], b"");
    assert_eq!(json!(sessions.len()), expected["sessions"]);
    for (name, content) in [("plain", &plain), ("gzip", &whole), ("members", &members)] {
        assert_eq!(facts(summary(&["-"], content)), expected, "{name} on stdin");
        assert_eq!(rows(&["-"], content), sessions, "{name} on stdin");
        let path = file(name, content);
        assert_eq!(facts(summary(&[&path], b"")), expected, "{name} in a file");
        assert_eq!(rows(&["--", &path], b""), sessions, "{name} in a file");
    }
}

#[test]
fn malformed_lines_are_counted_and_the_first_are_reported() {
    let good = line("10.0.0.1", "10:00:00", "a");
    let long = format!("{}\n", "x".repeat(1 << 20));
    let bad: [(&str, Malformed); 7] = [
        ("\n", Malformed::Empty),
        (&long, Malformed::TooLong),
        ("\0\0\0\n", Malformed::NoDate),
        (&good.replace("07/Mar", "32/Mar"), Malformed::Day),
        (&good.replace(" 200 ", " OK "), Malformed::Status),
        ("h\n", Malformed::NoDate),
        ("h", Malformed::NoDate), // no line feed at the end
    ];
    let mut log = Vec::from(*b"\xff\xfe\n");
    for (line, _) in &bad {
        log.extend_from_slice(good.as_bytes());
        log.extend_from_slice(line.as_bytes());
    }
    let facts = summary(&["-"], &log);
    let counts = json!([
        facts["lines"],
        facts["hits"],
        facts["malformed"],
        facts["sessions"]
    ]);
    assert_eq!(counts, json!([15, 7, 8, 1]), "{facts}");
    let first = bad[..4]
        .iter()
        .zip(1..)
        .map(|((_, reason), nth)| (2 * nth + 1, *reason));
    let first = [(1, Malformed::NoDate)].into_iter().chain(first);
    let first: Vec<_> = first
        .map(|(line, why)| json!({ "line": line, "reason": why.to_string() }))
        .collect();
    assert_eq!(facts["first_malformed"], json!(first), "{facts}");

    let text = sessionize(&["-"], &log);
    let stdout = String::from_utf8_lossy(&text.stdout);
    assert!(text.status.success() && text.stderr.is_empty(), "{text:?}");
    assert!(stdout.contains("line 5: too long\n"), "{stdout}");
    assert!(stdout.contains("and 3 more\n"), "{stdout}");
    let csv = sessionize(&["--csv", "-"], &log);
    let stderr = String::from_utf8_lossy(&csv.stderr);
    assert!(
        csv.status.success() && stderr.contains("8 of 15; the first is line 1:"),
        "{stderr}"
    );
}

#[test]
fn an_empty_log_is_no_error() {
    for nothing in [Vec::new(), gzip(b"")] {
        let facts = summary(&["-"], &nothing);
        assert_eq!(
            json!([facts["lines"], facts["sessions"]]),
            json!([0, 0]),
            "{facts}"
        );
        assert_eq!(
            json!([facts["from"], facts["most_hits"]]),
            json!([null, null]),
            "{facts}"
        );
        let rows = rows(&["-"], &nothing);
        assert!(rows.is_empty(), "{rows:?}");
        let text = sessionize(&["-"], &nothing);
        let stdout = String::from_utf8_lossy(&text.stdout);
        assert!(
            text.status.success() && stdout.contains("no hits"),
            "{text:?}"
        );
    }
}

#[test]
fn what_cannot_be_done_ends_with_status_2_and_says_why() {
    let broken = gzip(&shipped());
    let cut = file("cut.gz", &broken[..broken.len() / 2]);
    let mut broken = broken;
    let middle = broken.len() / 2;
    broken[middle..middle + 64].fill(0xa5);
    let corrupt = file("corrupt.gz", &broken);
    let garbage = file("garbage.gz", b"\x1f\x8b");
    let directory = env!("CARGO_TARGET_TMPDIR");
    let cases: [(&[&str], &str); 16] = [
        (&["no/such/file"], "cannot read no/such/file: "),
        (&[directory], "cannot read "),
        (&[&cut], "cut.gz: "),
        (&[&corrupt], "corrupt.gz: "),
        (&[&garbage], "garbage.gz: "),
        (&["--frobnicate", SHIPPED], "unknown option --frobnicate"),
        (&["-x\u{1b}[31m", SHIPPED], "unknown option -x\\u{1b}[31m"),
        (&["--", "--json"], "cannot read --json: "),
        (&[], "no log given"),
        (&[SHIPPED, SHIPPED], "more than one log"),
        (&["--json", "--csv", SHIPPED], "exclude each other"),
        (&["--json=yes", SHIPPED], "--json takes no value"),
        (&["--idle"], "--idle needs a number"),
        (&["--idle", "0", SHIPPED], "--idle needs a whole number"),
        (
            &["--absolute=1h", SHIPPED],
            "--absolute needs a whole number of seconds",
        ),
        (
            &["--absolute", "4294967296", SHIPPED],
            "from 1 to 4294967295, not 4294967296",
        ),
    ];
    for (arguments, why) in cases {
        let output = sessionize(arguments, b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(stderr.contains(why), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn help_and_version_are_answers() {
    for (argument, start) in [
        ("--help", "Turns "),
        ("-h", "Turns "),
        ("-V", "sessionize "),
    ] {
        let output = sessionize(&["--idle", "5", argument], b"");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && stdout.starts_with(start),
            "{output:?}"
        );
    }
}

#[test]
fn whatever_an_agent_contains_comes_back_from_the_csv() {
    let agents: [&[u8]; 7] = [
        b"plain",
        b"a, b",
        b"say \\\"hi\\\"",
        b"cr\rcr",
        b"\\\",\\\"",
        b"\xff\0\x1b",
        "grün".as_bytes(),
    ];
    let mut log = Vec::new();
    for agent in agents {
        log.extend_from_slice(b"10.0.0.1,\"x - - [07/Mar/2004:10:00:00 +0000] ");
        log.extend_from_slice(b"\"GET /\" 200 5 \"-\" \"");
        log.extend_from_slice(agent);
        log.extend_from_slice(b"\"\n");
    }
    let rows = rows(&["-"], &log);
    assert!(rows.iter().all(|row| row.len() == 7), "{rows:?}");
    assert!(rows.iter().all(|row| row[0] == b"10.0.0.1,\"x"), "{rows:?}");
    let found: Vec<&[u8]> = rows.iter().map(|row| &row[1][..]).collect();
    assert_eq!(
        found, agents,
        "sessions that end together keep the order they began in"
    );
}

#[test]
fn nothing_reaches_the_terminal_raw() {
    let agent = "evil \u{1b}[2J\u{9b}31m\u{202e}\u{7}\0~";
    let mut log = line("10.0.0.1", "10:00:00", agent).into_bytes();
    let tilde = log
        .iter()
        .position(|&byte| byte == b'~')
        .expect("it is there");
    log[tilde] = 0xff;
    let output = run(example().arg("-").env("COLUMNS", "200"), &log);
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let raw = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
    assert!(!stdout.contains(raw), "{stdout:?}");
    assert!(
        stdout.contains("evil \\u{1b}[2J\\u{9b}31m\\u{202e}\\u{7}\\0\\xff"),
        "{stdout}"
    );
}

#[test]
fn the_picture_fills_the_width_it_is_given() {
    for (columns, expected) in [("60", 60), ("120", 120), ("junk", 80), ("0", 80), ("1", 40)] {
        let output = run(example().arg(SHIPPED).env("COLUMNS", columns), b"");
        let stdout = String::from_utf8(output.stdout).expect("UTF-8");
        let bars = stdout.lines().filter(|line| line.contains('█'));
        let widest = bars.map(|line| line.chars().count()).max();
        assert_eq!(widest, Some(expected), "COLUMNS={columns}\n{stdout}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    // More rows than any pipe holds.
    let visitors = 0..20_000;
    let log: String = visitors
        .map(|nth| line(&format!("h{nth}"), "10:00:00", "a"))
        .collect();
    let log = file("many.log", log.as_bytes());
    for arguments in [
        &["--csv", &log][..],
        &["--json", &log],
        &[&log],
        &["--help"],
    ] {
        let mut command = example();
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the example ends");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{arguments:?}: {output:?}"
        );
    }
}
