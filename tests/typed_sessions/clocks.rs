//! Properties: one clock is what reads, writes and the driver go by; whatever it does, what was seen to expire stays
//! so; the driver comes by within a tick, or a tolerance, though nobody calls.

use super::*;
use tickwheel::{SessionGone, UpdateError};

/// BloopAI/bloop#1027, ltratt/pizauth#48, mullvad/mullvadvpn-app#3487 (H3): after a suspend, reads come
/// before the driver.
#[test]
fn a_leap_of_the_clock_is_seen_by_reads_before_the_driver() {
    let rig = keyed();
    let sessions = rig.sessions(idle(3600 * S));
    sessions.start(1, "token").unwrap();
    rig.clock.jump(Timestamp::ZERO + 8 * 3600 * S);
    assert!(sessions.get(&1).is_none());
    assert_eq!(sessions.touch(&1), Err(SessionGone));
}

/// systemd/systemd#43116 (H5): the absolute limit is measured on the one clock, and from when it started.
#[test]
fn the_absolute_limit_is_a_time_of_the_runtimes_clock() {
    let clock = ManualClock::starting_at(Timestamp::from_nanos(1 << 60));
    let timers = Timers::builder()
        .clock(clock.clone())
        .build_hand_driven()
        .unwrap();
    let sessions = Sessions::new(&timers, SessionPolicy::new().absolute(300 * S));
    sessions.start(1, "v").unwrap();
    clock.advance(300 * S - NANO);
    assert_eq!(sessions.time_to_live(&1).unwrap().absolute, Some(NANO));
    clock.advance(NANO);
    assert!(!sessions.contains(&1));
}

/// maypok86/otter#115 (H9): a coarse tick makes no read coarse.
#[test]
fn a_coarse_tick_makes_no_read_coarse() {
    let clock = ManualClock::new();
    let tick = tickwheel::Resolution::new(S).unwrap();
    let timers = Timers::builder().clock(clock.clone()).resolution(tick);
    let timers = timers.build_hand_driven().unwrap();
    let sessions = Sessions::new(&timers, idle(S / 10));
    sessions.start(1, "v").unwrap();
    clock.advance(S / 10 - NANO);
    assert!(sessions.contains(&1));
    clock.advance(NANO);
    assert!(!sessions.contains(&1));
}

#[test]
fn what_was_seen_to_expire_stays_so_if_the_clock_goes_back() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    sessions.start(1, "read").unwrap();
    sessions.start(2, "counted").unwrap();
    rig.at(10);
    assert!(sessions.get(&1).is_none());
    assert_eq!(sessions.len(), 0);
    rig.clock.jump(Timestamp::ZERO + 5 * S);
    assert!(sessions.get(&1).is_none() && sessions.get(&2).is_none());
    assert_eq!(sessions.touch(&1), Err(SessionGone));
    // Life goes on from where it was.
    sessions.start(1, "new").unwrap();
    let left = sessions.time_to_live(&1).unwrap();
    assert_eq!(left.deadline, Timestamp::ZERO + 20 * S);
    assert_eq!(left.effective, Some(10 * S));
    assert_eq!(rig.reasons(), [EndReason::Idle; 2]);
}

/// tkem/cachetools#29 (I10): one call reads one time, however the clock steps.
#[test]
fn a_clock_that_steps_at_every_reading_splits_no_call() {
    struct Stepping(ManualClock);
    impl Clock for Stepping {
        fn now(&self) -> Timestamp {
            self.0.advance(3 * S)
        }
    }
    let clock = Stepping(ManualClock::new());
    let timers = Timers::builder().clock(clock).build_hand_driven().unwrap();
    let sessions = Sessions::new(&timers, idle(2 * S).max_sessions(2));
    for key in 0..20 {
        let seen = sessions.start(key % 3, "v").unwrap();
        let _ = sessions.touch_or_start(key % 2, || "w").unwrap();
        assert_eq!(
            sessions.update(&(key % 3), &seen, "x").unwrap_err(),
            UpdateError::Gone
        );
        assert_eq!(sessions.remove(&key), Err(SessionGone));
        assert_eq!(sessions.len(), 0);
    }
}

#[test]
fn what_expires_without_traffic_is_reclaimed_within_a_tick() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    sessions.start(1, "v").unwrap();
    rig.at(9);
    sessions.touch(&1).unwrap();
    let mut turns = 0;
    while sessions.resident() > 0 {
        rig.timers.advance_to_next(&rig.clock);
        turns += 1;
        assert!(turns < 20, "nobody comes by");
    }
    let late = rig.now() - (Timestamp::ZERO + 19 * S);
    assert!(late < Duration::from_millis(1), "late by {late:?}");
    assert_eq!(rig.reasons(), [EndReason::Idle]);
    assert!(rig.timers.is_empty(), "a timer is left");
}

#[test]
fn a_tolerance_delays_the_driver_and_no_read() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S).reclaim_tolerance(5 * S));
    for key in 0..50 {
        sessions.start(key, "v").unwrap();
        rig.go(Duration::from_millis(20));
    }
    rig.clock.set(Timestamp::ZERO + 10 * S);
    assert!(sessions.peek(&0).is_none());
    assert!(sessions.peek(&49).is_some());
    let mut turns = 0;
    while rig.timers.advance_to_next(&rig.clock) > 0 {
        turns += 1;
    }
    assert!(turns <= 6, "{turns} wake-ups");
    assert!(rig.now() <= Timestamp::ZERO + 17 * S);
    assert_eq!(rig.ends().len(), 50);
}
