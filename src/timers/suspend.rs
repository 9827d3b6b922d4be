//! Sleeping by the clock that counts suspended time: a sleep that was over while the machine was
//! suspended ends when it resumes.
//!
//! A condition variable sleeps by the monotonic clock, which stands still meanwhile; so the driver of a
//! runtime on a boot clock would be late by the time suspended.

use core::time::Duration;
use std::io;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timer of the system's, and something to end the wait for it with.
#[derive(Debug)]
pub(super) struct Suspendable {
    timer: OwnedFd,
    event: OwnedFd,
}

// === impl Suspendable ===

impl Suspendable {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { timer, event })
    }

    /// Waits for a call, or for as long as that.
    pub(super) fn park(&self, timeout: Option<Duration>) {
        // Zero would switch the timer off, as `None` is meant to.
        let span = timeout.map_or(Duration::ZERO, |span| span.max(Duration::from_nanos(1)));
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: span.subsec_nanos().into(),
            },
        };
        let mut fds = [&self.timer, &self.event].map(|fd| PollFd::new(fd, PollFlags::IN));
        // What the system refuses, a signal included, counts as woken without reason: who sleeps
        // looks at its clock anyway.
        if timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).is_ok() {
            let _ = poll(&mut fds, None);
        }
        // A call is used up by the wait that it has ended. It fails if there was none.
        let _ = read(&self.event, &mut [0; 8]);
    }

    /// Ends the wait, or the next one.
    pub(super) fn unpark(&self) {
        // It fails if there have been 2^64 calls that nobody has waited for.
        let _ = write(&self.event, &1_u64.to_ne_bytes());
    }
}
