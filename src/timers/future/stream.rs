//! The interval and the expirations as streams.

use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream;

use super::super::ArmError;
use super::{Expirations, Interval};
use crate::{Expired, Timestamp};

/// Ticks; see [`Interval::tick`]. The stream ends when the runtime is shut down. An error is
/// [`ArmError::Full`], after which the same tick may be waited for again.
impl Stream for Interval {
    type Item = Result<Timestamp, ArmError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_tick(cx).map(|tick| match tick {
            Err(ArmError::ShutDown) => None,
            tick => Some(tick),
        })
    }
}

/// Values that expire; see [`Expirations::next`]. The stream goes on after `None` if something is inserted.
impl<T> Stream for Expirations<T> {
    type Item = Expired<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_expired(cx)
    }
}
