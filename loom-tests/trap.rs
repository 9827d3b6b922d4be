//! The trap that stock loom is, and the harness tried on itself.
//!
//! Properties:
//! * loom's own atomics hide an interleaving as soon as a thread loads before it writes;
//! * those that the wheel is built on hide none, whichever way the thread writes;
//! * these still yield stale values, and add no synchronisation of their own;
//! * a model that cannot go two ways is refused;
//! * a mutant counts as killed if its model ran and failed, and not otherwise.

use std::any::Any;
use std::env;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use std::thread::sleep;
use std::time::Duration;

use loom::thread;
use tickwheel::modelled::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

use crate::harness::{Bound, Fate, LIMIT, explore, fate, kill_all, model, mutant};

/// What `run` says when it panics, if it does.
fn panic_of<R>(run: impl FnOnce() -> R) -> Option<String> {
    let fault: Box<dyn Any + Send> = catch_unwind(AssertUnwindSafe(run)).err()?;
    let text = fault.downcast_ref::<&str>().map(|&text| text.to_owned());
    text.or_else(|| fault.downcast_ref::<String>().cloned())
}

/// Requires that some interleaving of `run` breaks the assertion that says `claim`.
#[track_caller]
fn refute(claim: &str, run: impl Fn() + Send + Sync + 'static) {
    let said = panic_of(|| explore(Bound::None, run));
    assert!(
        said.as_ref().is_some_and(|said| said.contains(claim)),
        "expected a fault of `{claim}`, found {said:?}"
    );
}

// === the trap ===

const OURS_IS_FIRST: &str = "the other thread never writes before we load";

/// One thread loads and then writes; the other claims that it always loads before that.
fn false_claim<A: Send + Sync + 'static, V: PartialEq + Debug + Send + Sync + 'static>(
    before: V,
    new: fn() -> A,
    load: fn(&A) -> V,
    write: fn(&A, V),
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let atomic = Arc::new(new());
        let theirs = Arc::clone(&atomic);
        let thread = thread::spawn(move || {
            let seen = load(&theirs);
            write(&theirs, seen);
        });
        assert_eq!(load(&atomic), before, "{OURS_IS_FIRST}");
        thread.join().unwrap();
    }
}

#[test]
fn stock_loom_accepts_a_false_claim_after_one_execution() {
    let claim = false_claim(
        0,
        || loom::sync::atomic::AtomicU32::new(0),
        |x| x.load(SeqCst),
        |x, seen| assert_eq!(x.compare_exchange(seen, 1, SeqCst, SeqCst), Ok(0)),
    );
    let executions = explore(Bound::None, claim);
    assert_eq!(
        executions, 1,
        "loom has learnt to see this: is the shadow in `sync` still needed?"
    );
}

#[test]
fn the_claim_is_refuted_whichever_way_the_thread_writes() {
    let writes: [fn(&AtomicU32, u32); 5] = [
        |x, seen| x.store(seen + 1, SeqCst),
        |x, seen| assert_eq!(x.swap(seen + 1, SeqCst), seen),
        |x, seen| assert_eq!(x.compare_exchange(seen, 0, SeqCst, SeqCst), Ok(seen)),
        |x, seen| assert_eq!(x.fetch_add(1, SeqCst), seen),
        |x, seen| assert_eq!(x.fetch_or(4, SeqCst), seen),
    ];
    for write in writes {
        let new = || AtomicU32::new(3);
        refute(
            OURS_IS_FIRST,
            false_claim(3, new, |x| x.load(SeqCst), write),
        );
    }
}

#[test]
fn the_claim_is_refuted_for_every_type() {
    macro_rules! refute_for {
        ($atomic:ident, $before:expr, $after:expr) => {
            let claim = false_claim(
                true,
                || $atomic::new($before),
                |x| $before.eq(&x.load(SeqCst)),
                |x, _| {
                    let before = x.compare_exchange($before, $after, SeqCst, SeqCst);
                    assert_eq!(before, Ok($before));
                },
            );
            refute(OURS_IS_FIRST, claim);
        };
    }
    refute_for!(AtomicBool, false, true);
    refute_for!(AtomicPtr, ptr::null_mut::<u8>(), ptr::dangling_mut::<u8>());
    refute_for!(AtomicU64, 0_u64, 1);
    refute_for!(AtomicUsize, 0_usize, 1);
}

