//! The driver's thread.

use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;
use std::{io, thread};

use super::Shared;
use super::drive::{Turn, Turned};
use super::job::caught;
use super::parker::Woken;
use crate::Busy;

/// Starts the thread that drives.
pub(super) fn start(shared: &Arc<Shared>, name: String) -> io::Result<()> {
    let shared = Arc::clone(shared);
    shared.phase.thread_begins();
    let ends = Ends(Arc::clone(&shared));
    thread::Builder::new().name(name).spawn(move || {
        let ends = ends;
        run(&shared);
        #[cfg(feature = "metrics")]
        shared.publish();
        drop(shared);
        drop(ends);
    })?;
    Ok(())
}

/// Says that the thread has ended, however that came about.
struct Ends(Arc<Shared>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.phase.thread_ends();
    }
}

/// When to look again while somebody else drives.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What is to be done next.
enum Step {
    Again,
    Sleep(Option<Duration>),
    End,
}

/// Drives until the runtime is shut down.
pub(super) fn run(shared: &Arc<Shared>) {
    let tick = shared.resolution.tick();
    let mut stood_still = false;
    loop {
        // Nobody's code runs outside of what catches panics, but for the clock's.
        let step = caught(|| step(shared)).unwrap_or_else(|_| {
            shared.counters.panics.add(1);
            Step::Sleep(Some(tick))
        });
        let timeout = match step {
            Step::Again => continue,
            Step::Sleep(timeout) => timeout,
            Step::End => return,
        };
        // A clock that did not move while the thread slept will not be there a moment later.
        let timeout = timeout.map(|timeout| {
            if stood_still {
                timeout.max(tick)
            } else {
                timeout
            }
        });
        let before = caught(|| shared.clock.now()).ok();
        let woken = shared.parker.park(timeout);
        shared.counters.wake_ups.add(1);
        stood_still = woken == Woken::InTime && caught(|| shared.clock.now()).ok() == before;
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
