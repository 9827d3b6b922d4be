//! Simulation: one seed makes a program of virtual threads, and all of the crate runs it beside a plain model.
//!
//! A program uses a runtime, sessions, logins, leases and codes, all on one clock that it moves by hand.
//! Threads hold on to what they were given (keys, ids, grants, codes), come back with it late, and their steps are
//! mixed at random; the driver comes by now and then, or is paused, and its callbacks do steps of their own; these, hooks and wakers panic; the
//! clock leaps and goes back; the runtime has room for few timers; the process is stopped, in each way there is, and started again
//! from a snapshot. After each step what was answered, told and dropped is compared with the models, which
//! are maps with deadlines and know nothing of timers.
//!
//! A program that fails is cut down to the steps that it takes, and told as a story. Its seed goes into
//! [`SEEDS`], for ever.
//!
//! | file | what lives there |
//! |---|---|
//! | `program` | seeds to programs; programs that fail to shorter ones |
//! | `config` | what a program runs on |
//! | `world`, `process` | the process: its clock, its parts; its stops and starts |
//! | `cx` | what parts are given |
//! | `reach` | what programs get to |
//! | `ends` | what was told of ends, and what has to be |
//! | `timers`, `sessions`, `logins`, `leases`, `codes` | each part, and beside it its model |
//! | `waiting` | who waits for a lease |
//! | `keepers` | guards of leases |
//! | `sleeps` | futures of the runtime, and guards |
//! | `fuse` | hooks and wakers that panic |
//!
//! ```text
//! cargo test --release --all-features --test simulation              a fixed number of seeds
//! SIMULATE_SECONDS=3600 cargo test --release --all-features --test simulation other_seeds -- --nocapture
//! SIMULATE_SEED=123 cargo test --all-features --test simulation one_seed -- --nocapture
//! ```

mod codes;
mod config;
mod cx;
mod ends;
mod fuse;
mod keepers;
mod leases;
mod logins;
mod process;
mod program;
mod reach;
mod sessions;
mod sessions_model;
mod sleeps;
mod timers;
mod waiting;
mod world;

use std::env;
use std::time::{Duration, Instant};

use program::{Program, Step};

/// Programs that have found something once.
const SEEDS: &[u64] = &[634];

/// How many seeds each run tries.
const COUNT: u64 = 1_500;

/// Runs the program of a seed. If it fails, the panic tells the shortest story that does.
fn simulate(seed: u64) {
    let program = Program::of(seed);
    if world::run(&program).is_err() {
        let program = program.cut(|shorter| world::run(shorter).is_err());
        let story = world::run(&program).unwrap_err();
        panic!("seed {seed}, {:?}:\n{story}", program.config);
    }
}

#[test]
fn what_was_found_once_stays_fixed() {
    for seed in SEEDS {
        simulate(*seed);
    }
}

#[test]
fn all_parts_do_what_their_models_say() {
    (0..COUNT).for_each(simulate);
}

/// Runs for as long as `SIMULATE_SECONDS` says, from seeds that no other run has had.
#[test]
fn other_seeds() {
    let seconds = env::var("SIMULATE_SECONDS").map_or(1, |text| text.parse().unwrap());
    let first = u64::from(std::process::id());
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        simulate((first << 32) + count);
        count += 1;
    }
    println!("{count} programs from seed {} on", first << 32);
}

#[test]
fn one_seed() {
    if let Ok(seed) = env::var("SIMULATE_SEED") {
        let program = Program::of(seed.parse().unwrap());
        println!("{:?}", program.config);
        match world::run(&program) {
            Ok(story) | Err(story) => println!("{story}"),
        }
        simulate(program.seed);
    }
}

/// The same program does the same, or a seed would be worth nothing.
#[test]
fn a_seed_tells_the_same_story_twice() {
    for seed in 0..20 {
        let story = || world::run(&Program::of(seed)).unwrap();
        assert_eq!(story(), story());
    }
}

/// A model that counts a session's life a nanosecond too long is caught, and the story says how in a few steps.
#[test]
fn a_difference_of_a_nanosecond_is_found_and_cut_down_to_its_story() {
    let wrong = |program: &Program| {
        let mut program = program.clone();
        program.config.flaw = 1;
        program
    };
    let fails = |program: &Program| world::run(program).is_err();
    let found = (0..50).map(|seed| wrong(&Program::of(seed))).find(fails);
    let short = found.expect("nothing was found").cut(fails);
    assert!(short.steps.len() <= 6, "{:#?}", short.steps);
    let starts = |step: &Step| matches!(step.what, program::Do::Sessions(_));
    assert!(short.steps.iter().any(starts));
}

/// Programs get to all that they are there for.
#[test]
fn programs_reach_all_that_they_are_there_for() {
    let mut reached = reach::Reached::default();
    for seed in 0..800 {
        reached += reach::reach(&Program::of(seed));
    }
    assert!(reached.restarts > 50, "{reached:?}");
    assert!(reached.nested > 500, "{reached:?}");
    assert!(reached.panics > 500, "{reached:?}");
    assert!(reached.fired > 500, "{reached:?}");
    assert!(reached.backs > 50 && reached.full > 50, "{reached:?}");
    let [served, timed_out, left, lapsed] = reached.waiters;
    assert!(served > 100 && timed_out > 20, "{reached:?}");
    assert!(left > 20 && lapsed > 20, "{reached:?}");
    let [woken, unguarded] = reached.sleeps;
    assert!(woken > 100 && unguarded > 50, "{reached:?}");
    let [lost, renewed] = reached.keepers;
    assert!(lost > 50 && renewed > 50, "{reached:?}");
    for reason in ends::ALL {
        assert!(
            reached.ends.contains(&format!("{reason:?}")),
            "{reason:?} in {reached:?}"
        );
    }
}
