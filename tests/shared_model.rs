#![cfg(all(not(loom), feature = "std"))]
//! The shared wheel, used from one thread, against an oracle that can be read in a minute: a
//! `BTreeMap` from value to deadline.
//!
//! Properties, after every step of a random program, on six geometries, from start clocks
//! around every level edge and at both ends of time, with one very far timer always present:
//! * what fires is exactly what is due, each once, in order of tick, with its key, deadline,
//!   tolerance and value; within a tick the order is open;
//! * arms, cancels and re-arms answer as the oracle does, whichever door they come through:
//!   the wheel itself, two locals, or the turn of a callback;
//! * what a callback moves to its own tick or before waits for the next call, what it moves
//!   to a later tick within the call fires in the call, and what it cancels does not fire;
//! * a timer that fires keeps its key if its callback arms it again, unless it was cancelled
//!   meanwhile;
//! * distances up to 2^64 ticks are like any other, for an arm and for a re-arm either way;
//! * `next_deadline` is never later than the earliest due tick, later than `now` after a
//!   complete advance, and converges;
//! * a budget changes nothing but the number of calls;
//! * every internal invariant holds ([`SharedWheel::check`]).

#[path = "model/program.rs"]
mod plain;

#[path = "shared_model/door.rs"]
mod door;
#[path = "shared_model/model.rs"]
mod model;
#[path = "shared_model/oracle.rs"]
mod oracle;
#[path = "shared_model/program.rs"]
mod program;
#[path = "shared_model/script.rs"]
mod script;

use model::Model;
use plain::start;
use program::{Step, step};
use proptest::collection::vec;
use proptest::prelude::*;
use tickwheel::{SharedWheel, Tick};

fn run<const BITS: u32>(start: u64, program: &[Step]) {
    let wheel = SharedWheel::<u64, BITS>::builder()
        .shards(1 + program.len() % 3)
        .starting_at(Tick::new(start))
        .build();
    let mut model = Model::new(&wheel);
    for step in program {
        model.step(step);
        model.compare();
    }
    model.finish();
}

proptest! {
    #[test]
    fn the_shared_wheel_agrees_with_the_oracle(start in start(), program in vec(step(24), 1..80)) {
        run::<6>(start, &program);
        run::<8>(start, &program);
    }

    #[test]
    fn the_shared_wheel_agrees_with_the_oracle_over_all_of_time(start in start(), program in vec(step(64), 1..60)) {
        run::<6>(start, &program);
        run::<8>(start, &program);
    }

    #[test]
    fn a_tiny_shared_wheel_agrees_with_the_oracle(start in start(), program in vec(step(9), 1..120)) {
        run::<2>(start, &program);
    }

    #[test]
    fn a_small_shared_wheel_agrees_with_the_oracle(start in start(), program in vec(step(14), 1..80)) {
        run::<3>(start, &program);
        run::<4>(start, &program);
        run::<5>(start, &program);
    }

    #[test]
    fn few_timers_moved_often_agree_with_the_oracle(program in vec(step(5), 1..120)) {
        run::<2>(0, &program);
        run::<8>(0, &program);
    }
}
