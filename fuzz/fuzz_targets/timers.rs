//! A runtime that is driven by hand, on a clock that is moved by hand, does what a map of deadlines says: programs that
//! come as bytes arm, move, suspend and cancel timers of each kind, and callbacks do so too, panic, or stop.

#![no_main]

#[path = "../timers/callback.rs"]
mod callback;
#[path = "../timers/oracle.rs"]
mod oracle;
#[path = "../timers/program.rs"]
mod program;
#[path = "../timers/world.rs"]
mod world;

use libfuzzer_sys::fuzz_target;
use program::Input;
use world::World;

fuzz_target!(|input: Input| {
    let mut world = World::new(&input);
    for step in input.steps.iter().take(80) {
        world.step(step);
        world.compare();
    }
    world.finish(input.end);
});
