//! The driver's thread.

use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;
use std::{io, thread};

use super::Shared;
use super::drive::{Turn, Turned};
use super::job::{caught, discard};
use super::parker::Woken;
use super::phase::Phase;
use crate::Busy;
use crate::shared::mutant::mutant;

/// Starts the thread that drives.
pub(super) fn start(shared: &Arc<Shared>, name: String) -> io::Result<()> {
    let shared = Arc::clone(shared);
    shared.phase.thread_begins();
    let ends = Ends(Arc::clone(&shared.phase));
    thread::Builder::new().name(name).spawn(move || {
        let ends = ends;
        run(&shared);
        #[cfg(feature = "metrics")]
        shared.publish();
        // Whoever waits for the end finds nothing of the runtime kept here.
        drop(shared);
        drop(ends);
    })?;
    Ok(())
}

/// Says that the thread has ended, however that came about.
struct Ends(Arc<Phase>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.thread_ends();
    }
}

/// When to look again while somebody else drives.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long to sleep at least when the clock stands still.
const SHORTEST: Duration = Duration::from_millis(1);

/// What is to be done next.
enum Step {
    Again,
    Sleep(Option<Duration>),
    End,
}

/// Drives until the runtime is shut down.
pub(super) fn run(shared: &Arc<Shared>) {
    // How much longer to sleep because the clock stands still.
    let mut longer = Duration::ZERO;
    loop {
        // Nobody's code runs outside of what catches panics; what is caught here is a fault of ours.
        let step = match caught(|| step(shared)) {
            Ok(step) => step,
            Err(payload) => {
                shared.counters.panics.add(1);
                discard(payload);
                Step::Sleep(Some(LOOK_AGAIN))
            }
        };
        let timeout = match step {
            Step::Again => continue,
            Step::Sleep(timeout) => timeout,
            Step::End => return,
        };
        let before = shared.reading();
        let woken = shared
            .parker
            .park(timeout.map(|timeout| timeout.max(longer)));
        shared.counters.wake_ups.add(1);
        // A clock that did not move while the thread slept may be one that moves in steps, or
        // stands still. It is looked at ever more rarely, but once in a tick.
        let stood_still = woken == Woken::InTime && shared.reading() == before;
        longer = match stood_still {
            true => (longer * 2).clamp(SHORTEST, shared.resolution.tick().max(SHORTEST)),
            false => Duration::ZERO,
        };
    }
}

/// Fires a batch, or finds out how long to sleep.
fn step(shared: &Arc<Shared>) -> Step {
    match shared.turn() {
        // Somebody else drives, and calls when that is over.
        Err(Busy) => return Step::Sleep(Some(LOOK_AGAIN)),
        Ok(Turn::Ran(Turned { more: true, .. })) => {}
        Ok(Turn::Ran(_)) => {
            let sleep = shared.may_sleep();
            if sleep != Some(Duration::ZERO) {
                return Step::Sleep(sleep);
            }
        }
        Ok(Turn::Limited(wait)) => return Step::Sleep(Some(wait)),
        Ok(Turn::Closed) => {
            let flags = shared.gate.look();
            if flags.is_paused() {
                return Step::Sleep(None);
            }
            if flags.is_closed() && !shared.phase.is_closed() && !mutant!(EndUnparted) {
                // Whoever shuts down is about to call.
                return Step::Sleep(None);
            }
            if flags.fires_due() {
                shared.fire_due();
            }
            if flags.is_closed() {
                return Step::End;
            }
        }
    }
    Step::Again
}
