//! Reading lines and dates.

use crate::date::{self, Utc};
use crate::log::{self, Hit, Malformed};

const EPOCH: &str = "[01/Jan/1970:00:00:07 +0000]";

/// What is read of a line that makes sense.
fn hit(line: &str) -> (String, String, u64) {
    let hit = log::parse(line.as_bytes()).unwrap_or_else(|reason| panic!("{line}: {reason}"));
    let Hit { address, agent, at } = hit;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(address), text(agent), at)
}

#[test]
fn a_hit_is_read_whatever_shape_its_fields_have() {
    let cases = [
        ("h - - [] \"GET / HTTP/1.1\" 200 5", "h", "-"),
        ("h - - [] \"GET / HTTP/1.1\" 304 -\r\n", "h", "-"),
        ("h - - [] \"-\" 408 - \"-\" \"-\"", "h", "-"),
        ("h - - [] \"\" 400 0 \"\" \"\"\n", "h", ""),
        (
            "2001:db8::1 - - [] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\"",
            "2001:db8::1",
            "a",
        ),
        (
            "[::1]:80 - - [] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\"",
            "[::1]:80",
            "a",
        ),
        (
            "h - John [x] Q. Public [] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\"",
            "h",
            "a",
        ),
        (
            "h i \\\" ] \\\" [] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\"",
            "h",
            "a",
        ),
        (
            "h - - [] \"GET /\\\" [x] \\\\\" 200 5 \"\\\\\" \"a \\\"b\\\" \\\\\"",
            "h",
            "a \\\"b\\\" \\\\",
        ),
        (
            "h - - [] \"GET [y] \" 200 5 \"r [z] \" \"a\" \"10.0.0.9\" 0.003",
            "h",
            "a",
        ),
    ];
    for (line, address, agent) in cases {
        let line = line.replace("[]", EPOCH);
        assert_eq!(
            hit(&line),
            (address.to_owned(), agent.to_owned(), 7),
            "{line}"
        );
    }
}

#[test]
fn bytes_that_are_not_text_are_fine_in_an_agent_but_not_in_an_address() {
    let agent = b"a\0\xff\x1b[31m";
    let mut line = format!("h - - {EPOCH} \"GET /\" 200 5 \"-\" \"").into_bytes();
    line.extend_from_slice(agent);
    line.push(b'"');
    let hit = log::parse(&line).expect("a hit");
    assert_eq!(
        hit,
        Hit {
            address: b"h",
            agent,
            at: 7
        }
    );
    for address in [&b"\0\0h"[..], b"h\xff", b"h\x1b[m"] {
        let line = [address, b" - - ", EPOCH.as_bytes(), b" \"GET /\" 200 5"].concat();
        assert_eq!(
            log::parse(&line),
            Err(Malformed::Client),
            "{}",
            line.escape_ascii()
        );
    }
}

#[test]
fn what_is_wrong_with_a_line_is_named() {
    use Malformed::*;
    let cases = [
        ("", Empty),
        (" \t\r\n", Empty),
        ("h - - 200 5", NoDate),
        ("h - - [] GET / 200 5", NoDate),
        ("h - - ] \"GET /\" 200 5", NoDate),
        ("[] \"GET /\" 200 5", Client),
        (" - - [] \"GET /\" 200 5", Client),
        ("h - [] \"GET /\" 200 5", Client),
        ("h - -[] \"GET /\" 200 5", Client),
        ("h - - [] \"GET / 200 5", Request),
        ("h - - [] \"GET /\\\" 200 5", Request),
        ("h - - [] \"GET /\\", Request),
        ("h - - [] \"GET /\"", Status),
        ("h - - [] \"GET /\"200 5", Status),
        ("h - - [] \"GET /\" 20 5", Status),
        ("h - - [] \"GET /\" 2oo 5", Status),
        ("h - - [] \"GET /\" - 5", Status),
        ("h - - [] \"GET /\" 200", Size),
        ("h - - [] \"GET /\" 200  5", Size),
        ("h - - [] \"GET /\" 200 -5", Size),
        ("h - - [] \"GET /\" 200 5 x", Referer),
        ("h - - [] \"GET /\" 200 5 \"r", Referer),
        ("h - - [] \"GET /\" 200 5 \"r\"", Agent),
        ("h - - [] \"GET /\" 200 5 \"r\" a", Agent),
        ("h - - [] \"GET /\" 200 5 \"r\" \"a", Agent),
        ("h - - [] \"GET /\" 200 5 \"r\" \"a\"x", Agent),
    ];
    for (line, reason) in cases {
        let line = line.replace("[]", EPOCH);
        assert_eq!(log::parse(line.as_bytes()), Err(reason), "{line}");
    }
}

