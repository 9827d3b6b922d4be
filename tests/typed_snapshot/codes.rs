//! Codes that live again.
//!
//! Properties:
//! * a code is good once, before a restart or after it; neither it nor its subject nor the key is in the snapshot;
//! * wrong answers, counts and cooldowns go on where they were: a restart gives nobody another guess or another code;
//! * another key is an error; limits hold, and what does not fit is told of;
//! * generations go on.

use std::time::Duration;

use tickwheel::snapshot::{CodesSnapshot, RestoreError};
use tickwheel::{
    EndReason, IssueError, Issued, ManualClock, OneTimeCodes, OneTimeCodesBuilder, RefusedCause,
    Timers,
};

use crate::{KEY, Machine, NANO, Told, secs, stored};

const HOUR: Duration = secs(3600);

fn build(
    machine: &Machine,
    told: &Told,
    adjust: impl FnOnce(OneTimeCodesBuilder) -> OneTimeCodesBuilder,
) -> OneTimeCodes {
    let log = told.clone();
    let builder = OneTimeCodes::builder(&machine.timers)
        .digest_key(KEY)
        .on_end(move |ended| log.add(ended.reason, ended.deadline));
    adjust(builder).build().unwrap()
}

fn started(machine: &Machine) -> OneTimeCodes {
    build(machine, &Told::default(), |builder| builder)
}

fn save(codes: &OneTimeCodes, machine: &Machine) -> CodesSnapshot {
    stored(&codes.snapshot_at(machine.anchor))
}

fn restored(machine: &Machine, snapshot: CodesSnapshot) -> OneTimeCodes {
    let codes = started(machine);
    let known = &["login", "reset"];
    codes.restore(snapshot, known, machine.options()).unwrap();
    codes
}

fn wrong(issued: &Issued) -> &'static str {
    if issued.code.expose() == "000000" {
        "000001"
    } else {
        "000000"
    }
}

#[test]
fn a_code_is_good_once_before_or_after() {
    let before = Machine::noon();
    let codes = started(&before);
    let used = codes.issue("ada", "login").unwrap();
    let unused = codes.issue("bob", "login").unwrap();
    codes.verify("ada", "login", used.code.expose()).unwrap();
    let snapshot = save(&codes, &before);

    let machine = Machine::after(secs(60));
    let codes = restored(&machine, snapshot);
    let again = codes.verify("ada", "login", used.code.expose());
    let cause = again.unwrap_err().cause();
    assert_eq!(cause, RefusedCause::Ended(EndReason::Consumed));
    let other = codes.verify_nonce("bob", "login", used.nonce, unused.code.expose());
    assert_eq!(other.unwrap_err().cause(), RefusedCause::OtherNonce);
    assert!(codes.verify("bob", "reset", unused.code.expose()).is_err());
    let nonce = unused.nonce;
    assert!(
        codes
            .verify_nonce("bob", "login", nonce, unused.code.expose())
            .is_ok()
    );
    assert!(codes.verify("bob", "login", unused.code.expose()).is_err());
}

#[test]
fn neither_codes_nor_subjects_nor_the_key_are_stored() {
    let machine = Machine::noon();
    let codes = started(&machine);
    let issued = codes.issue("ada@example.org", "login").unwrap();
    let snapshot = codes.snapshot_at(machine.anchor);
    let key = serde_json::to_string(&KEY).unwrap();
    let text = serde_json::to_string(&snapshot).unwrap();
    for secret in [issued.code.expose(), "ada", "example", &key] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let bytes = postcard::to_allocvec(&snapshot).unwrap();
    let secrets = [issued.code.expose().as_bytes(), b"ada", &KEY[..8]];
    for secret in secrets {
        assert!(!bytes.windows(secret.len()).any(|bytes| bytes == secret));
    }
}

#[test]
fn wrong_answers_count_before_and_after() {
    let before = Machine::noon();
    let codes = started(&before);
    let issued = codes.issue("ada", "login").unwrap();
    for left in [4, 3, 2] {
        let refused = codes.verify("ada", "login", wrong(&issued)).unwrap_err();
        assert_eq!(refused.cause(), RefusedCause::Mismatch { left });
    }
    let mut snapshot = save(&codes, &before);
    // Restarts do not give guesses back.
    for _ in 0..5 {
        let machine = Machine::after(secs(1));
        snapshot = save(&restored(&machine, snapshot), &machine);
    }
    let machine = Machine::after(secs(1));
    let codes = restored(&machine, snapshot);
    for left in [1, 0] {
        let refused = codes.verify("ada", "login", wrong(&issued)).unwrap_err();
        assert_eq!(refused.cause(), RefusedCause::Mismatch { left });
    }
    let refused = codes.verify("ada", "login", issued.code.expose());
    let cause = refused.unwrap_err().cause();
    assert_eq!(cause, RefusedCause::Ended(EndReason::TooManyAttempts));
}

