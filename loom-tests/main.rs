//! Models: small programs of two or three threads, whose interleavings are tried.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --features typed --test loom -- --nocapture
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
//! | `runtime` | the runtime: its end, its driver's sleep, callbacks elsewhere |
//! | `desk` | what a thread of a runtime has to itself, until it ends |
//! | `typed` | the typed layer: a record's deadline, fencing tokens |
//! | `rig`, `bed` | what models share |
//! | `harness` | runs a model, counts its executions, runs it again on broken wheels |
//! | `trap` | what stock loom overlooks, and that the models do not |
//!
//! Each model says how often threads are interrupted in one execution: two threads at most two to
//! five times, or as often as there is a place to; three threads at most two or three times.
//! `LOOM_MAX_PREEMPTIONS` sets another bound for all.
//!
//! Property of this file: for every known way to break the wheel there is a model that fails, and
//! for every model there is a way to break the wheel that it notices.

#![cfg(loom)]

mod arm;
mod bed;
mod bulk;
mod callback;
mod cancel;
mod desk;
mod far;
mod free;
mod harness;
mod marks;
mod rearm;
mod recycle;
mod rig;
mod role;
mod runtime;
mod sleep;
mod trap;
#[cfg(feature = "typed")]
mod typed;
mod wait;

use tickwheel::Mutant;

/// The ways to break the wheel, each with a model that has to notice.
const MUTANTS: &[&[(&str, &str)]] = &[
    arm::MUTANTS,
    bulk::MUTANTS,
    callback::MUTANTS,
    cancel::MUTANTS,
    desk::MUTANTS,
    far::MUTANTS,
    free::MUTANTS,
    marks::MUTANTS,
    rearm::MUTANTS,
    recycle::MUTANTS,
    role::MUTANTS,
    runtime::MUTANTS,
    sleep::MUTANTS,
    #[cfg(feature = "typed")]
    typed::MUTANTS,
    wait::MUTANTS,
];

#[test]
fn every_mutant_is_killed_by_its_model() {
    let known: Vec<&str> = Mutant::ALL.iter().map(|(name, _)| *name).collect();
    harness::kill_all(&known, &MUTANTS.concat());
}

#[test]
fn every_model_has_a_mutant_to_notice() {
    let tried = MUTANTS.concat();
    let is_tried = |name: &str| tried.iter().any(|&(_, model)| model == name);
    let mut models = harness::tests();
    // What is in this file, and what is about the harness.
    models.retain(|name| name.contains("::") && !name.starts_with("trap::"));
    assert!(models.len() > MUTANTS.len(), "{models:?} are all models");
    models.retain(|name| !is_tried(name));
    assert!(models.is_empty(), "models without a mutant: {models:?}");
}