#[test]
fn what_is_wrong_with_a_date_is_named() {
    use Malformed::*;
    let cases = [
        ("7/Mar/2004:16:05:49 -0800", DateForm),
        ("07/Mar/2004:16:05:49", DateForm),
        ("07/Mar/2004 16:05:49 -0800", DateForm),
        ("07/Mar/2004:16:05:49 *0800", DateForm),
        ("07/Mar/+004:16:05:49 -0800", DateForm),
        ("07/Mar/2004:16:05:4\u{664} -080", DateForm),
        ("07/mar/2004:16:05:49 -0800", Month),
        ("00/Mar/2004:16:05:49 -0800", Day),
        ("31/Apr/2004:16:05:49 -0800", Day),
        ("29/Feb/2003:16:05:49 -0800", Day),
        ("29/Feb/2100:16:05:49 -0800", Day),
        ("07/Mar/2004:24:00:00 -0800", Time),
        ("07/Mar/2004:16:60:49 -0800", Time),
        ("07/Mar/2004:16:05:61 -0800", Time),
        ("07/Mar/2004:16:05:49 -2400", Offset),
        ("07/Mar/2004:16:05:49 -0860", Offset),
        ("31/Dec/1969:23:59:59 +0000", Before1970),
        ("01/Jan/1970:00:59:59 +0100", Before1970),
        ("01/Jan/0000:00:00:00 +0000", Before1970),
    ];
    for (date, reason) in cases {
        assert_eq!(date::parse(date.as_bytes()), Err(reason), "{date}");
    }
}

#[test]
fn a_date_is_the_second_it_names() {
    let cases = [
        ("07/Mar/2004:16:05:49 -0800", 1_078_704_349),
        ("08/Mar/2004:05:50:49 +0545", 1_078_704_349),
        ("31/Dec/1969:23:00:00 -0100", 0),
        ("29/Feb/2000:23:59:59 +0000", 951_868_799),
        ("29/Feb/2000:23:59:60 +0000", 951_868_800),
        ("31/Dec/9999:23:59:59 +0000", 253_402_300_799),
    ];
    for (date, second) in cases {
        assert_eq!(date::parse(date.as_bytes()), Ok(second), "{date}");
    }
}

#[test]
fn days_follow_the_calendar_there_and_back() {
    let names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    let mut second = 0;
    for year in 1970..2410 {
        for (month, name) in names.split(' ').enumerate() {
            let days = match name {
                "Feb" if year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) => 29,
                "Feb" => 28,
                "Apr" | "Jun" | "Sep" | "Nov" => 30,
                _ => 31,
            };
            for day in 1..=days {
                let date = format!("{day:02}/{name}/{year}:01:02:03 +0102");
                assert_eq!(date::parse(date.as_bytes()), Ok(second + 3), "{date}");
                let back = Utc(second + 3).to_string();
                assert_eq!(back, format!("{year}-{:02}-{day:02}T00:00:03Z", month + 1));
                second += 86_400;
            }
            let date = format!("{:02}/{name}/{year}:01:02:03 +0102", days + 1);
            assert_eq!(date::parse(date.as_bytes()), Err(Malformed::Day), "{date}");
        }
    }
}
