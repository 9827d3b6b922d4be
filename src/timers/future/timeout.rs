//! A future that may take so long.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use pin_project_lite::pin_project;

use super::super::{ArmError, Timers};
use super::Sleep;
use crate::Timestamp;

pin_project! {
    /// A future with a time limit: [`Timers::timeout`] and [`Timers::timeout_at`].
    ///
    /// Each poll polls the future first, and then looks at the time. So a future that is ready gives
    /// its value even if the time is up, and if there never was any. Nothing is registered, no clock
    /// read and nothing counted before the future was pending once: until then this costs two words.
    ///
    /// When the time is up the future is not polled any more; it is dropped with this. It may be polled again after
    /// that, if the future may.
    ///
    /// It borrows the handle of the runtime, as a task does that owns one. Without a handle to borrow from, in a
    /// struct or as a task of its own, it is to be [`owned`](Self::owned).
    ///
    /// O(1), as [`Sleep`]; nothing is allocated.
    #[must_use = "futures do nothing unless they are polled"]
    #[derive(Debug)]
    pub struct Timeout<'a, F> {
        #[pin]
        future: F,
        limit: Limit<'a>,
    }
}

/// The time there is for a future.
#[derive(Debug)]
enum Limit<'a> {
    /// The future was not pending yet. A count of those who hold the runtime would cost more than
    /// anything else of a timeout that is not needed.
    Unwatched(&'a Timers, When),
    Watched(Sleep),
}

#[derive(Clone, Copy, Debug)]
enum When {
    /// Counted from when the future is first pending.
    After(Duration),
    At(Timestamp),
}

/// A future has not given its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutError {
    /// The time was over first.
    Elapsed,
    /// The future was pending, and its time could not be watched: as many timers are armed as
    /// [`limit`](super::super::TimersBuilder::limit) allows.
    Full,
    /// The future was pending, and the runtime has been shut down before the time was over.
    ShutDown,
    /// [`ArmError::ZeroPeriod`]. No timeout meets it; it is here so that every [`ArmError`] can be passed on.
    ZeroPeriod,
}

// === impl Timers ===

impl Timers {
    /// Gives the future that much time, counted from when its first poll has returned: futures are lazy.
    /// To count from now, or from anything else, there is [`timeout_at`](Self::timeout_at).
    ///
    /// Zero gives the value of a future that is ready at its first poll. `Duration::MAX` is no limit.
    /// Does not read the clock. O(1).
    ///
    /// ```
    /// use std::future::{self, Future};
    /// use std::pin::pin;
    /// use std::task::{Context, Poll, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, TimeoutError, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let mut cx = Context::from_waker(Waker::noop());
    ///
    /// let ready = pin!(timers.timeout(Duration::ZERO, future::ready(7)));
    /// assert_eq!(ready.poll(&mut cx), Poll::Ready(Ok(7)));
    ///
    /// let mut stuck = pin!(timers.timeout(Duration::from_secs(1), future::pending::<()>()));
    /// assert!(stuck.as_mut().poll(&mut cx).is_pending());
    /// clock.advance(Duration::from_secs(1));
    /// assert_eq!(stuck.poll(&mut cx), Poll::Ready(Err(TimeoutError::Elapsed)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timeout<F: Future>(&self, after: Duration, future: F) -> Timeout<'_, F> {
        Timeout {
            future,
            limit: Limit::Unwatched(self, When::After(after)),
        }
    }

    /// Gives the future until that time of the runtime's clock. If it is past, the future is polled all the
    /// same, once. O(1).
    ///
    /// ```
    /// use std::future::{self, Future};
    /// use std::pin::pin;
    /// use std::task::{Context, Poll, Waker};
    /// use tickwheel::{ManualClock, TimeoutError, Timers, Timestamp};
    ///
    /// let clock = ManualClock::starting_at(Timestamp::from_nanos(20));
    /// let timers = Timers::builder().clock(clock).build_hand_driven()?;
    /// let (past, mut cx) = (Timestamp::from_nanos(15), Context::from_waker(Waker::noop()));
    ///
    /// let ready = pin!(timers.timeout_at(past, future::ready(7)));
    /// assert_eq!(ready.poll(&mut cx), Poll::Ready(Ok(7)));
    /// let stuck = pin!(timers.timeout_at(past, future::pending::<()>()));
    /// assert_eq!(stuck.poll(&mut cx), Poll::Ready(Err(TimeoutError::Elapsed)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timeout_at<F: Future>(&self, at: Timestamp, future: F) -> Timeout<'_, F> {
        Timeout {
            future,
            limit: Limit::Unwatched(self, When::At(at)),
        }
    }
}

// === impl Timeout ===

impl<F> Timeout<'_, F> {
    /// The same, without borrowing the handle: for a struct, or a task of its own. It does not keep the
    /// runtime going. O(1).
    ///
    /// ```
    /// use std::future::{self, Future};
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, TimeoutError, Timers};
    ///
    /// fn call(timers: &Timers) -> impl Future<Output = Result<u32, TimeoutError>> + 'static {
    ///     timers.timeout(Duration::from_secs(1), future::ready(7)).owned()
    /// }
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let answer = call(&timers);
    /// drop(timers);
    /// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let answer = std::pin::pin!(answer).poll(&mut cx);
    /// assert_eq!(answer, std::task::Poll::Ready(Ok(7)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn owned(self) -> Timeout<'static, F> {
        let sleep = match self.limit {
            Limit::Unwatched(timers, when) => when.sleep(timers),
            Limit::Watched(sleep) => sleep,
        };
        Timeout {
            future: self.future,
            limit: Limit::Watched(sleep),
        }
    }

    /// The future.
    #[must_use]
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// The future, to change in place.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// The future, without its limit.
    ///
    /// ```
    /// use std::future;
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut timeout = timers.timeout(Duration::from_secs(1), future::ready(5));
    /// *timeout.get_mut() = future::ready(7);
    /// assert_eq!(timeout.get_ref().clone().into_inner(), 7);
    /// assert_eq!(timeout.into_inner().into_inner(), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<'_, F> {
    type Output = Result<F::Output, TimeoutError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(value) = this.future.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        ready!(this.limit.watched().poll_elapsed(cx))?;
        Poll::Ready(Err(TimeoutError::Elapsed))
    }
}

impl Limit<'_> {
    #[inline]
    fn watched(&mut self) -> &mut Sleep {
        if let Self::Unwatched(timers, when) = *self {
            *self = Self::Watched(when.sleep(timers));
        }
        match self {
            Self::Watched(sleep) => sleep,
            Self::Unwatched(..) => unreachable!("it is watched from here on"),
        }
    }
}

impl When {
    fn sleep(self, timers: &Timers) -> Sleep {
        match self {
            Self::After(after) => timers.sleep(after),
            Self::At(at) => timers.sleep_until(at),
        }
    }
}

// === impl TimeoutError ===

impl From<ArmError> for TimeoutError {
    fn from(error: ArmError) -> Self {
        match error {
            ArmError::Full => Self::Full,
            ArmError::ShutDown => Self::ShutDown,
            ArmError::ZeroPeriod => Self::ZeroPeriod,
        }
    }
}

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elapsed => f.write_str("the time was over"),
            Self::Full => ArmError::Full.fmt(f),
            Self::ShutDown => ArmError::ShutDown.fmt(f),
            Self::ZeroPeriod => ArmError::ZeroPeriod.fmt(f),
        }
    }
}

impl core::error::Error for TimeoutError {}
