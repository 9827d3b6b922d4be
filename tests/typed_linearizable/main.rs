#![cfg(not(loom))]
//! What threads are told when they race for records that expire, against what plain records would have said, one
//! step after the other.
//!
//! Properties, for sessions, for the store of sessions, for leases and for one-time codes:
//! * there is an order of all that was done that agrees with real time (what had returned before something
//!   else was called comes before it), and in which each answer is the one of a plain model, for a time that the clock
//!   has shown between the call and its return;
//! * the ends that were told are those of the model, in its order, with its reasons and its deadlines;
//! * the search for that order refuses what cannot have happened.
//!
//! The clock is moved by one thread while others act on what they have read before, and they dawdle there: so
//! that most histories have somebody with an old time.

mod codes;
mod kind;
mod leases;
#[path = "../support/order.rs"]
mod order;
mod race;
mod sessions;
mod store;
mod teeth;

#[path = "../shared_stress/token.rs"]
#[expect(dead_code, reason = "only its numbers are used")]
mod token;

use kind::Kind;
use race::Timed;
use token::scale;

/// Races after each of which there must be an order.
fn races<K: Kind>(threads: usize, ops: u64, count: u64) {
    for seed in 0..count * scale() as u64 {
        let history = race::run::<K>(seed, threads, ops);
        let found = order::has_order(&Timed(K::Model::default()), &history);
        assert!(
            found,
            "seed {seed}, {threads} threads: no order of{}",
            retold(history)
        );
    }
}

/// A line for each call, in the order in which they were made.
fn retold<D: std::fmt::Debug>(mut history: Vec<order::Call<race::At<D>>>) -> String {
    history.sort_by_key(|call| call.from);
    let lines = history.iter().map(|call| {
        let (from, to, then) = (call.from, call.to, ["", " then"][usize::from(call.then)]);
        format!(
            "\n{from:3}..{to:<3}{then} {:?} {:?}",
            call.did.times, call.did.did
        )
    });
    lines.collect()
}

fn all<K: Kind>() {
    races::<K>(2, 5, 400);
    races::<K>(3, 4, 250);
    races::<K>(4, 3, 150);
}

#[test]
fn sessions_are_what_a_map_is() {
    all::<sessions::Real>();
}

#[test]
fn a_store_of_sessions_is_what_a_list_is() {
    all::<store::Real>();
}

#[test]
fn a_lease_is_what_a_cell_is() {
    all::<leases::Real>();
}

#[test]
fn a_code_is_what_a_cell_is() {
    all::<codes::Real>();
}
