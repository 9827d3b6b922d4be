//! Properties: a session lives in `[start, deadline)` on every read path; a touch is granted only to the
//! living, and moves the deadline to the earlier of now and the idle limit, and the absolute one, never back.

use super::*;
use tickwheel::{SessionGone, SessionLimits, TouchPolicy, UpdateError};

/// What each read path says of key 1, of principal `p`, each asked of a store of its own.
fn read_paths(before: Duration) -> Vec<(&'static str, bool)> {
    type Look = fn(&Sessions<u32, &'static str>) -> bool;
    let looks: [(&'static str, Look); 13] = [
        ("get", |s| s.get(&1).is_some()),
        ("peek", |s| s.peek(&1).is_some()),
        ("contains", |s| s.contains(&1)),
        ("touch", |s| s.touch(&1).is_ok()),
        ("time_to_live", |s| s.time_to_live(&1).is_ok()),
        ("touch_or_start", |s| {
            !s.touch_or_start(1, || "other").unwrap().is_started()
        }),
        ("modify", |s| s.modify(&1, |v| v).is_ok()),
        ("remove", |s| s.remove(&1).is_ok()),
        ("revoke_all", |s| s.revoke_all("p") == 1),
        ("len", |s| s.len() == 1),
        ("is_empty", |s| !s.is_empty()),
        ("list", |s| s.list("p").len() == 1),
        ("for_each", |s| {
            let mut seen = 0;
            s.for_each(|_, _| seen += 1);
            seen == 1
        }),
    ];
    let looks = looks.into_iter().map(|(name, look)| {
        let rig = keyed();
        let sessions = rig.sessions(idle(10 * S));
        let limits = SessionLimits {
            idle: Some(10 * S),
            absolute: None,
        };
        sessions.start_with(1, "v", Some("p"), limits).unwrap();
        rig.go(before);
        let lives = look(&sessions);
        drop(sessions);
        let ends = rig.reasons();
        let expired = ends.iter().filter(|reason| reason.is_expiry()).count();
        assert_eq!(
            expired,
            usize::from(!lives),
            "{name} at {before:?}: {ends:?}"
        );
        (name, lives)
    });
    looks.collect()
}

/// isaacs/ttlcache#24, moka-rs/moka#601 (I18): reads do not trust whoever sweeps.
#[test]
fn a_session_is_gone_at_exactly_its_deadline_on_every_read_path() {
    for (before, lives) in [
        (Duration::ZERO, true),
        (10 * S - NANO, true),
        (10 * S, false),
        (10 * S + NANO, false),
    ] {
        for (name, found) in read_paths(before) {
            assert_eq!(found, lives, "{name} after {before:?}");
        }
    }
}

#[test]
fn a_cap_counts_until_exactly_the_deadline() {
    for (before, refused) in [
        (10 * S - NANO, true),
        (10 * S, false),
        (10 * S + NANO, false),
    ] {
        let rig = keyed();
        let sessions = rig.sessions(idle(10 * S).max_sessions(1));
        sessions.start(1, "v").unwrap();
        rig.go(before);
        assert_eq!(sessions.start(2, "w").is_err(), refused, "after {before:?}");
    }
}

/// hazelcast/hazelcast#19305, psr7-sessions/storageless#553 (J1): the absolute limit holds under touches.
#[test]
fn touches_never_pass_the_absolute_deadline() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S).absolute(5 * S));
    sessions.start(1, "v").unwrap();
    for second in [2, 4] {
        rig.at(second);
        assert_eq!(
            sessions.touch(&1).unwrap().deadline,
            Timestamp::ZERO + 5 * S
        );
    }
    rig.at(5);
    assert!(sessions.get(&1).is_none());
    assert_eq!(rig.reasons(), [EndReason::Absolute]);

    let sessions = rig.sessions(idle(10 * S).absolute(100 * S));
    sessions.start(1, "v").unwrap();
    for _ in 0..11 {
        rig.go(9 * S);
        assert!(sessions.get(&1).is_some());
    }
    rig.go(S - NANO); // 100 s, less a nanosecond
    assert!(sessions.peek(&1).is_some());
    rig.go(NANO);
    assert!(sessions.peek(&1).is_none());
    assert_eq!(rig.reasons(), [EndReason::Absolute]);
}

/// Azure/Microsoft.Extensions.Caching.Cosmos#80 (J2): nothing is left to round away at the edge.
#[test]
fn a_touch_at_the_edge_of_the_absolute_deadline_is_a_touch_or_nothing() {
    let rig = keyed();
    let sessions = rig.sessions(idle(30 * S).absolute(100 * S));
    let start = rig.now();
    sessions.start(1, "v").unwrap();
    for second in [20, 40, 60, 80] {
        rig.at(second);
        sessions.touch(&1).unwrap();
    }
    rig.clock.set(start + (100 * S - NANO));
    let left = sessions.touch(&1).unwrap();
    assert_eq!(
        (left.idle, left.absolute, left.effective),
        (Some(NANO), Some(NANO), Some(NANO))
    );
    rig.go(NANO);
    assert_eq!(sessions.touch(&1), Err(SessionGone));
    assert_eq!(rig.reasons(), [EndReason::Absolute]);
}

