//! The one place where time is rounded: deadlines up, the present down.

use core::fmt;
use core::num::NonZeroU64;
use core::time::Duration;

use crate::timestamp::nanos;
use crate::{Tick, Ticks, Timestamp};

/// How long a tick is: any whole number of nanoseconds.
///
/// A deadline rounds *up* to a tick and the present rounds *down*, both by the same
/// exact division. So a timer is due at the first tick that begins at or after its
/// deadline, and a clock that has not reached the deadline cannot have reached that
/// tick: no timer is ever early, and none is late by as much as a tick. A deadline
/// that falls exactly on a tick costs nothing extra.
///
/// ```
/// use core::time::Duration;
/// use tickwheel::{Resolution, Tick, Timestamp};
///
/// let ms = Resolution::MILLISECOND;
/// let at = |nanos| Timestamp::from_nanos(nanos);
/// assert_eq!(ms.deadline(at(2_000_000)), Tick::new(2)); // exactly on a tick
/// assert_eq!(ms.deadline(at(2_000_001)), Tick::new(3)); // up
/// assert_eq!(ms.now(at(2_999_999)), Tick::new(2)); //      down
///
/// // Relative times are added before anything is rounded.
/// let due = ms.deadline_after(at(1_500_000), Duration::from_micros(400));
/// assert_eq!(due, Tick::new(2)); // 1.9 ms
///
/// assert!(Resolution::new(Duration::ZERO).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resolution {
    nanos_per_tick: NonZeroU64,
}

/// Why a [`Resolution`] was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolutionError {
    /// A tick of no length at all.
    Zero,
    /// A tick longer than 2^64 - 1 nanoseconds (584 years).
    TooLong,
}

// === impl Resolution ===

impl Resolution {
    /// One nanosecond a tick: no rounding at all.
    pub const NANOSECOND: Self = Self::of(1);
    /// One microsecond a tick.
    pub const MICROSECOND: Self = Self::of(1_000);
    /// One millisecond a tick.
    pub const MILLISECOND: Self = Self::of(1_000_000);
    /// One second a tick.
    pub const SECOND: Self = Self::of(1_000_000_000);

    const fn of(nanos: u64) -> Self {
        match NonZeroU64::new(nanos) {
            Some(nanos_per_tick) => Self { nanos_per_tick },
            None => panic!("a tick has a length"),
        }
    }

    /// Ticks of the given length.
    ///
    /// # Errors
    ///
    /// [`ResolutionError::Zero`] for a length of zero, [`ResolutionError::TooLong`] for
    /// more than `u64::MAX` nanoseconds.
    pub const fn new(tick: Duration) -> Result<Self, ResolutionError> {
        if tick.as_nanos() > u64::MAX as u128 {
            return Err(ResolutionError::TooLong);
        }
        match NonZeroU64::new(tick.as_nanos() as u64) {
            Some(nanos_per_tick) => Ok(Self { nanos_per_tick }),
            None => Err(ResolutionError::Zero),
        }
    }

    /// The length of one tick.
    #[inline]
    #[must_use]
    pub const fn tick(self) -> Duration {
        Duration::from_nanos(self.nanos_per_tick.get())
    }

    /// The tick at which a deadline at `at` is due: rounded up; never stays never.
    #[inline]
    #[must_use]
    pub const fn deadline(self, at: Timestamp) -> Tick {
        if at.is_never() {
            return Tick::NEVER;
        }
        Tick::new(at.as_nanos().div_ceil(self.nanos_per_tick.get()))
    }

    /// The tick at which a deadline `after` from `now` is due.
    ///
    /// Added in nanoseconds, then rounded up once. `Duration::MAX`, or whatever else
    /// passes the end of time, gives [`Tick::NEVER`].
    #[inline]
    #[must_use]
    pub const fn deadline_after(self, now: Timestamp, after: Duration) -> Tick {
        self.deadline(now.saturating_add(after))
    }

    /// The tick that has begun by `at`: rounded down.
    #[inline]
    #[must_use]
    pub const fn now(self, at: Timestamp) -> Tick {
        Tick::new(at.as_nanos() / self.nanos_per_tick.get())
    }

    /// The fewest ticks that are not shorter than `span`; saturates at [`Ticks::MAX`].
    #[inline]
    #[must_use]
    pub const fn span(self, span: Duration) -> Ticks {
        let nanos = nanos(span);
        if nanos == u64::MAX {
            return Ticks::MAX;
        }
        Ticks::new(nanos.div_ceil(self.nanos_per_tick.get()))
    }

