//! Models: small programs of two or three threads, every interleaving of which is tried.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --test loom -- --nocapture
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `harness` | runs a model, counts its executions, runs it again on broken wheels |
//! | `trap` | what stock loom overlooks, and that the models do not |
//!
//! Property of this file: for every known way to break the wheel there is a model that fails.

#![cfg(loom)]

mod harness;
mod trap;

/// The ways to break the wheel, each with the model that has to notice.
const MUTANTS: &[(&str, &str)] = &[];

#[test]
fn every_mutant_is_killed_by_its_model() {
    harness::kill_all(&[], MUTANTS);
}
mod scratch;
