//! Properties: what is moved down is moved a little at a time, before it is needed, however it came to lie where it does; and
//! all of it fires at its tick.
//!
//! How many entries a call moves is counted, so that nothing here depends on how fast a machine is.

use super::Wheel;
use crate::Tick;

const BITS: u32 = 6;
/// How many ticks a slot of the second level spans.
const SPAN: u64 = 1 << (2 * BITS);
/// The slot that holds a crowd.
const SLOT: u64 = 5 * SPAN;
/// How many there are in it.
const CROWD: u64 = 5 * SPAN;
/// What a call may move of the crowd: from each of two levels a share of the slot that comes next, and what no share was left for
/// of the one that begins.
const BOUND: u64 = 2 * (32 + 32 + CROWD / SPAN);

fn at(tick: u64) -> Tick {
    Tick::new(tick)
}

/// Where in the slot the nth of a crowd is due: anywhere, in no order.
fn due(nth: u64) -> u64 {
    SLOT + nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) % SPAN
}

/// Goes on in steps of so many ticks, or from work to work if that is none, until all has fired. Says how many a call moved at most.
fn drive(wheel: &mut Wheel<u64, BITS>, step: Option<u64>) -> u64 {
    let (mut now, mut most, mut fired) = (wheel.now().get(), 0, 0);
    let all = wheel.len();
    while !wheel.is_empty() {
        now = match step {
            Some(step) => now + step,
            None => wheel.next_work().unwrap().get(),
        };
        let before = wheel.moved;
        wheel.advance(at(now), |_, expired| {
            fired += 1;
            let late = now - expired.value;
            assert!(late < step.unwrap_or(1), "{late} ticks late");
        });
        most = most.max(wheel.moved - before);
    }
    assert_eq!(fired, all);
    most
}

/// A crowd that comes at that time.
fn crowded(now: u64) -> Wheel<u64, BITS> {
    let mut wheel = Wheel::starting_at(at(now));
    for nth in 0..CROWD {
        wheel.arm(at(due(nth)), due(nth));
    }
    wheel
}

#[test]
fn a_crowd_in_one_slot_is_moved_a_little_at_a_time() {
    for (from, times) in [(0, 1), (SLOT - SPAN, 1), (SLOT - SPAN / 2, 2)] {
        for (step, together) in [(Some(1), 1), (None, 1), (Some(7), 7)] {
            let most = drive(&mut crowded(from), step);
            let bound = BOUND * times * together;
            assert!(
                (1..=bound).contains(&most),
                "{most} at once, from {from}, {step:?}"
            );
        }
    }
}

#[test]
fn what_is_due_alone_in_its_slot_is_not_visited_on_the_way() {
    let mut wheel: Wheel<u64, BITS> = Wheel::starting_at(at(0));
    wheel.arm(at(SLOT + 1), SLOT + 1);
    let mut calls = 0;
    while !wheel.is_empty() {
        let next = wheel.next_work().unwrap();
        wheel.advance(next, |_, _| {});
        calls += 1;
    }
    assert_eq!(
        (wheel.now(), wheel.moved),
        (at(SLOT + 1), 2),
        "a move a level"
    );
    assert_eq!(calls, 2, "where its slot begins, and where it is due");
}