    /// The length of `span`, as far as 64 bits of nanoseconds can say it (584 years).
    #[inline]
    #[must_use]
    pub const fn duration(self, span: Ticks) -> Duration {
        Duration::from_nanos(span.get().saturating_mul(self.nanos_per_tick.get()))
    }

    /// The moment `tick` begins, or [`Timestamp::NEVER`] if the clock cannot say it.
    ///
    /// A driver may sleep until then: `self.now` of that moment is `tick`.
    #[inline]
    #[must_use]
    pub const fn start_of(self, tick: Tick) -> Timestamp {
        Timestamp::from_nanos(tick.get().saturating_mul(self.nanos_per_tick.get()))
    }
}

impl fmt::Debug for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resolution({:?} per tick)", self.tick())
    }
}

// === impl ResolutionError ===

impl fmt::Display for ResolutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "a tick must be longer than zero",
            Self::TooLong => "a tick must fit in 64 bits of nanoseconds",
        })
    }
}

impl core::error::Error for ResolutionError {}

#[cfg(test)]
mod tests {
    //! Properties: every conversion equals the same arithmetic done in 128 bits.

    use super::*;
    use proptest::prelude::*;

    /// Values where 64-bit arithmetic goes wrong, beside ordinary ones.
    fn edgy() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            0..2_000_000_000u64,
            (0..64u32, -2i64..=2).prop_map(|(bit, off)| (1u64 << bit).wrapping_add_signed(off)),
            (0..5u64).prop_map(|off| u64::MAX - off),
        ]
    }

    fn saturate(wide: u128) -> u64 {
        u64::try_from(wide).unwrap_or(u64::MAX)
    }

    proptest! {
        #[test]
        fn conversions_equal_128_bit_arithmetic(per in edgy(), at in edgy(), secs in edgy(), sub in 0u32..1_000_000_000) {
            prop_assume!(per > 0);
            let (per_wide, at_wide) = (u128::from(per), u128::from(at));
            let resolution = Resolution::new(Duration::from_nanos(per)).unwrap();
            let at = Timestamp::from_nanos(at);

            prop_assert_eq!(u128::from(resolution.now(at).get()), at_wide / per_wide);
            let up = if at.is_never() { u64::MAX } else { saturate(at_wide.div_ceil(per_wide)) };
            prop_assert_eq!(resolution.deadline(at).get(), up);

            let span = Duration::new(secs, sub);
            let sum = at_wide + span.as_nanos();
            let due = if sum >= u128::from(u64::MAX) { u64::MAX } else { saturate(sum.div_ceil(per_wide)) };
            prop_assert_eq!(resolution.deadline_after(at, span).get(), due);

            let ticks = if span.as_nanos() >= u128::from(u64::MAX) { u64::MAX } else { saturate(span.as_nanos().div_ceil(per_wide)) };
            prop_assert_eq!(resolution.span(span).get(), ticks);
            let back = (u128::from(ticks) * per_wide).min(u128::from(u64::MAX));
            prop_assert_eq!(resolution.duration(Ticks::new(ticks)).as_nanos(), back);
            prop_assert_eq!(u128::from(resolution.start_of(resolution.now(at)).as_nanos()), at_wide / per_wide * per_wide);
        }

        #[test]
        fn a_clock_short_of_the_deadline_is_short_of_its_tick(per in edgy(), at in edgy()) {
            prop_assume!(per > 0 && at > 0 && at < u64::MAX);
            let resolution = Resolution::new(Duration::from_nanos(per)).unwrap();
            let due = resolution.deadline(Timestamp::from_nanos(at));
            let before = resolution.now(Timestamp::from_nanos(at - 1));
            prop_assert!(before < due, "per {per} at {at}: {before:?} reaches {due:?}");
            // ... and at most one tick later it is reached.
            if let Some(late) = at.checked_add(per - 1) {
                prop_assert!(resolution.now(Timestamp::from_nanos(late)) >= due);
            }
        }
    }

    #[test]
    fn a_tick_of_zero_or_of_more_than_64_bits_is_refused() {
        assert_eq!(Resolution::new(Duration::ZERO), Err(ResolutionError::Zero));
        assert_eq!(
            Resolution::new(Duration::MAX),
            Err(ResolutionError::TooLong)
        );
        assert!(Resolution::new(Duration::from_nanos(u64::MAX)).is_ok());
    }

    #[test]
    fn a_deadline_exactly_on_a_tick_costs_no_extra_tick() {
        let ms = Resolution::MILLISECOND;
        for after in [0u64, 1, 1000] {
            let due = ms.deadline_after(Timestamp::ZERO, Duration::from_millis(after));
            assert_eq!(due.get(), after);
        }
    }
}
