#![cfg(not(loom))]
//! The wheel against an oracle that can be read in a minute: a `BTreeMap` from
//! (due tick, order of arming) to timer.
//!
//! Properties, after every step of a random program, on the real geometry and on tiny ones,
//! from start clocks around every level edge and near both ends of time, with one very far
//! timer always present:
//! * what fires is exactly what is due, each once, in order of tick, with its value;
//! * equal ticks fire in the order of arming, as long as nothing was re-armed and nothing
//!   has a tolerance;
//! * every operation on every key, live or stale, answers as the oracle does;
//! * `next_deadline` is never later than the earliest due tick, never before `now`, later
//!   than `now` after an unbounded advance, and converges;
//! * a budget changes nothing but the number of calls;
//! * every internal invariant holds ([`Wheel::check`]).

#[path = "model/oracle.rs"]
mod oracle;
#[path = "model/program.rs"]
mod program;

use oracle::Model;
use program::{Op, op, start};
use proptest::prelude::*;

fn run<const BITS: u32>(start: u64, program: &[Op]) {
    let mut model = Model::<BITS>::new(start);
    for op in program {
        model.step(op);
        model.compare();
    }
    model.finish();
}

proptest! {
    #[test]
    fn the_wheel_agrees_with_the_oracle(start in start(), program in proptest::collection::vec(op(24), 1..120)) {
        run::<6>(start, &program);
        run::<8>(start, &program);
    }

    #[test]
    fn the_wheel_agrees_with_the_oracle_over_all_of_time(start in start(), program in proptest::collection::vec(op(64), 1..80)) {
        run::<6>(start, &program);
        run::<8>(start, &program);
    }

    #[test]
    fn a_tiny_wheel_agrees_with_the_oracle(start in start(), program in proptest::collection::vec(op(9), 1..200)) {
        run::<2>(start, &program);
    }

    #[test]
    fn a_small_wheel_agrees_with_the_oracle(start in start(), program in proptest::collection::vec(op(14), 1..120)) {
        run::<3>(start, &program);
        run::<4>(start, &program);
        run::<5>(start, &program);
    }
}
