//! The single-owner wheel: types, and the operations on one timer.
//!
//! | file | what lives there |
//! |---|---|
//! | `store` | storage: entries, and the lists that thread through them |
//! | `calendar` | which slot a tick belongs to, and when there is work |
//! | `engine` | moving time: cascade, move ahead of need, fire |
//! | `turn` | what callers of `advance` and `poll` see |
//! | `bulk` | capacity, iteration, clearing |
//! | `check` | the dumb walker of every invariant |

mod bulk;
mod calendar;
mod check;
mod engine;
mod store;
mod turn;

use alloc::vec::Vec;
use core::fmt;

use crate::error::{StaleKey, WheelFull};
use crate::key::WheelId;
use crate::{Tick, Ticks, TimerKey};
use calendar::Calendar;
use store::{Entry, Index, MAX_ENTRIES, Store};

pub use bulk::{Drain, Iter};
pub use turn::{Expired, Progress, Turn};

/// The most timers a wheel can hold: some entries may be leaving, and one kept.
const MAX_LEN: usize = MAX_ENTRIES - 15;

/// A hashed hierarchical timing wheel with one owner.
///
/// Holds values, each with a deadline, and gives them back when their time has come.
/// It counts in [`Tick`]s and never reads a clock: [`advance`](Self::advance) and
/// [`poll`](Self::poll) are told what time it is. A wheel that is not advanced stays at
/// rest; calling early is harmless, calling late makes timers late.
///
/// Arming, cancelling and re-arming take constant time whatever the number of timers.
/// Expiry takes constant time per timer, amortised: at most one move per level a timer
/// passes through, and those moves are spread over the ticks before they are needed, so
/// that no single `advance` has to pay for a whole slot.
///
/// Any `u64` tick is a valid deadline from any `now`. [`Tick::NEVER`] is held for ever.
///
/// Timers due at the same tick fire in the order in which they were armed. Two kinds do
/// not keep that order, and are deterministic all the same: a timer that was re-armed
/// (it takes its place when the wheel next meets it), and one with a tolerance.
///
/// `BITS` is the logarithm of the radix, from 2 to 6. Leave it at 6: smaller values
/// exist so that tests meet every kind of wrap-around within a few ticks.
///
/// ```
/// use tickwheel::{Tick, Wheel};
///
/// let mut wheel = Wheel::new();
/// let tea = wheel.arm(Tick::new(180), "tea");
/// wheel.arm(Tick::new(600), "eggs");
/// wheel.rearm(tea, Tick::new(240)).unwrap();
///
/// let mut done = Vec::new();
/// wheel.advance(Tick::new(239), |_, expired| done.push(expired.value));
/// assert!(done.is_empty()); // never early
/// wheel.advance(Tick::new(1_000), |_, expired| done.push(expired.value));
/// assert_eq!(done, ["tea", "eggs"]); // in order, whatever the gap
/// ```
pub struct Wheel<T, const BITS: u32 = 6> {
    id: WheelId,
    store: Store<T>,
    calendar: Calendar<BITS>,
    /// What was asked for, by index, of the timers armed with a tolerance.
    /// Empty until there is one.
    tolerances: Vec<Tolerance>,
    /// The entry whose value was handed out last; kept so that its key can be re-armed.
    fired: Option<Index>,
    /// While a turn of `poll` is open: its target.
    turn: Option<Tick>,
    limit: usize,
}

/// A deadline and how late it may be served.
#[derive(Clone, Copy, Debug, Default)]
struct Tolerance {
    deadline: Tick,
    span: Ticks,
}

// === impl Wheel ===

