//! The wheel does what the oracle of `tests/model` does, on programs and geometries that come as bytes.

#![no_main]

#[path = "../../tests/model/oracle.rs"]
mod oracle;

/// What may happen to a wheel.
#[path = "../programs/op.rs"]
mod program;

use libfuzzer_sys::fuzz_target;
use oracle::Model;
use program::Op;

fn run<const BITS: u32>(start: u64, program: &[Op]) {
    let mut model = Model::<BITS>::new(start);
    for op in program {
        model.step(op);
        model.compare();
    }
    model.finish();
}

fuzz_target!(|input: (u8, u64, Vec<Op>)| {
    let (geometry, start, mut program) = input;
    program.truncate(120);
    // Small wheels meet every wrap-around within a few ticks.
    match geometry % 4 {
        0 => run::<2>(start, &program),
        1 => run::<3>(start, &program),
        2 => run::<6>(start, &program),
        _ => run::<8>(start, &program),
    }
});