#[test]
fn wrong_answers_count_against_the_subject_until_an_hour_after_each() {
    // Ten wrong answers for two codes, half an hour before noon. Then there is none to be had for an hour.
    let before = Machine::before(HOUR / 2);
    let codes = started(&before);
    for purpose in ["login", "reset"] {
        let issued = codes.issue("ada", purpose).unwrap();
        for _ in 0..5 {
            assert!(codes.verify("ada", purpose, wrong(&issued)).is_err());
        }
    }
    before.pass(HOUR / 2);
    let snapshot = save(&codes, &before);
    assert_eq!(snapshot.subjects[0].attempts.len(), 10);

    for (down, wait) in [
        (secs(0), Some(HOUR / 2)),
        (secs(60), Some(HOUR / 2 - secs(60))),
        (HOUR / 2 - NANO, Some(NANO)),
        (HOUR / 2, None),
    ] {
        let machine = Machine::after(down);
        let codes = restored(&machine, snapshot.clone());
        let issued = codes.issue("ada", "login");
        let refused = issued.err();
        assert_eq!(
            refused,
            wait.map(IssueError::TooManyAttempts),
            "after {down:?}"
        );
        // A subject is forgotten when all of this is over.
        machine.pass(2 * HOUR);
        assert_eq!(codes.remembered(), 0);
    }
}

#[test]
fn cooldowns_and_counts_of_codes_go_on() {
    let before = Machine::before(secs(200));
    let codes = started(&before);
    for _ in 0..4 {
        let _issued = codes.issue("ada", "login").unwrap();
        before.pass(secs(45));
    }
    let _issued = codes.issue("ada", "login").unwrap();
    before.pass(secs(20));
    let snapshot = save(&codes, &before);
    assert_eq!(snapshot.subjects[0].issues.len(), 5);

    // The first was 200 seconds before, the last 20. (Of the cooldown ten are left, but five an hour are enough.)
    let machine = Machine::after(secs(4));
    let codes = restored(&machine, snapshot.clone());
    let refused = codes.issue("ada", "login").unwrap_err();
    assert_eq!(refused, IssueError::TooManyIssues(HOUR - secs(204)));
    let machine = Machine::after(secs(4));
    let codes = build(&machine, &Told::default(), |builder| {
        builder.issues_per_subject(100, HOUR)
    });
    codes
        .restore(snapshot, &["login"], machine.options())
        .unwrap();
    let refused = codes.issue("ada", "login").unwrap_err();
    assert_eq!(refused, IssueError::Cooldown(secs(6)));
    machine.pass(secs(6));
    assert!(codes.issue("ada", "login").is_ok());
}

#[test]
fn with_another_key_nothing_is_restored() {
    let before = Machine::noon();
    let codes = started(&before);
    let _issued = codes.issue("ada", "login").unwrap();
    let snapshot = save(&codes, &before);
    let machine = Machine::noon();
    for codes in [
        OneTimeCodes::builder(&machine.timers)
            .digest_key([8; 32])
            .build()
            .unwrap(),
        OneTimeCodes::builder(&machine.timers).build().unwrap(),
    ] {
        let refused = codes.restore(snapshot.clone(), &["login"], machine.options());
        assert_eq!(refused, Err(RestoreError::OtherKey));
        assert_eq!((codes.len(), codes.remembered()), (0, 0));
    }
}