impl<T> Wheel<T> {
    /// A wheel at tick zero. Allocates nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Tick::ZERO)
    }

    /// A wheel at tick zero with room for `capacity` timers.
    ///
    /// # Panics
    ///
    /// If `capacity` exceeds 2^31 - 16.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut wheel = Self::new();
        wheel.reserve(capacity);
        wheel
    }
}

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// Timers that the processor's caches hold in any case: 4096 at the usual geometry.
    const SMALL: usize = 1 << (2 * BITS);

    /// A wheel whose time begins at `now`.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel: Wheel<&str> = Wheel::starting_at(Tick::new(1 << 40));
    /// wheel.arm(Tick::new(7), "long ago");
    /// assert_eq!(wheel.poll(wheel.now()).unwrap().value, "long ago");
    /// ```
    #[must_use]
    pub fn starting_at(now: Tick) -> Self {
        Self {
            id: WheelId::next(),
            store: Store::new(Self::SMALL),
            calendar: Calendar::new(now.get()),
            tolerances: Vec::new(),
            fired: None,
            turn: None,
            limit: MAX_LEN,
        }
    }

    /// How far time has come: the tick up to which everything due has been given back.
    ///
    /// Ticks passed to `advance` or `poll` move it forward, never back. While a budget
    /// has run out, or a turn of `poll` is under way, it stays where the work is.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Tick {
        Tick::new(self.calendar.now())
    }

    /// Timers armed, those with the deadline [`Tick::NEVER`] included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether no timer is armed.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    // --- arm ---

    /// Arms a timer: `value` comes back from the first `advance` or `poll` that reaches `deadline`.
    ///
    /// A deadline at or before [`now`](Self::now) is due at the next call of either, even
    /// one for the same tick. Arming never fires anything itself. O(1).
    ///
    /// # Panics
    ///
    /// If the wheel is full: it holds 2^31 - 16 timers, or as many as
    /// [`set_limit`](Self::set_limit) allows. [`try_arm`](Self::try_arm) does not panic.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm(Tick::new(10), 'a');
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(10)));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn arm(&mut self, deadline: Tick, value: T) -> TimerKey {
        self.assert_room();
        self.arm_plain(deadline, value)
    }

    /// Arms a timer, or gives the value back if the wheel is full. O(1).
    ///
    /// # Errors
    ///
    /// [`WheelFull`], with the value; nothing has changed.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// wheel.set_limit(1);
    /// assert!(wheel.try_arm(Tick::new(1), "first").is_ok());
    /// assert_eq!(wheel.try_arm(Tick::new(1), "second").unwrap_err().value, "second");
    /// ```
    #[inline]
    pub fn try_arm(&mut self, deadline: Tick, value: T) -> Result<TimerKey, WheelFull<T>> {
        if self.len() >= self.limit {
            return Err(WheelFull { value });
        }
        Ok(self.arm_plain(deadline, value))
    }

    /// Arms a timer whose value is made from its own key.
    ///
    /// `make` runs before anything is changed; if it panics, nothing is armed. O(1).
    ///
    /// # Panics
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use tickwheel::{Tick, TimerKey, Wheel};
    ///
    /// struct Connection { timer: TimerKey }
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm_with(Tick::new(30), |timer| Connection { timer });
    /// assert_eq!(wheel.get(key).unwrap().timer, key);
    /// ```
    #[track_caller]
    pub fn arm_with(&mut self, deadline: Tick, make: impl FnOnce(TimerKey) -> T) -> TimerKey {
        self.assert_room();
        let (index, generation) = self.store.vacant();
        let key = TimerKey::new(self.id, index, generation);
        let value = make(key);
        self.arm_plain(deadline, value)
    }

    /// Arms a timer that may be served up to `tolerance` late, and never early.
    ///
    /// It is due at [`deadline.coalesce(tolerance)`](Tick::coalesce): the roundest tick in
    /// that range. Timers with tolerance therefore gather on few ticks, and one whose due
    /// tick begins a coarse slot waits there until it fires instead of moving from level
    /// to level. The tolerance stays with the timer through every re-arm. O(1).
    ///
    /// The first timer with a tolerance makes the wheel keep 16 bytes more per timer.
    ///
    /// # Panics
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use tickwheel::{Tick, Ticks, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm_tolerant(Tick::new(1_000), Ticks::new(100), "sweep");
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(1_000))); // as asked
    /// assert!(wheel.poll(Tick::new(1_023)).is_none());
    /// assert!(wheel.poll(Tick::new(1_024)).is_some()); // due
    /// ```
    #[track_caller]
    pub fn arm_tolerant(&mut self, deadline: Tick, tolerance: Ticks, value: T) -> TimerKey {
        self.assert_room();
        if tolerance == Ticks::ZERO {
            return self.arm_plain(deadline, value);
        }
        let due = deadline.coalesce(tolerance).get();
        let filing = self.calendar.filing(due, true);
        let (index, generation, filed) = self.store.insert(filing.slot, due, value);
        self.calendar.filed(filing, due, filed);
        self.tolerate(
            index,
            Tolerance {
                deadline,
                span: tolerance,
            },
        );
        TimerKey::new(self.id, index, generation)
    }

    #[inline(always)]
    fn arm_plain(&mut self, deadline: Tick, value: T) -> TimerKey {
        let due = deadline.get();
        let filing = self.calendar.filing(due, false);
        let (index, generation, filed) = self.store.insert(filing.slot, due, value);
        self.calendar.filed(filing, due, filed);
        if let Some(tolerance) = self.tolerances.get_mut(index as usize) {
            tolerance.span = Ticks::ZERO;
        }
        TimerKey::new(self.id, index, generation)
    }

    /// Notes what was asked for of the timer at `index`.
    fn tolerate(&mut self, index: Index, tolerance: Tolerance) {
        let at = index as usize;
        if self.tolerances.len() <= at {
            self.tolerances.resize(at + 1, Tolerance::default());
        }
        self.tolerances[at] = tolerance;
    }

    #[inline]
    #[track_caller]
    fn assert_room(&self) {
        if self.len() >= self.limit {
            full(self.limit);
        }
    }

    /// Files an entry that is on no list where `due` belongs.
    #[inline]
    fn file(&mut self, index: Index, due: u64, tolerant: bool) {
        let filing = self.calendar.filing(due, tolerant);
        let filed = self.store.push_back(filing.slot, index);
        self.calendar.filed(filing, due, filed);
    }

    /// The tolerance of the timer at `index`, if it has one.
    #[inline]
    fn tolerance(&self, index: Index) -> Option<Tolerance> {
        self.tolerances
            .get(index as usize)
            .copied()
            .filter(|tolerance| tolerance.span != Ticks::ZERO)
    }

    // --- cancel and re-arm ---

    /// Cancels a timer and gives its value back; `None` if it has fired, was cancelled
    /// before, or belongs to another wheel. It will not fire. O(1).
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm(Tick::new(10), 'a');
    /// assert_eq!(wheel.cancel(key), Some('a'));
    /// assert_eq!(wheel.cancel(key), None);
    /// ```
    #[inline]
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let (index, generation) = key.within(self.id)?;
        let (due, value, emptied) = self.store.cancel(index, generation)?;
        if due == u64::MAX {
            self.calendar.unfiled_never();
        }
        self.emptied(emptied);
        Some(value)
    }

    #[inline]
    fn emptied(&mut self, slot: Option<store::SlotId>) {
        if let Some(slot) = slot {
            self.calendar.emptied(slot);
        }
    }

    /// Moves a timer to another deadline: later, earlier, into the past, or to never.
    ///
    /// On success the old deadline never fires. A later deadline costs one store: the
    /// timer stays filed where it is until the wheel comes by. A deadline at or before
    /// [`now`](Self::now) is due at the next `advance` or `poll`. Keeps the key, the value
    /// and the tolerance. O(1).
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the timer has fired, was cancelled, or belongs to another wheel.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let idle = wheel.arm(Tick::new(30), "connection");
    /// wheel.rearm(idle, Tick::new(55))?; // it was heard from at 25
    /// assert!(wheel.poll(Tick::new(54)).is_none());
    /// assert!(wheel.poll(Tick::new(55)).is_some());
    /// assert!(wheel.rearm(idle, Tick::new(99)).is_err());
    /// # Ok::<(), tickwheel::StaleKey>(())
    /// ```
    #[inline]
    pub fn rearm(&mut self, key: TimerKey, deadline: Tick) -> Result<(), StaleKey> {
        let Some((index, generation)) = key.within(self.id) else {
            return Err(StaleKey);
        };
        let Some(entry) = self.store.get_mut(index, generation) else {
            return Err(StaleKey);
        };
        let mut due = deadline.get();
        let tolerance = self
            .tolerances
            .get_mut(index as usize)
            .filter(|tolerance| tolerance.span != Ticks::ZERO);
        let tolerant = tolerance.is_some();
        if let Some(tolerance) = tolerance {
            tolerance.deadline = deadline;
            due = deadline.coalesce(tolerance.span).get();
        }
        let was = entry.replace_due(due);
        // Filed no later than before, on a slot still to come: the wheel finds the new tick
        // when it gets there. Not so what is never met, nor what is late already.
        if due < was || due == u64::MAX || was <= self.calendar.now() {
            if was == u64::MAX {
                self.calendar.unfiled_never();
            }
            let emptied = self.store.unlink(index);
            self.emptied(emptied);
            self.file(index, due, tolerant);
        }
        Ok(())
    }

    // --- look ---

    /// The armed entry that `key` names.
    #[inline]
    fn armed(&self, key: TimerKey) -> Option<(Index, &Entry<T>)> {
        let (index, generation) = key.within(self.id)?;
        Some((index, self.store.get(index, generation)?))
    }

    /// Whether `key` names an armed timer of this wheel. O(1).
    #[inline]
    #[must_use]
    pub fn contains(&self, key: TimerKey) -> bool {
        self.armed(key).is_some()
    }

    /// The deadline a timer is armed for, before its tolerance; `None` for a stale key. O(1).
    #[must_use]
    pub fn deadline(&self, key: TimerKey) -> Option<Tick> {
        self.armed(key)
            .map(|(index, entry)| self.asked(index, entry.due()).deadline)
    }

    /// What the caller asked for, of a timer due at `due`.
    #[inline]
    fn asked(&self, index: Index, due: u64) -> Tolerance {
        self.tolerance(index).unwrap_or(Tolerance {
            deadline: Tick::new(due),
            span: Ticks::ZERO,
        })
    }

    /// The value of an armed timer; `None` for a stale key. O(1).
    #[must_use]
    pub fn get(&self, key: TimerKey) -> Option<&T> {
        self.armed(key)?.1.value()
    }

    /// The value of an armed timer, to change in place; `None` for a stale key. O(1).
    #[must_use]
    pub fn get_mut(&mut self, key: TimerKey) -> Option<&mut T> {
        let (index, generation) = key.within(self.id)?;
        self.store.get_mut(index, generation)?.value_mut()
    }

    /// A tick before which nothing is due: never later than the earliest deadline.
    ///
    /// `None` when there is nothing to wait for: no timer is armed, or only such as are
    /// due [never](Tick::NEVER). After `advance(now)` it is later than `now`, unless
    /// something due was armed since, or a budget ran out: then it is [`now`](Self::now).
    ///
    /// It is the start of the first slot that holds anything, and so may be early: for a
    /// far timer by up to the span of its slot, and for one that was re-armed later, by
    /// what was added. An `advance` to it then moves that timer to where it belongs, and
    /// the answer comes closer: at most once per level for each re-arm. O(levels).
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// assert_eq!(wheel.next_deadline(), None);
    /// wheel.arm(Tick::new(1_000_000), ());
    /// let mut wakes = 0;
    /// let due = loop {
    ///     let next = wheel.next_deadline().unwrap();
    ///     wakes += 1;
    ///     if wheel.poll(next).is_some() {
    ///         break next;
    ///     }
    /// };
    /// assert_eq!(due, Tick::new(1_000_000));
    /// assert!(wakes <= 4);
    /// ```
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.next(Calendar::next_start)
    }

    /// A tick before which there is no work: like [`next_deadline`](Self::next_deadline),
    /// but moves ahead of need count as work too.
    ///
    /// A driver that calls `advance` at every tick has no use for it. One that sleeps
    /// until something happens may sleep until this instead of `next_deadline`: it then
    /// wakes once per 64 timers of a crowded slot during the time before the slot begins,
    /// and in return no single wake-up has to move a whole slot. The two agree when no
    /// slot holds more than 64 timers. O(levels).
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// for id in 0..100_000 {
    ///     wheel.arm(Tick::new(300_000), id); // all in one slot of 4096 ticks
    /// }
    /// let next = wheel.next_work().unwrap();
    /// assert!(next < wheel.next_deadline().unwrap());
    /// ```
    #[must_use]
    pub fn next_work(&self) -> Option<Tick> {
        self.next(|calendar| calendar.next_work(|slot| self.store.crowd(slot)))
    }

    /// Now if anything is due; else what `ahead` finds, if there is anything to wait for.
    #[inline]
    fn next(&self, ahead: impl FnOnce(&Calendar<BITS>) -> Option<u64>) -> Option<Tick> {
        if self.len() == self.calendar.nevers() {
            return None;
        }
        if self.calendar.is_awake() {
            let (accepting, firing) = self.calendar.late();
            let slot = self.calendar.due_slot();
            if slot.is_some() || !self.store.is_empty(accepting) || !self.store.is_empty(firing) {
                return Some(self.now());
            }
        }
        ahead(&self.calendar).map(Tick::new)
    }
}

#[cold]
#[track_caller]
fn full(limit: usize) -> ! {
    panic!("the wheel holds as many timers as it may: {limit}");
}

impl<T, const BITS: u32> Default for Wheel<T, BITS> {
    fn default() -> Self {
        Self::starting_at(Tick::ZERO)
    }
}

impl<T, const BITS: u32> fmt::Debug for Wheel<T, BITS> {
    /// Prints the state of the wheel, not its values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("now", &self.now())
            .field("len", &self.len())
            .field("next_deadline", &self.next_deadline())
            .finish_non_exhaustive()
    }
}
