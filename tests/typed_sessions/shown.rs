//! What errors say, and what debug output shows: something, and of no two the same.

use std::collections::BTreeSet;
use std::fmt::Display;

use tickwheel::{
    CycleError, ParseSessionIdError, SessionGone, SessionId, SessionStore, StartError, UpdateError,
};

use crate::{S, idle, keyed};

/// What each of these says, all of it different.
fn texts<T: Display>(all: &[T]) -> Vec<String> {
    let texts: Vec<String> = all.iter().map(T::to_string).collect();
    let different: BTreeSet<&String> = texts.iter().collect();
    assert_eq!(different.len(), texts.len(), "{texts:?}");
    assert!(texts.iter().all(|text| text.len() > 10), "{texts:?}");
    texts
}

#[test]
fn each_error_says_what_is_wrong_and_the_same_wrong_in_the_same_words() {
    let gone = texts(&[SessionGone]).remove(0);
    let start = texts(&[
        StartError::Full,
        StartError::EmptyPrincipal,
        StartError::ShutDown,
        StartError::Random,
    ]);
    let update = texts(&[UpdateError::Gone, UpdateError::Conflict { version: 41 }]);
    let cycle = texts(&[
        CycleError::Gone,
        CycleError::Full,
        CycleError::EmptyPrincipal,
        CycleError::Random,
    ]);
    assert_eq!([&update[0], &cycle[0]], [&gone, &gone]);
    assert_eq!(
        cycle[1..],
        [&start[0], &start[1], &start[3]].map(String::clone)
    );
    assert!(update[1].contains("41"));
    let parse = texts(&[
        ParseSessionIdError::Length { found: 3 },
        ParseSessionIdError::Character { at: 17 },
    ]);
    assert!(parse[0].contains('3') && parse[0].contains(&SessionId::LEN.to_string()));
    assert!(parse[1].contains("17"));
}

#[test]
fn what_is_shown_for_debugging_has_its_name_and_no_secret() {
    let rig = keyed();
    let sessions = rig.sessions(idle(77 * S));
    let session = sessions.start(1, "a value").unwrap();
    let shown = format!("{session:?}");
    assert!(
        shown.starts_with("Session {") && shown.contains("a value"),
        "{shown}"
    );
    let touched = sessions.touch_or_start(1, || "another").unwrap();
    assert!(format!("{touched:?}").starts_with("Existing(Session {"));

    let builder = SessionStore::builder(&rig.timers, idle(77 * S)).digest_key([7; 32]);
    let shown = format!("{builder:?}");
    assert!(shown.contains("77s") && !shown.contains("7, 7"), "{shown}");
    let store = builder.build().unwrap();
    let (id, _) = store.create("ada", "a value").unwrap();
    assert_eq!(format!("{id:?}"), "SessionId(..)");
    for shown in [format!("{sessions:?}"), format!("{store:?}")] {
        assert!(
            shown.starts_with("Session") && shown.contains("77s"),
            "{shown}"
        );
        assert!(!shown.contains("value"), "{shown}");
    }
}