/// isaacs/node-lru-cache#45, authzed/spicedb#3302, naugtur/safe-memory-cache#3 (J3).
#[test]
fn an_absolute_limit_is_no_idle_limit() {
    let rig = keyed();
    let sessions = rig.sessions(SessionPolicy::new().absolute(10 * S));
    sessions.start(1, "v").unwrap();
    for second in [3, 6, 9] {
        rig.at(second);
        assert!(sessions.get(&1).is_some());
    }
    rig.at(10);
    assert!(sessions.get(&1).is_none());
}

/// aspnetboilerplate/aspnetboilerplate#6486, aspnetboilerplate/aspnetboilerplate#5390, Remora/Remora.Discord#165 (J4).
#[test]
fn each_combination_of_limits_does_what_it_says() {
    // Read at 6 s: when is it gone, and why?
    let table = [
        (None, None, None),
        (Some(10), None, Some((16, EndReason::Idle))),
        (None, Some(12), Some((12, EndReason::Absolute))),
        (Some(10), Some(12), Some((12, EndReason::Absolute))),
        (Some(10), Some(20), Some((16, EndReason::Idle))),
        (Some(10), Some(16), Some((16, EndReason::Absolute))), // both at once
    ];
    for (idle, absolute, end) in table {
        let rig = keyed();
        let sessions = rig.sessions(SessionPolicy::new());
        let limits = SessionLimits {
            idle: idle.map(|n| n * S),
            absolute: absolute.map(|n| n * S),
        };
        sessions.start_with(1, "v", None, limits).unwrap();
        rig.at(6);
        sessions.get(&1).unwrap();
        let left = sessions.time_to_live(&1).unwrap();
        assert_eq!(
            left.effective,
            end.map(|(second, _)| (second - 6) * S),
            "{limits:?}"
        );
        assert_eq!(left.idle.is_some(), idle.is_some());
        assert_eq!(left.absolute, absolute.map(|n| n * S - 6 * S));
        let Some((second, reason)) = end else {
            rig.go(Duration::MAX);
            assert!(sessions.contains(&1));
            continue;
        };
        rig.clock.set(Timestamp::ZERO + (second * S - NANO));
        assert!(sessions.contains(&1));
        rig.go(NANO);
        assert!(!sessions.contains(&1));
        assert_eq!(rig.reasons(), [reason], "{limits:?}");
    }
}

/// moka-rs/moka#363, moka-rs/moka#359 (J6): a read counts at once, whoever keeps house.
#[test]
fn a_read_counts_when_it_happens() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    sessions.start(1, "v").unwrap();
    for second in [9, 18, 27] {
        rig.at(second);
        assert!(sessions.get(&1).is_some());
    }
}

/// maxcountryman/tower-sessions#74, actix/actix-extras#233, spring-projects/spring-session#2746,
/// jcoleman/tomcat-redis-session-manager#15, expressjs/session#902 (J7): what counts as use is said.
#[test]
fn what_touches_is_what_the_policy_says() {
    type Act = fn(&Sessions<u32, &'static str>);
    let acts: [(&str, Act); 7] = [
        ("get", |s| drop(s.get(&1))),
        ("modify", |s| drop(s.modify(&1, |v| v))),
        ("touch", |s| assert!(s.touch(&1).is_ok())),
        ("peek", |s| drop(s.peek(&1))),
        ("contains", |s| assert!(s.contains(&1))),
        ("time_to_live", |s| assert!(s.time_to_live(&1).is_ok())),
        ("list", |s| assert_eq!((s.list("p").len(), s.len()), (1, 1))),
    ];
    let policies = [
        (TouchPolicy::OnAccess, ["get", "modify", "touch"].as_slice()),
        (TouchPolicy::OnWrite, &["modify", "touch"]),
        (TouchPolicy::Manual, &["touch"]),
    ];
    for (policy, touching) in policies {
        for (name, act) in acts {
            let rig = keyed();
            let rules = idle(10 * S).touch(policy);
            let sessions = rig.sessions(rules);
            sessions
                .start_with(1, "v", Some("p"), rules.limits())
                .unwrap();
            rig.at(5);
            act(&sessions);
            let deadline = sessions.time_to_live(&1).unwrap().deadline;
            let expected = if touching.contains(&name) { 15 } else { 10 };
            assert_eq!(
                deadline,
                Timestamp::ZERO + expected * S,
                "{name}, {policy:?}"
            );
        }
    }
}

#[test]
fn touch_or_start_touches_whatever_the_policy() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S).touch(TouchPolicy::Manual));
    assert!(sessions.touch_or_start(1, || "v").unwrap().is_started());
    rig.at(9);
    assert!(
        !sessions
            .touch_or_start(1, || panic!("not called"))
            .unwrap()
            .is_started()
    );
    rig.at(18);
    assert!(sessions.contains(&1));
}