#[test]
fn limits_hold_and_what_does_not_fit_is_told_of() {
    let before = Machine::noon();
    let codes = started(&before);
    for subject in 0..10 {
        let _issued = codes.issue(format!("{subject}"), "login").unwrap();
    }
    let snapshot = save(&codes, &before);
    let timers = |limit| {
        let clock = ManualClock::new();
        let timers = Timers::builder().clock(clock.clone()).limit(limit);
        let timers = timers.build_hand_driven().unwrap();
        Machine::on(clock, timers, Duration::ZERO, Duration::ZERO)
    };
    // Room for three codes, for three subjects, and for six timers: two for each.
    for (machine, capacity, subjects) in [
        (Machine::noon(), 3, 100),
        (Machine::noon(), 100, 3),
        (timers(6), 100, 100),
    ] {
        let told = Told::default();
        let codes = build(&machine, &told, |builder| {
            builder.capacity(capacity).subjects(subjects)
        });
        let report = codes.restore(snapshot.clone(), &["login"], machine.options());
        let report = report.unwrap();
        assert_eq!((report.restored, report.refused, report.expired), (3, 7, 0));
        assert_eq!(codes.len(), 3);
        let ends = told.take();
        assert_eq!(ends.len(), 7);
        assert!(
            ends.iter()
                .all(|(reason, _)| *reason == EndReason::Capacity)
        );
        machine.pass(2 * HOUR);
        assert_eq!(
            (codes.len(), codes.remembered(), told.take().len()),
            (0, 0, 3)
        );
        assert_eq!(machine.timers.stats().armed, 0);
    }
}

#[test]
fn fewer_attempts_than_there_were_end_a_code() {
    let before = Machine::noon();
    let codes = started(&before);
    let issued = codes.issue("ada", "login").unwrap();
    for _ in 0..3 {
        assert!(codes.verify("ada", "login", wrong(&issued)).is_err());
    }
    let snapshot = save(&codes, &before);
    let (few, many) = ((3, 10), (4, 10));
    let (lonely, open) = ((10, 3), (10, 4));
    for ((attempts, of_subject), lives) in [(few, 0), (many, 1), (lonely, 0), (open, 1)] {
        let (machine, told) = (Machine::noon(), Told::default());
        let codes = build(&machine, &told, |builder| {
            builder
                .attempts(attempts)
                .attempts_per_subject(of_subject, HOUR)
        });
        let report = codes.restore(snapshot.clone(), &["login"], machine.options());
        let report = report.unwrap();
        assert_eq!((report.restored, report.refused), (lives, 1 - lives));
        let reasons: Vec<_> = told.take().into_iter().map(|(reason, _)| reason).collect();
        assert_eq!(reasons, vec![EndReason::TooManyAttempts; 1 - lives]);
        assert_eq!(
            codes.verify("ada", "login", issued.code.expose()).is_ok(),
            lives == 1
        );
    }
}

#[test]
fn codes_for_unknown_purposes_are_refused_and_counts_stay() {
    let before = Machine::noon();
    let codes = started(&before);
    let issued = codes.issue("ada", "login").unwrap();
    assert!(codes.verify("ada", "login", wrong(&issued)).is_err());
    let snapshot = save(&codes, &before);
    let machine = Machine::noon();
    let codes = started(&machine);
    let report = codes
        .restore(snapshot, &["reset"], machine.options())
        .unwrap();
    assert_eq!((report.restored, report.refused), (0, 1));
    assert_eq!((codes.len(), codes.remembered()), (0, 1));
    let again = save(&codes, &machine);
    assert_eq!(
        (
            again.subjects[0].attempts.len(),
            again.subjects[0].issues.len()
        ),
        (1, 1)
    );
}

#[test]
fn generations_go_on() {
    let before = Machine::noon();
    let codes = started(&before);
    let first = codes.issue("ada", "login").unwrap();
    let second = codes.issue("bob", "login").unwrap();
    let snapshot = save(&codes, &before);
    let machine = Machine::noon();
    let codes = restored(&machine, snapshot);
    let third = codes.issue("cyd", "login").unwrap();
    assert!(first.generation < second.generation && second.generation < third.generation);
}

#[test]
fn what_counts_for_an_hour_does_so_though_the_window_is_shorter_now() {
    let no_issues = |builder: OneTimeCodesBuilder| builder.issues_per_subject(1, secs(0));
    let before = Machine::noon();
    let codes = build(&before, &Told::default(), no_issues);
    let issued = codes.issue("ada", "login").unwrap();
    assert!(codes.verify("ada", "login", wrong(&issued)).is_err());
    let snapshot = save(&codes, &before);

    let machine = Machine::noon();
    let codes = build(&machine, &Told::default(), |builder| {
        no_issues(builder).attempts_per_subject(10, secs(60))
    });
    codes
        .restore(snapshot, &["login"], machine.options())
        .unwrap();
    assert!(codes.verify("ada", "login", wrong(&issued)).is_err());
    assert!(codes.cancel("ada", "login").is_some());
    for (passed, remembered) in [(HOUR - NANO, 1), (NANO, 0)] {
        machine.clock.advance(passed);
        assert_eq!(codes.remembered(), remembered);
    }
}
