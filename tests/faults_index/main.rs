#![cfg(not(loom))]
//! `faults.tsv` lists faults that other timers, caches, session stores and lock services have had, and
//! names the tests that keep them out of here. This holds the list to what is in the repository.
//!
//! Properties: each line of it is of one of three forms (tests, a feature that is waited for, a reason why it does not
//! apply); each test that is named exists and is run; each decision stands in the file that is named, in these words;
//! no id comes twice; what is counted below is what there is; and each test that `docs/VERIFICATION.md` names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const LIST: &str = include_str!("faults.tsv");

/// Lines that name tests, that wait for a feature, and that do not apply.
const PINNED: usize = 136;
const WAITING: usize = 3;
const INAPPLICABLE: usize = 0;
/// Lines with a decision.
const DECIDED: usize = 17;

struct Line {
    id: &'static str,
    fault: &'static str,
    sources: Vec<&'static str>,
    pin: Pin,
    /// A file, and what has to be in it.
    decision: Option<(&'static str, &'static str)>,
}

enum Pin {
    /// Files, each with the name of a test.
    Tests(Vec<(&'static str, &'static str)>),
    Waits(&'static str),
    Inapplicable(&'static str),
}

fn lines() -> Vec<Line> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    lines.map(parse).collect()
}

fn parse(line: &'static str) -> Line {
    let fields: Vec<_> = line.split('\t').collect();
    assert!(matches!(fields.len(), 4 | 5), "{line}");
    let tests = |field: &'static str| {
        let split = |test: &'static str| test.split_once("::").unwrap_or_else(|| panic!("{line}"));
        field.split(' ').map(split).collect()
    };
    Line {
        id: fields[0],
        fault: fields[1],
        sources: fields[2].split(' ').collect(),
        pin: if let Some(feature) = fields[3].strip_prefix("waits: ") {
            Pin::Waits(feature)
        } else if let Some(reason) = fields[3].strip_prefix("n/a: ") {
            Pin::Inapplicable(reason)
        } else {
            Pin::Tests(tests(fields[3]))
        },
        decision: fields
            .get(4)
            .map(|field| field.split_once(": ").unwrap_or_else(|| panic!("{line}"))),
    }
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a function of that name is a test: it is marked as one, or a macro of the file makes tests of a list
/// in which it is.
fn is_test(source: &str, name: &str) -> bool {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let defines = |line: &str| {
        let rest = line.strip_prefix("fn ").and_then(|l| l.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    let Some(at) = lines.iter().position(|line| defines(line)) else {
        return false;
    };
    let above = lines[..at].iter().rev();
    let mut attributes = above.take_while(|line| line.starts_with("#["));
    let listed = format!("{name},");
    attributes.any(|line| *line == "#[test]")
        || (source.contains("for_each_kind!(") && lines.contains(&listed.as_str()))
}

/// A file as running text: without the marks of comments, and without the breaks of lines.
fn text(source: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("///").or(line.strip_prefix("//!"));
        line.unwrap_or_default().trim()
    });
    lines.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_fault_is_listed_once_with_where_it_was_reported() {
    let mut ids = BTreeSet::new();
    for line in lines() {
        let (letter, number) = line.id.split_at(1);
        let is_id = letter.starts_with(|c: char| c.is_ascii_uppercase())
            && number.parse::<u32>().is_ok_and(|number| number > 0);
        assert!(is_id, "{:?} is no id", line.id);
        assert!(ids.insert(line.id), "{} comes twice", line.id);
        assert!(line.fault.ends_with('.'), "{}: {}", line.id, line.fault);
        for source in line.sources {
            let is_issue = source.split_once('#').is_some_and(|(repository, number)| {
                repository
                    .split('/')
                    .filter(|part| !part.is_empty())
                    .count()
                    == 2
                    && number.parse::<u32>().is_ok()
            });
            let is_commit = source
                .strip_prefix("linux@")
                .is_some_and(|hash| hash.len() == 12 && u64::from_str_radix(hash, 16).is_ok());
            assert!(is_issue || is_commit, "{}: {source}", line.id);
        }
    }
}

#[test]
fn each_test_that_is_named_is_a_test() {
    let mut sources = BTreeMap::new();
    for line in lines() {
        let Pin::Tests(tests) = line.pin else {
            continue;
        };
        for (file, name) in tests {
            let source = sources.entry(file).or_insert_with(|| read(file));
            assert!(
                is_test(source, name),
                "{}: no test {name} in {file}",
                line.id
            );
        }
    }
    assert!(sources.len() > 20, "{} files", sources.len());
}

#[test]
fn each_decision_is_documented_where_the_list_says() {
    for line in lines() {
        if let Some((file, words)) = line.decision {
            assert!(
                text(&read(file)).contains(words),
                "{}: {file} does not say {words:?}",
                line.id
            );
        }
    }
}

/// What stands between backquotes in a page.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

#[test]
fn each_test_and_each_path_that_the_page_on_verification_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(page) = fs::read_to_string(root.join("docs/VERIFICATION.md")) else {
        return; // a published package has no such page
    };
    let tests = quoted(&page).filter_map(|quoted| quoted.split_once("::"));
    let tests: Vec<_> = tests.filter(|(file, _)| file.ends_with(".rs")).collect();
    for (file, name) in &tests {
        assert!(is_test(&read(file), name), "no test {name} in {file}");
    }
    assert!(tests.len() > 40, "{} tests are named", tests.len());
    let is_path = |quoted: &&str| {
        let places = ["tests/", "src/", "loom-tests/", "fuzz/", ".ci/"];
        places.iter().any(|place| quoted.starts_with(place)) && !quoted.contains(['*', ':'])
    };
    for path in quoted(&page).filter(is_path) {
        assert!(root.join(path).exists(), "there is no {path}");
    }
}

#[test]
fn there_are_as_many_of_each_as_is_said() {
    let (mut pinned, mut waiting, mut inapplicable, mut decided) = (0, 0, 0, 0);
    for line in lines() {
        match line.pin {
            Pin::Tests(tests) => pinned += usize::from(!tests.is_empty()),
            Pin::Waits(feature) => waiting += usize::from(!feature.is_empty()),
            Pin::Inapplicable(reason) => inapplicable += usize::from(!reason.is_empty()),
        }
        decided += usize::from(line.decision.is_some());
    }
    assert_eq!(
        (pinned, waiting, inapplicable, decided),
        (PINNED, WAITING, INAPPLICABLE, DECIDED)
    );
}

#[test]
fn a_function_that_is_not_run_is_no_test() {
    let source = "#[test]\nfn run() {}\n\nfn helper() {}\n\n#[test]\n#[should_panic]\nfn both() {}";
    assert!(is_test(source, "run") && is_test(source, "both"));
    assert!(!is_test(source, "helper") && !is_test(source, "ru") && !is_test(source, "other"));
    let listed = "for_each_kind!(\n    generic,\n);\nfn generic<K>() {}\nfn plain<K>() {}";
    assert!(is_test(listed, "generic") && !is_test(listed, "plain"));
}
