//! The shared wheel does what the oracle of `tests/shared_model` does, on programs and geometries that come as bytes: one
//! thread, which also drives, and callbacks that act.

#![no_main]

#[path = "../../tests/shared_model/door.rs"]
mod door;
#[path = "../../tests/shared_model/model.rs"]
mod model;
#[path = "../../tests/shared_model/oracle.rs"]
mod oracle;
#[path = "../../tests/shared_model/script.rs"]
mod script;

/// What may happen to any wheel.
#[path = "../programs/op.rs"]
mod plain;
/// What may happen to a shared one.
#[path = "../programs/step.rs"]
mod program;

use libfuzzer_sys::fuzz_target;
use model::Model;
use program::Step;
use tickwheel::{SharedWheel, Tick};

fn run<const BITS: u32>(start: u64, shards: usize, program: &[Step]) {
    let wheel = SharedWheel::<u64, BITS>::builder()
        .shards(shards)
        .starting_at(Tick::new(start))
        .build();
    let mut model = Model::new(&wheel);
    for step in program {
        model.step(step);
        model.compare();
    }
    model.finish();
}

fuzz_target!(|input: (u8, u64, Vec<Step>)| {
    let (geometry, start, mut program) = input;
    program.truncate(80);
    let shards = 1 + usize::from(geometry / 4) % 3;
    // Small wheels meet every wrap-around within a few ticks.
    match geometry % 4 {
        0 => run::<2>(start, shards, &program),
        1 => run::<3>(start, shards, &program),
        2 => run::<6>(start, shards, &program),
        _ => run::<8>(start, shards, &program),
    }
});