/// maxcountryman/tower-sessions#77 (J9): limits are counted from the start of a session, not of the store.
#[test]
fn limits_count_from_the_start_of_each_session() {
    let rig = keyed();
    let sessions = rig.sessions(SessionPolicy::new().absolute(300 * S));
    rig.at(1000);
    sessions.start(1, "v").unwrap();
    rig.at(1299);
    assert!(sessions.contains(&1));
    rig.at(1300);
    assert!(!sessions.contains(&1));
}

/// spring-projects/spring-session#2786 (J12): what expires between load and save is not saved.
#[test]
fn what_expires_between_load_and_save_is_not_written_back() {
    let rig = keyed();
    let sessions = rig.sessions(SessionPolicy::new().idle(300 * S));
    let start = sessions.start(1, "v").unwrap();
    rig.at(301);
    assert_eq!(
        sessions.update(&1, &start, "late").unwrap_err(),
        UpdateError::Gone
    );
    assert!(sessions.peek(&1).is_none());
    assert_eq!(sessions.resident(), 0);
    let ends = rig.ends();
    assert_eq!(
        (ends.len(), *ends[0].value, ends[0].reason),
        (1, "v", EndReason::Idle)
    );
}

/// redis/redis#1026, redis/redis#4048 (I1, I2): nothing extends what has expired and was not swept.
#[test]
fn no_call_revives_the_dead() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    let seen = sessions.start(1, "v").unwrap();
    rig.at(11);
    assert_eq!(sessions.touch(&1), Err(SessionGone));
    assert_eq!(
        sessions.update(&1, &seen, "w").unwrap_err(),
        UpdateError::Gone
    );
    assert_eq!(sessions.modify(&1, |v| v).unwrap_err(), SessionGone);
    assert_eq!(sessions.revoke(&1), Err(SessionGone));
    assert!(sessions.get(&1).is_none());
    assert_eq!(rig.reasons(), [EndReason::Idle]);
}

/// avoidwork/tiny-lru#37 (I6): a fresh session has a fresh deadline.
#[test]
fn a_new_session_under_an_old_key_has_its_own_deadline() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    sessions.start(1, "a").unwrap();
    rig.at(11);
    sessions.start(1, "b").unwrap();
    rig.at(20);
    assert_eq!(*sessions.peek(&1).unwrap().value, "b");
    rig.at(21);
    assert!(sessions.peek(&1).is_none());
}

/// `sasa1977/con_cache#22` (I7): every way to write leaves the session with its deadline.
#[test]
fn every_way_to_write_keeps_a_deadline() {
    type Write = fn(&Sessions<u32, &'static str>);
    let writes: [Write; 4] = [
        |s| drop(s.start(1, "v").unwrap()),
        |s| drop(s.touch_or_start(1, || "v").unwrap()),
        |s| drop((s.start(1, "v").unwrap(), s.modify(&1, |v| v).unwrap())),
        |s| {
            let seen = s.start(1, "v").unwrap();
            s.update(&1, &seen, "w").unwrap();
        },
    ];
    for write in writes {
        let rig = keyed();
        let sessions = rig.sessions(idle(10 * S));
        write(&sessions);
        rig.at(10);
        assert!(!sessions.contains(&1));
        assert_eq!(sessions.len(), 0);
    }
}

/// fogfish/cache#23, airlinklabs/panel#94 (I24): a touch extends by the session's own limit.
#[test]
fn a_touch_extends_by_the_limit_of_the_session() {
    let rig = keyed();
    let sessions = rig.sessions(idle(60 * S));
    let own = SessionLimits {
        idle: Some(10 * S),
        absolute: None,
    };
    sessions.start_with(1, "v", None, own).unwrap();
    rig.at(9);
    sessions.touch(&1).unwrap();
    rig.at(19);
    assert!(!sessions.contains(&1));
}

/// ben-manes/caffeine#212 (I25): what takes longer to make than it lives does not stay for ever.
#[test]
fn what_is_made_for_longer_than_it_lives_lives_from_then_on_and_ends() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    let other = sessions.clone();
    let started = sessions.touch_or_start(1, || {
        rig.at(60); // a slow step
        assert_eq!(other.len(), 0); // and somebody looks
        "v"
    });
    assert_eq!(
        started.unwrap().into_session().created,
        Timestamp::ZERO + 60 * S
    );
    rig.clock.advance(10 * S - NANO);
    assert!(sessions.contains(&1));
    rig.at(70);
    assert!(!sessions.contains(&1));
    assert_eq!(rig.reasons(), [EndReason::Idle]);
    assert_eq!(sessions.resident(), 0);
}