// === the memory model is left as it is ===

const NOT_STALE: &str = "who sees the flag sees the data";

/// One thread writes data and raises a flag; the other claims to see the data by the flag.
fn message(raise: Ordering, look: Ordering) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            theirs.0.store(1, Relaxed);
            theirs.1.store(true, raise);
        });
        if shared.1.load(look) {
            assert_eq!(shared.0.load(Relaxed), 1, "{NOT_STALE}");
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_message_needs_a_release_and_an_acquire() {
    model("message", Bound::None, 4, message(Release, Acquire));
    refute(NOT_STALE, message(Relaxed, Acquire));
    refute(NOT_STALE, message(Release, Relaxed));
}

/// A fence synchronises by what was read before it. Here that is a stale value, although a
/// third thread has told, without synchronising, that there is a newer one.
#[test]
fn a_fence_takes_nothing_from_a_stale_load() {
    const FENCED: &str = "the fence took what the stale load did not see";
    refute(FENCED, || {
        let shared: Arc<[AtomicU32; 4]> = Arc::new([0; 4].map(AtomicU32::new));
        let (theirs, relayed) = (Arc::clone(&shared), Arc::clone(&shared));
        let writer = thread::spawn(move || {
            let [data, flag, done, _] = &*theirs;
            data.store(1, Relaxed);
            fence(Release);
            flag.store(1, Relaxed);
            done.store(1, Relaxed);
        });
        let relay = thread::spawn(move || {
            let [_, _, done, told] = &*relayed;
            told.store(done.load(Relaxed), Relaxed);
        });
        let [data, flag, _, told] = &*shared;
        if told.load(Relaxed) == 1 && flag.load(Relaxed) == 0 {
            fence(Acquire);
            assert_eq!(data.load(Relaxed), 1, "{FENCED}");
        }
        writer.join().unwrap();
        relay.join().unwrap();
    });
}

// === the harness ===

#[test]
fn a_model_that_cannot_go_two_ways_is_refused() {
    let said = panic_of(|| model("one way", Bound::None, 2, || ()));
    // With a bound from outside the number of executions is not what it was designed to be.
    let refused = said.is_some_and(|said| said.contains("one way: 1 executions"));
    assert_eq!(refused, env::var_os("LOOM_MAX_PREEMPTIONS").is_none());
}

/// Passes, unless this process is told to be a mutant of which the probe has heard.
#[test]
fn probe() {
    match mutant().as_deref() {
        Some("Fails") => panic!("told to"),
        Some("Aborts") => process::abort(),
        Some("Hangs") => sleep(Duration::from_secs(3600)),
        _ => model("probe", Bound::None, 2, message(Release, Acquire)),
    }
}

#[test]
fn a_mutant_is_killed_only_by_a_model_that_ran_and_failed() {
    let probe = |name| fate(name, "trap::probe", LIMIT);
    assert_eq!(probe("Fails"), Fate::Killed("told to".into()));
    assert!(matches!(probe("Aborts"), Fate::Killed(_)));
    assert_eq!(probe("Lives"), Fate::Survived);
    let short = Duration::from_millis(300);
    assert_eq!(fate("Hangs", "trap::probe", short), Fate::Hung);
    assert_eq!(fate("Fails", "trap::prob", LIMIT), Fate::NoModel);
}

#[test]
fn all_mutants_that_live_are_listed() {
    let said = |known: &[&str], table: &[(&str, &str)]| panic_of(|| kill_all(known, table));
    let fails = ("Fails", "trap::probe");
    assert_eq!(said(&["Fails"], &[fails]), None);

    let table = [fails, ("Idle", "trap::probe"), ("Quiet", "trap::nothing")];
    let told = said(&["Fails", "Idle", "Quiet"], &table).expect("two live");
    let listed = ["2 of 3", "Idle: SURVIVED", "Quiet: NO SUCH MODEL"];
    assert!(listed.iter().all(|what| told.contains(what)), "{told}");
    assert!(!told.contains("Fails"), "{told}");

    let told = said(&["Fails", "Other"], &[fails]).expect("one has no model");
    assert!(told.contains(r#"without a model: ["Other"]"#), "{told}");
    let told = said(&[], &[fails]).expect("one is not known");
    assert!(told.contains(r#"library lacks: ["Fails"]"#), "{told}");
}
