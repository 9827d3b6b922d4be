//! How a task waits for expirations, and who wakes it.

use core::future::poll_fn;
use core::task::{Context, Poll, Waker};

use super::super::ArmError;
use super::Expirations;
use crate::{Expired, Tick};

impl<T> Expirations<T> {
    /// The next value that expires; `None` if there is nothing to wait for, see [`Expirations`].
    ///
    /// Cancel-safe: if this is dropped before it is ready, no value is lost.
    ///
    /// ```no_run
    /// # async fn evict(timers: tickwheel::Timers) {
    /// use std::time::Duration;
    ///
    /// let mut sessions = timers.expirations();
    /// sessions.insert("Ann", Duration::from_secs(60));
    /// while let Some(expired) = sessions.next().await {
    ///     println!("{} has left", expired.value);
    /// }
    /// assert!(sessions.is_empty() || sessions.error().is_some());
    /// # }
    /// # let _ = evict;
    /// ```
    pub async fn next(&mut self) -> Option<Expired<T>> {
        poll_fn(|cx| self.poll_expired(cx)).await
    }

    /// Polls for the next value that expires, as [`next`](Self::next). The task of the last poll that was
    /// pending is the one that is woken.
    ///
    /// Reads the clock. O(1) amortised, as [`Wheel::poll`](crate::Wheel::poll); no lock.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        self.error = None;
        let ready = loop {
            let resolution = self.shared().resolution;
            let now = resolution.now(self.shared().now());
            if let Some(expired) = self.wheel.poll(now) {
                break Some(expired);
            }
            if self.wheel.is_empty() {
                break None;
            }
            let next = self.wheel.next_deadline().unwrap_or(Tick::NEVER);
            let at = resolution.start_of(next);
            if self.sleep.deadline() != Some(at) {
                self.sleep.reset_at(at);
            }
            match self.sleep.poll_elapsed(cx) {
                Poll::Pending => {
                    self.wait(cx.waker(), next);
                    return Poll::Pending;
                }
                // The time has come meanwhile. If the clock goes back before it is read again, it has to come again.
                Poll::Ready(Ok(())) => self.sleep.stop(),
                Poll::Ready(Err(error)) => {
                    self.error = Some(error);
                    break None;
                }
            }
        };
        self.waiting = None;
        if self.wheel.is_empty() {
            self.sleep.stop();
        }
        Poll::Ready(ready)
    }

    /// Why the last poll gave `None` although values are left: [`ArmError::ShutDown`], or
    /// [`ArmError::Full`], after which another poll may do better. O(1).
    ///
    /// ```
    /// use std::task::{Context, Poll, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{ArmError, ManualClock, Shutdown, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// sessions.insert("Ann", Duration::from_secs(60));
    /// timers.shutdown(Shutdown::Drop);
    ///
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert!(matches!(sessions.poll_expired(&mut cx), Poll::Ready(None)));
    /// assert_eq!(sessions.error(), Some(ArmError::ShutDown));
    /// assert_eq!(sessions.drain().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn error(&self) -> Option<ArmError> {
        self.error
    }

    /// Remembers who waits, and until when.
    fn wait(&mut self, waker: &Waker, until: Tick) {
        match &mut self.waiting {
            Some((known, tick)) => {
                *tick = until;
                known.clone_from(waker); // nothing, if it is the same
            }
            none @ None => *none = Some((waker.clone(), until)),
        }
    }

    /// Wakes the task that waits if it waits for a later tick: it has to sleep for less.
    pub(super) fn wake_for(&mut self, deadline: Tick) {
        let later = |(_, until): &mut (Waker, Tick)| *until > deadline;
        if let Some((waker, _)) = self.waiting.take_if(later) {
            waker.wake();
        }
    }

    /// Wakes the task that waits, because there is nothing left to wait for.
    pub(super) fn emptied(&mut self) {
        self.sleep.stop();
        if let Some((waker, _)) = self.waiting.take() {
            waker.wake();
        }
    }
}
