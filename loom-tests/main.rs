//! Models: small programs of two or three threads, every interleaving of which is tried.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --test loom -- --nocapture
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `arm`, `marks` | arming against the driver; how the driver learns of it |
//! | `cancel`, `rearm` | against fire, against each other |
//! | `recycle`, `free` | entries that are used again |
//! | `far` | deadlines that a second entry keeps |
//! | `callback`, `wait` | while a callback runs |
//! | `bulk` | clearing, draining, dropping |
//! | `sleep`, `role` | a driver that sleeps; several that drive in turn |
//! | `rig`, `bed` | what models share |
//! | `harness` | runs a model, counts its executions, runs it again on broken wheels |
//! | `trap` | what stock loom overlooks, and that the models do not |
//!
//! Two threads are interrupted at most three times in one execution, three threads twice, unless a
//! model says otherwise; `LOOM_MAX_PREEMPTIONS` sets another bound for all.
//!
//! Property of this file: for every known way to break the wheel there is a model that fails.

#![cfg(loom)]

mod arm;
mod bed;
mod bulk;
mod callback;
mod cancel;
mod far;
mod free;
mod harness;
mod marks;
mod rearm;
mod recycle;
mod rig;
mod role;
mod sleep;
mod trap;
mod wait;

use tickwheel::Mutant;

/// The ways to break the wheel, each with a model that has to notice.
const MUTANTS: &[&[(&str, &str)]] = &[
    arm::MUTANTS,
    bulk::MUTANTS,
    callback::MUTANTS,
    cancel::MUTANTS,
    far::MUTANTS,
    free::MUTANTS,
    marks::MUTANTS,
    rearm::MUTANTS,
    recycle::MUTANTS,
    role::MUTANTS,
    sleep::MUTANTS,
    wait::MUTANTS,
];

#[test]
fn every_mutant_is_killed_by_its_model() {
    let known: Vec<&str> = Mutant::ALL.iter().map(|(name, _)| *name).collect();
    harness::kill_all(&known, &MUTANTS.concat());
}
