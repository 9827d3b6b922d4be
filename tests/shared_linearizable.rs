#![cfg(all(not(loom), feature = "std"))]
//! What threads are told when they race for a timer, against what a timer that one thread
//! owns would have said.
//!
//! Properties:
//! * for every timer there is an order of all that was done to it that agrees with real time
//!   (what had returned before something else was called comes before it), and in which each
//!   answer is the one of the sequential timer; firing counts as something the driver does,
//!   and so does *not* firing something that was due before the advance began;
//! * the search for that order refuses what cannot have happened.

#[path = "support/order.rs"]
mod order;
#[path = "shared_linearizable/race.rs"]
mod race;
#[path = "shared_linearizable/timer.rs"]
mod timer;

#[path = "shared_stress/token.rs"]
#[expect(dead_code, reason = "only its numbers are used")]
mod token;

use order::has_order;
use timer::{Did, Timer};
use token::scale;

type Call = order::Call<Did>;

/// Races in which every timer's history must have an order.
fn races<const BITS: u32>(threads: usize, timers: usize, rounds: usize) {
    for seed in 0..rounds as u64 {
        for (timer, (from, history)) in race::run::<BITS>(seed, threads, timers)
            .into_iter()
            .enumerate()
        {
            assert!(
                has_order(&from, &history),
                "timer {timer} of seed {seed}: no order of {history:#?}"
            );
        }
    }
}

#[test]
fn two_threads_and_a_driver_at_one_timer_are_told_what_can_be_true() {
    races::<8>(2, 1, 700 * scale());
    races::<2>(2, 1, 300 * scale());
}

#[test]
fn three_threads_and_a_driver_at_two_timers_are_told_what_can_be_true() {
    races::<8>(3, 2, 500 * scale());
    races::<3>(3, 2, 200 * scale());
}

// --- the search has teeth ---

/// Whether a timer armed for tick 5 can have had this history.
fn possible(calls: &[Call]) -> bool {
    has_order(&Timer::armed(5), calls)
}

const FIRED: Did = Did::Fired { at: 5, due: 5 };

#[test]
fn the_search_finds_an_order_of_what_can_have_happened() {
    assert!(possible(&[]));
    let whole_life = [
        Call::new(0, 1, Did::Rearmed { due: 9, done: true }),
        Call::new(2, 3, Did::Asked { due: Some(9) }),
        Call::new(4, 4, Did::Begun { target: 9 }),
        Call::new(4, 5, Did::Fired { at: 9, due: 9 }),
        Call::new(
            6,
            7,
            Did::Canceled {
                done: false,
                running: Some(true),
            },
        ),
        Call::new(
            8,
            9,
            Did::Again {
                at: 9,
                due: 12,
                target: 9,
                done: false,
            },
        ),
        Call::new(10, 11, Did::Ended),
        Call::new(10, 11, Did::NotFired { target: 9 }),
        Call::new(
            12,
            13,
            Did::Canceled {
                done: false,
                running: Some(false),
            },
        ),
    ];
    assert!(possible(&whole_life));
    // The same, told in any order: only the stamps count.
    let mut turned = whole_life;
    turned.reverse();
    assert!(possible(&turned));
    // Two at once, either of which may have been first.
    let late = Did::Rearmed {
        due: 9,
        done: false,
    };
    let cancelled = Did::Canceled {
        done: true,
        running: None,
    };
    assert!(possible(&[
        Call::new(0, 3, late),
        Call::new(1, 2, cancelled)
    ]));
    // Moved into the past while the driver was under way: the next one fires it.
    assert!(possible(&[
        Call::new(0, 0, Did::Begun { target: 6 }),
        Call::new(1, 2, Did::Rearmed { due: 3, done: true }),
        Call::new(0, 3, Did::NotFired { target: 6 }),
    ]));
}

#[test]
fn the_search_refuses_what_cannot_have_happened() {
    let cancelled = Did::Canceled {
        done: true,
        running: None,
    };
    let stale = Did::Canceled {
        done: false,
        running: Some(false),
    };
    let running = Did::Canceled {
        done: false,
        running: Some(true),
    };
    let moved = |due| Did::Rearmed { due, done: true };
    let refused = Did::Rearmed {
        due: 9,
        done: false,
    };
    let again = |done| Did::Again {
        at: 5,
        due: 8,
        target: 5,
        done,
    };
    let impossible: [(&str, Vec<Call>); 16] = [
        (
            "cancelled twice",
            vec![Call::new(0, 3, cancelled), Call::new(1, 2, cancelled)],
        ),
        (
            "fired after a cancel",
            vec![Call::new(0, 1, cancelled), Call::new(2, 3, FIRED)],
        ),
        (
            "cancelled after it fired",
            vec![Call::new(0, 1, FIRED), Call::new(2, 3, cancelled)],
        ),
        (
            "fired twice",
            vec![
                Call::new(0, 1, FIRED),
                Call::new(2, 3, Did::Ended),
                Call::new(4, 5, FIRED),
            ],
        ),
        (
            "fired early",
            vec![Call::new(0, 1, Did::Fired { at: 4, due: 5 })],
        ),
        (
            "fired for the old deadline",
            vec![Call::new(0, 1, moved(9)), Call::new(2, 3, FIRED)],
        ),
        (
            "fired for a deadline it never had",
            vec![Call::new(0, 1, Did::Fired { at: 6, due: 6 })],
        ),
        ("stale though armed", vec![Call::new(0, 1, stale)]),
        ("refused though armed", vec![Call::new(0, 1, refused)]),
        (
            "moved after it fired",
            vec![Call::new(0, 1, FIRED), Call::new(2, 3, moved(9))],
        ),
        (
            "running before its callback",
            vec![Call::new(0, 1, running), Call::new(2, 3, FIRED)],
        ),
        (
            "running after its callback",
            vec![
                Call::new(0, 1, FIRED),
                Call::new(2, 3, Did::Ended),
                Call::new(4, 5, running),
            ],
        ),
        (
            "armed again after a cancel met the callback",
            vec![
                Call::new(0, 1, FIRED),
                Call::new(2, 3, running),
                Call::new(4, 5, again(true)),
            ],
        ),
        (
            "refused again without a cancel",
            vec![Call::new(0, 1, FIRED), Call::new(2, 3, again(false))],
        ),
        (
            "not fired though due before the advance began",
            vec![
                Call::new(0, 0, Did::Begun { target: 5 }),
                Call::new(0, 1, Did::NotFired { target: 5 }),
            ],
        ),
        (
            "another deadline than it has",
            vec![Call::new(0, 1, Did::Asked { due: Some(6) })],
        ),
    ];
    for (what, history) in impossible {
        assert!(!possible(&history), "{what}: accepted");
    }
}

#[test]
fn the_search_refuses_a_wait_that_ended_before_the_callback() {
    let wait = |to| {
        vec![
            Call::new(0, 1, FIRED),
            Call::new(
                2,
                to,
                Did::Canceled {
                    done: false,
                    running: Some(true),
                },
            ),
            Call::new(2, to, Did::Waited).then(),
            Call::new(6, 7, Did::Ended),
        ]
    };
    assert!(possible(&wait(8)));
    assert!(!possible(&wait(5)));
}
