//! A resource that somebody is about to hold is not let go of, whatever drives out what is idle meanwhile.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

use tickwheel::{Grant, Leases, Timers};

use crate::idle::IDLE;
use crate::secs;

thread_local! {
    /// What happens when resource 0 is next compared with itself, on this thread.
    static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

struct Name(u32);

impl Hash for Name {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.0.hash(state);
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        if self.0 == 0 && other.0 == 0 {
            let meanwhile = MEANWHILE.with(|meanwhile| meanwhile.take());
            meanwhile.into_iter().for_each(|run| run());
        }
        self.0 == other.0
    }
}

impl Eq for Name {}

/// So many that, when all of them are let go of, nothing is likely to be idle that was before.
const OTHERS: u32 = 10 * IDLE as u32;

fn runtime() -> Timers {
    Timers::builder().build_hand_driven().unwrap()
}

fn others(leases: &Leases<Name, ()>) -> Vec<Grant<Name, ()>> {
    (1..=OTHERS)
        .map(|other| leases.try_acquire(Name(other), (), secs(10)).unwrap())
        .collect()
}

#[test]
fn who_has_to_have_tokens_made_durable_first_holds_the_resource_then() {
    let timers = runtime();
    type Held = Option<(Leases<Name, ()>, Vec<Grant<Name, ()>>)>;
    let held: Arc<Mutex<Held>> = Arc::default();
    let let_go = Arc::clone(&held);
    let leases: Leases<Name, ()> = Leases::builder()
        .persist_tokens(u64::from(OTHERS), move |_| {
            let held = let_go.lock().unwrap().take();
            if let Some((leases, grants)) = held {
                for grant in &grants {
                    leases.release(grant).unwrap();
                }
            }
            Ok::<(), std::io::Error>(())
        })
        .build(&timers);
    let grants = others(&leases);
    *held.lock().unwrap() = Some((leases.clone(), grants));

    let grant = leases.try_acquire(Name(0), (), secs(10)).unwrap();
    assert!(held.lock().unwrap().is_none(), "the others were let go of");
    let holding = leases.holder(&Name(0)).map(|holding| holding.token());
    assert_eq!(holding, Some(grant.token()));
    assert!(leases.try_acquire(Name(0), (), secs(10)).is_err());
}

#[test]
fn who_finds_a_resource_that_is_driven_out_meanwhile_holds_another_of_that_name() {
    let timers = runtime();
    let leases: Leases<Name, ()> = Leases::new(&timers);
    let first = leases.try_acquire(Name(0), (), secs(10)).unwrap();
    let grants = others(&leases);
    leases.release(&first).unwrap();
    let shared = leases.clone();
    MEANWHILE.set(Some(Box::new(move || {
        for grant in &grants {
            shared.release(grant).unwrap();
        }
    })));

    let grant = leases.try_acquire(Name(0), (), secs(10)).unwrap();
    assert_eq!(leases.len(), 1, "the others were let go of");
    let holding = leases.holder(&Name(0)).map(|holding| holding.token());
    assert_eq!(holding, Some(grant.token()));
    assert!(leases.try_acquire(Name(0), (), secs(10)).is_err());
}
