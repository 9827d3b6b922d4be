#![cfg(not(loom))]
//! Faults of bookkeeping: what is gone stays somewhere.
//!
//! Properties:
//! * churn needs no more memory than the timers that are armed together;
//! * what was removed before its time is not visited, counted, or waited for;
//! * iteration shows what is armed, and nothing else.

mod support;

use std::collections::{BTreeMap, VecDeque};

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Ticks, Wheel};

// grpc/grpc-java#1307, zio/zio#4237, Ericsson/ecchronos#1621, RestComm/media-core#356: long
// timeouts, nearly always cancelled, piled up
// dpkp/kafka-python#3077, apache/kafka#20654, travelping/upg-vpp#344: side tables kept the dead
#[test]
fn churn_needs_no_more_memory_than_what_is_armed_together() {
    fn run<const BITS: u32>(together: usize) {
        let mut wheel = Wheel::<u64, BITS>::default();
        let mut armed = VecDeque::new();
        for round in 0..100_000 {
            let deadline = at(round + 3_600 + round % 7);
            armed.push_back(match round % 3 {
                0 => wheel.arm_tolerant(deadline, Ticks::new(100), round),
                _ => wheel.arm(deadline, round),
            });
            assert_eq!(
                wheel.rearm(armed[0], deadline + Ticks::new(round % 5)),
                Ok(())
            );
            if armed.len() == together {
                assert!(
                    armed
                        .pop_front()
                        .is_some_and(|key| wheel.cancel(key).is_some())
                );
            }
            assert_eq!(wheel.advance(at(round), |_, _| {}), 0);
        }
        wheel.check();
        let most = (together + 8).next_power_of_two();
        assert!(
            wheel.capacity() <= most,
            "room for {}, not {most}",
            wheel.capacity()
        );
        assert!(armed.into_iter().all(|key| wheel.cancel(key).is_some()));
        wheel.shrink_to_fit();
        assert_eq!(
            (wheel.len(), wheel.capacity(), wheel.next_deadline()),
            (0, 0, None)
        );
    }
    for together in [1, 2, 20, 100] {
        run::<8>(together);
        run::<2>(together);
    }
}

// dgraph-io/ristretto#329: what was evicted kept its timer
#[test]
fn a_bounded_set_of_timers_stays_bounded() {
    let mut wheel = Wheel::new();
    wheel.set_limit(100);
    let mut cached = VecDeque::new();
    for id in 0..100_000u64 {
        let key = wheel.try_arm(at(id + 3_600), id).or_else(|full| {
            let oldest = cached.pop_front().unwrap();
            assert_eq!(wheel.cancel(oldest), Some(full.value - 100));
            wheel.try_arm(at(id + 3_600), full.value)
        });
        cached.push_back(key.unwrap());
        assert!(wheel.len() <= 100, "{} armed", wheel.len());
    }
    wheel.check();
    assert!(wheel.capacity() <= 128, "room for {}", wheel.capacity());
}

// nats-io/nats-server#8595, nats-io/nats-server#8594: deleted, but retried in every pass
#[test]
fn what_was_removed_before_its_time_is_not_visited() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        let keys: Vec<_> = (0..1_000).map(|id| wheel.arm(at(50), id)).collect();
        assert_eq!(drive_to(&mut wheel, 10), []);
        for (id, key) in keys.into_iter().enumerate() {
            assert_eq!(wheel.cancel(key), Some(id as u64));
        }
        assert_eq!((wheel.next_deadline(), wheel.next_work()), (None, None));
        assert_eq!(drive_to(&mut wheel, 50), []);
        assert_eq!(drive_to(&mut wheel, 100), []);
        assert_eq!(wheel.drain().count(), 0);
        wheel.arm(at(200), 1);
        assert_eq!(drive_by_next_deadline(&mut wheel, 200), [(200, 1)]);
    }
    run::<8>();
    run::<2>();
}

// aeron-io/agrona#346: the wrong ids
#[test]
fn iteration_shows_what_is_armed() {
    fn run<const BITS: u32>() {
        let (mut wheel, mut model) = (Wheel::<u64, BITS>::default(), BTreeMap::new());
        for id in 0..200u64 {
            let deadline = at(id.pow(3) * 37);
            let tolerance = Ticks::new(id % 4 * 1_000);
            model.insert(wheel.arm_tolerant(deadline, tolerance, id), (deadline, id));
        }
        let keys: Vec<_> = model.keys().copied().collect();
        for key in keys.iter().step_by(3) {
            assert_eq!(wheel.cancel(*key), model.remove(key).map(|(_, id)| id));
        }
        for key in keys.iter().step_by(7) {
            let moved = wheel.rearm(*key, at(5)).is_ok();
            assert_eq!(moved, model.contains_key(key), "{key:?}");
            model
                .entry(*key)
                .and_modify(|(deadline, _)| *deadline = at(5));
        }
        assert_eq!(
            (wheel.iter().len(), wheel.len()),
            (model.len(), model.len())
        );
        let seen: BTreeMap<_, _> = wheel
            .iter()
            .map(|(key, due, id)| (key, (due, *id)))
            .collect();
        assert_eq!(seen, model);
        let drain = wheel.drain();
        assert_eq!(drain.len(), model.len());
        assert_eq!(
            drain
                .map(|(key, due, id)| (key, (due, id)))
                .collect::<BTreeMap<_, _>>(),
            model
        );
    }
    run::<8>();
    run::<2>();
}

#[test]
fn what_a_callback_armed_late_and_cancelled_is_not_waited_for() {
    fn run<const BITS: u32>(others: u64) {
        let mut wheel = Wheel::<u64, BITS>::default();
        for id in 0..others {
            wheel.arm(at(5_000), id);
        }
        wheel.arm(at(5), u64::MAX);
        wheel.advance(at(5), |turn, _| {
            let late = [0, 1, 5].map(|tick| turn.arm(at(tick), tick));
            assert!(late.iter().all(|key| turn.cancel(*key).is_some()));
        });
        wheel.check();
        let next = wheel.next_deadline();
        assert!(
            Some(at(5)) < next && next <= Some(at(5_000)),
            "{next:?} of {wheel:?}"
        );
    }
    for others in [1, 16, 100, 5_000] {
        run::<8>(others);
        run::<2>(others);
    }
}

// What was asked for must do, whatever is cancelled or fires meanwhile.
#[test]
fn a_wheel_with_room_for_so_many_does_not_grow_to_hold_them() {
    for count in [1usize, 64, 5_000] {
        let mut wheel = Wheel::<usize>::with_capacity(count);
        let capacity = wheel.capacity();
        let mut keys: Vec<_> = (0..count).map(|id| wheel.arm(at(1_000), id)).collect();
        for (id, key) in keys.iter_mut().enumerate() {
            assert_eq!(wheel.cancel(*key), Some(id));
            *key = wheel.arm(at(1_000 + id as u64 % 7), id);
        }
        wheel.advance(at(1_003), |turn, expired| {
            turn.arm(at(2_000), expired.value); // while the one that fires is kept
        });
        wheel.check();
        assert_eq!(wheel.len(), count);
        assert_eq!(wheel.capacity(), capacity, "grew to hold {count} timers");
    }
}
