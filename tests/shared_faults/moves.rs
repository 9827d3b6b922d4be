//! Timers that are moved: to the other end of time, and while a turn is under way.

use tickwheel::{Progress, SharedWheel};

use crate::at;

#[test]
fn a_timer_moved_from_one_end_of_time_to_the_other_fires_where_it_was_moved_to() {
    fn run<const BITS: u32>(from: u64, to: u64, filed: bool) {
        let wheel = SharedWheel::<char, BITS>::builder().build();
        let key = wheel.arm(at(from), 'a');
        if filed {
            let next = wheel.next_deadline();
            assert!(next.is_some_and(|next| next <= at(from)), "{next:?}");
        }
        assert_eq!(wheel.rearm(key, at(to)), Ok(()));
        wheel.check();
        assert_eq!(wheel.deadline(key), Some(at(to)), "moved from {from}");
        let next = wheel.next_deadline();
        assert!(next.is_some_and(|next| next <= at(to)), "{next:?} for {to}");
        assert_eq!(
            wheel.advance(at(to - 1), |_, _| {}),
            Ok(0),
            "{from} to {to}"
        );
        assert_eq!(wheel.advance(at(to), |_, _| {}), Ok(1), "{from} to {to}");
        wheel.check();
    }
    let (reach, end) = (1 << 37, u64::MAX - 1);
    let ticks = [
        1,
        5,
        reach - 1,
        reach,
        reach + 1,
        2 * reach,
        1 << 63,
        end - reach,
        end,
    ];
    for from in ticks {
        for to in ticks {
            run::<8>(from, to, true);
            run::<8>(from, to, false);
            run::<2>(from, to, from < to);
        }
    }
}

#[test]
fn a_timer_disarmed_and_armed_again_elsewhere_fires_there() {
    for (from, to) in [
        (100, 200),
        (200, 100),
        (100, 1 << 40),
        (1 << 40, 100),
        (5, u64::MAX - 1),
    ] {
        let wheel = SharedWheel::<char>::new();
        let key = wheel.arm(at(from), 'a');
        assert!(wheel.next_deadline().is_some());
        assert_eq!(wheel.disarm(key), Ok(()));
        assert_eq!(wheel.advance(at(50), |_, _| {}), Ok(0), "held");
        assert_eq!(wheel.rearm(key, at(to)), Ok(()));
        wheel.check();
        assert_eq!(
            wheel.advance(at(to - 1), |_, _| {}),
            Ok(0),
            "{from} to {to}"
        );
        assert_eq!(wheel.advance(at(to), |_, _| {}), Ok(1), "{from} to {to}");
    }
}

/// Moved into the past it waits for the next turn. Moved on from there it does not.
#[test]
fn a_timer_moved_into_the_past_and_on_fires_in_this_turn() {
    let wheel = SharedWheel::<char>::new();
    wheel.arm(at(5), 'a');
    wheel.arm(at(7), 'b');
    let key = wheel.arm(at(100), 'c');
    let mut log = Vec::new();
    let fired = wheel.advance(at(50), |turn, expired| {
        log.push((turn.now().get(), expired.value));
        let to = match expired.value {
            'a' => at(0),
            'b' => at(20),
            _ => return,
        };
        assert_eq!(turn.rearm(key, to), Ok(()));
    });
    wheel.check();
    assert_eq!((fired, log), (Ok(3), vec![(5, 'a'), (7, 'b'), (20, 'c')]));
}

#[test]
fn a_timer_moved_into_the_past_and_on_between_two_calls_fires_in_the_turn() {
    for looks in [false, true] {
        let wheel = SharedWheel::<char>::new();
        (0..10).for_each(|_| assert!(wheel.try_arm(at(1), 'a').is_ok()));
        let key = wheel.arm(at(100), 'b');
        let mut log = Vec::new();
        let mut call = |target| {
            let progress = wheel.advance_bounded(at(target), 2, |turn, expired| {
                log.push((turn.now().get(), expired.value));
            });
            progress.expect("nobody else drives")
        };
        while wheel.len() > 6 {
            assert!(matches!(call(50), Progress::More { .. }));
        }
        for to in [0, 3] {
            assert_eq!(wheel.rearm(key, at(to)), Ok(()));
            if looks {
                assert_eq!(wheel.next_deadline(), Some(wheel.now()));
            }
        }
        while !call(50).is_done() {}
        wheel.check();
        assert_eq!((log.len(), log.last()), (11, Some(&(3, 'b'))), "{log:?}");
    }
}
