//! What is refused, and what odd input comes to.

use super::*;
use tickwheel::{CycleError, ParseSessionIdError, SessionId, SessionLimits, StartError};

#[test]
fn text_that_is_no_id_is_refused_with_what_is_wrong() {
    let parse = |text: &str| SessionId::parse(text).unwrap_err();
    assert_eq!(parse(""), ParseSessionIdError::Length { found: 0 });
    assert_eq!(
        parse(&"A".repeat(33)),
        ParseSessionIdError::Length { found: 33 }
    );
    assert_eq!(
        parse(&"A".repeat(1 << 20)),
        ParseSessionIdError::Length { found: 1 << 20 }
    );
    let mut text = "A".repeat(31);
    text.push('=');
    assert_eq!(parse(&text), ParseSessionIdError::Character { at: 31 });
    assert_eq!(
        parse(&"é".repeat(16)),
        ParseSessionIdError::Character { at: 0 }
    );
}

#[test]
fn a_principal_has_a_name() {
    let rig = by_id();
    let store = rig.store(idle(S));
    assert_eq!(
        store.create("", "v").unwrap_err(),
        StartError::EmptyPrincipal
    );
    let (id, _) = store.create_anonymous("v").unwrap();
    assert_eq!(
        store.cycle_id_as(&id, "").unwrap_err(),
        CycleError::EmptyPrincipal
    );
    assert!(store.contains(&id));
    assert!(store.list("").is_empty());
    assert_eq!(store.revoke_all(""), 0);
    let keyed = keyed();
    let sessions = keyed.sessions(idle(S));
    let refused = sessions.start_with(1, "v", Some(""), SessionLimits::NONE);
    assert_eq!(refused.unwrap_err(), StartError::EmptyPrincipal);
    assert_eq!(sessions.len(), 0);
}

#[test]
fn a_limit_of_zero_is_never_visible_and_told_once() {
    let rows = [
        (Some(Duration::ZERO), None, EndReason::Idle),
        (None, Some(Duration::ZERO), EndReason::Absolute),
        (Some(S), Some(Duration::ZERO), EndReason::Absolute),
        (
            Some(Duration::ZERO),
            Some(Duration::ZERO),
            EndReason::Absolute,
        ),
    ];
    for (idle, absolute, reason) in rows {
        for start in [0, 7] {
            let rig = keyed();
            rig.at(start);
            let sessions = rig.sessions(SessionPolicy::new().max_sessions(1));
            let limits = SessionLimits { idle, absolute };
            sessions.start_with(1, "v", None, limits).unwrap();
            assert!(sessions.peek(&1).is_none() && sessions.is_empty());
            assert_eq!(sessions.resident(), 0);
            let ends = rig.ends();
            assert_eq!(
                (ends.len(), ends[0].reason, ends[0].deadline),
                (1, reason, rig.now())
            );
            drop(sessions);
            assert!(rig.ends().is_empty());
        }
    }
}

#[test]
fn a_session_of_no_time_takes_the_place_of_one_that_lives() {
    let rig = keyed();
    let sessions = rig.sessions(idle(S));
    sessions.start(1, "old").unwrap();
    let none = SessionLimits {
        idle: Some(Duration::ZERO),
        absolute: None,
    };
    sessions.start_with(1, "new", None, none).unwrap();
    assert!(!sessions.contains(&1));
    let ends = rig.ends();
    assert_eq!(
        ends.iter().map(|end| *end.value).collect::<Vec<_>>(),
        ["old", "new"]
    );
    assert!(ends[0].generation < ends[1].generation);
}

/// moka-rs/moka#52 (I17): too long is for ever.
#[test]
fn a_limit_beyond_all_time_is_for_ever() {
    for limit in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
        let rig = keyed();
        rig.at(5);
        let sessions = rig.sessions(idle(limit).absolute(limit));
        sessions.start(1, "v").unwrap();
        rig.go(Duration::MAX);
        assert_eq!(sessions.len(), 1);
        let left = sessions.touch(&1).unwrap();
        assert_eq!(
            (left.absolute, left.effective, left.deadline),
            (None, None, Timestamp::NEVER)
        );
        rig.drive();
        assert_eq!(sessions.resident(), 1);
        drop(sessions);
        assert_eq!(rig.reasons(), [EndReason::Shutdown]);
    }
}

/// moka-rs/moka#549 (I16): no limit, written over what has expired, is no limit.
#[test]
fn a_session_without_limits_in_the_place_of_an_expired_one_lives_on() {
    let rig = keyed();
    let sessions = rig.sessions(idle(5 * S));
    sessions.start(1, "a").unwrap();
    rig.at(6); // it has expired, and nobody has looked
    let none = SessionLimits::default();
    sessions.start_with(1, "b", None, none).unwrap();
    let left = sessions.time_to_live(&1).unwrap();
    assert_eq!(
        (left.idle, left.absolute, left.effective),
        (None, None, None)
    );
    rig.go(Duration::MAX);
    rig.drive();
    assert_eq!(*sessions.get(&1).unwrap().value, "b");
    assert_eq!(rig.reasons(), [EndReason::Idle]);
}

#[test]
fn an_absolute_limit_shorter_than_the_idle_one_is_the_one_that_counts() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S).absolute(4 * S));
    sessions.start(1, "v").unwrap();
    let left = sessions.time_to_live(&1).unwrap();
    assert_eq!((left.idle, left.absolute), (Some(4 * S), Some(4 * S)));
    rig.at(4);
    assert!(!sessions.contains(&1));
    assert_eq!(rig.reasons(), [EndReason::Absolute]);
}

#[test]
fn a_clock_at_the_end_of_time_stops_nothing() {
    let clock = ManualClock::starting_at(Timestamp::from_nanos(u64::MAX - 5));
    let timers = Timers::builder()
        .clock(clock.clone())
        .build_hand_driven()
        .unwrap();
    let sessions = Sessions::new(&timers, idle(3 * NANO).absolute(S));
    sessions.start(1, "v").unwrap();
    clock.advance(2 * NANO);
    assert!(sessions.get(&1).is_some()); // would end beyond the end of time: never
    clock.advance(Duration::MAX);
    assert!(sessions.get(&1).is_some());
}

#[test]
fn a_runtime_that_is_shut_down_starts_nothing_and_reads_stay_exact() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    sessions.start(1, "v").unwrap();
    rig.timers.shutdown(tickwheel::Shutdown::Drop);
    assert_eq!(sessions.start(2, "w").unwrap_err(), StartError::ShutDown);
    assert_eq!(
        sessions.touch_or_start(2, || "w").unwrap_err(),
        StartError::ShutDown
    );
    assert!(!sessions.touch_or_start(1, || "w").unwrap().is_started());
    rig.at(10);
    assert!(sessions.get(&1).is_none());
    assert_eq!(rig.reasons(), [EndReason::Idle]);
}

#[test]
fn a_runtime_without_room_for_a_timer_starts_no_session_and_says_so() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).limit(1);
    let timers = timers.build_hand_driven().unwrap();
    let other = timers.arm(S, |_| {}).unwrap();
    let sessions = Sessions::new(&timers, idle(10 * S));
    assert_eq!(sessions.start(1, "v").unwrap_err(), StartError::Full);
    let _ = timers.cancel(other);
    sessions.start(2, "v").unwrap(); // now there is room
    while timers.advance_to_next(&clock) > 0 {}
    assert_eq!(sessions.resident(), 0);
}
