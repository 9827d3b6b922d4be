//! The word: one `u64` per entry that decides every race for it.
//!
//! ```text
//!  63        40  39 38 37     36       35     34   33                 0
//! [  version   |  state  | running | filed | far |       place        ]
//! ```
//!
//! `place` and `far` say what the deadline is; `entry` decodes them. They share the word with the
//! state, so that whoever fires a timer fires it for the very deadline that it looked at.
//!
//! # States
//!
//! | state | the value is | meaning |
//! |---|---|---|
//! | `EMPTY` | nobody's; while running: with the callback | free, or popped by an armer, or fired |
//! | `ARMED` | the entry's | fires at its deadline |
//! | `HELD` | the entry's | keeps its key, never fires |
//! | `TAKING` | being moved out by a canceller | cancelled while its callback runs, after that armed it again |
//! | `REVOKED` | with the callback, or gone | cancelled while its callback runs: may not be armed again |
//! | `AWAITED` | as `REVOKED` | and somebody waits for the callback to return |
//!
//! *running*: a callback runs for this key; the driver, and nobody else, ends it, or whoever the
//! driver has handed it to. The entry is not free before.
//!
//! *filed*: a promise to whoever arms. The driver will meet this entry at its due tick or before
//! without being told, though it may not have been told of this very deadline. Anybody may
//! withdraw it; only the driver gives it.
//!
//! *version* changes whenever a word could otherwise repeat with another meaning behind it: with
//! each arm, and with each far deadline, which is a reference. It has 2<sup>24</sup> values: an
//! exchange could mistake one word for another only if its thread was held up, between its look and the
//! exchange, for exactly a multiple of so many arms of that one entry, the last of them for the same
//! deadline.
//!
//! # Transitions
//!
//! Every one is a `compare_exchange` on the word that was judged, but for the one marked (s).
//! All are `AcqRel`: they hand a value, or the right to one, from one thread to another. Failed,
//! they are `Acquire`, because the loop judges what it found.
//!
//! | from | who may | to | why so |
//! |---|---|---|---|
//! | `EMPTY` | the armer that popped the entry | `ARMED`, `HELD`; version + 1 | filed stays if it was given for an earlier tick. (s) a plain `Release` store if not filed: then nobody else writes |
//! | `EMPTY` running | the callback's thread | `ARMED` or `HELD`, running; version + 1 | same key; fails if revoked |
//! | `EMPTY` running | a callback that was deferred | `ARMED` or `HELD`, not running; version + 1 | as above, and its end |
//! | `ARMED`, `HELD` | whoever has the key | the same with another deadline, `ARMED` or `HELD` | later keeps filed; earlier withdraws it, and marks the entry |
//! | `ARMED`, `HELD` | whoever has the key | `EMPTY`; not filed if the deadline was far | owns the value, then frees the entry |
//! | `EMPTY`, filed | the armer that popped the entry | not filed | the filing is too late for it, or its base does not reach |
//! | `ARMED`, `HELD`, running | whoever has the key | `TAKING`, running | owns the value; the entry is not its to free |
//! | `TAKING`, running | that canceller | `REVOKED`, running | the driver frees the entry |
//! | `TAKING` | that canceller | `EMPTY` | the callback has returned meanwhile: the canceller frees the entry |
//! | `EMPTY`, `REVOKED`, running | whoever has the key | `REVOKED` or `AWAITED`, running | the third answer; who wants to wait lets `TAKING` become `REVOKED` first |
//! | `ARMED` | the driver, at a mark | filed | only on the word by which it filed the entry |
//! | `EMPTY`, `HELD`, filed | the driver, met it | not filed | it is on no slot any more |
//! | `ARMED` | the driver, due | `EMPTY` running, not filed | owns the value: on the word whose deadline it judged |
//! | running | the driver, or who it handed the callback to: it has returned | not running; `REVOKED` and `AWAITED` become `EMPTY` | frees the entry if it is `EMPTY` then; `TAKING` is left to its canceller |

/// Which timer's turn the entry is in, and who may do what with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Empty,
    Armed,
    Held,
    Taking,
    Revoked,
    Awaited,
}

/// How the deadline is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// So many ticks after the base of the entry.
    Near(u64),
    /// In the `far` cell of the entry with this index, which is not used otherwise.
    Far(u32),
}

/// One value of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

const PLACE_BITS: u32 = 34;
const FAR: u64 = 1 << PLACE_BITS;
const FILED: u64 = FAR << 1;
const RUNNING: u64 = FILED << 1;
const STATE_SHIFT: u32 = RUNNING.trailing_zeros() + 1;
const STATE: u64 = 7 << STATE_SHIFT;
const VERSION: u64 = STATE + (1 << STATE_SHIFT);

/// Near deadlines lie less than this after the base of their entry.
pub(super) const REACH: u64 = 1 << PLACE_BITS;

const _: () = {
    assert!(
        REACH > u32::MAX as u64,
        "an index fits into the place of a far deadline"
    );
    assert!(
        VERSION.is_power_of_two() && VERSION > STATE,
        "the version has what the state leaves"
    );
    assert!(
        u64::BITS - VERSION.trailing_zeros() == 24,
        "as many versions as the docs say"
    );
};

// === impl Word ===

impl Word {
    #[inline]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) const fn state(self) -> State {
        match (self.0 & STATE) >> STATE_SHIFT {
            0 => State::Empty,
            1 => State::Armed,
            2 => State::Held,
            3 => State::Taking,
            4 => State::Revoked,
            _ => State::Awaited,
        }
    }

    /// The same in another state.
    #[inline]
    pub(super) const fn with_state(self, state: State) -> Self {
        Self(self.0 & !STATE | (state as u64) << STATE_SHIFT)
    }

    #[inline]
    pub(super) const fn is_armed(self) -> bool {
        matches!(self.state(), State::Armed)
    }

    /// Whether the entry holds a value that its key can reach.
    #[inline]
    pub(super) const fn is_live(self) -> bool {
        matches!(self.state(), State::Armed | State::Held)
    }

    #[inline]
    pub(super) const fn is_running(self) -> bool {
        self.0 & RUNNING != 0
    }

    #[inline]
    pub(super) const fn running(self) -> Self {
        Self(self.0 | RUNNING)
    }

    #[inline]
    pub(super) const fn not_running(self) -> Self {
        Self(self.0 & !RUNNING)
    }

    #[inline]
    pub(super) const fn is_filed(self) -> bool {
        self.0 & FILED != 0
    }

    #[inline]
    pub(super) const fn filed(self) -> Self {
        Self(self.0 | FILED)
    }

    #[inline]
    pub(super) const fn not_filed(self) -> Self {
        Self(self.0 & !FILED)
    }

    #[inline]
    pub(super) const fn next_version(self) -> Self {
        Self(self.0.wrapping_add(VERSION))
    }

    #[inline]
    pub(super) const fn place(self) -> Place {
        let place = self.0 & (FAR - 1);
        if self.0 & FAR == 0 {
            Place::Near(place)
        } else {
            Place::Far(place as u32)
        }
    }

    /// The same without the reference to a far deadline, if it has one, and then not filed: what
    /// is left does not say where it was filed.
    #[inline]
    pub(super) const fn without_far(self) -> Self {
        match self.place() {
            Place::Near(_) => self,
            Place::Far(_) => self.at(Place::Near(0)).not_filed(),
        }
    }

    /// The same with another deadline. A far one needs the next version too.
    #[inline]
    pub(super) const fn at(self, place: Place) -> Self {
        let rest = self.0 & !(FAR | (FAR - 1));
        match place {
            Place::Near(offset) => {
                debug_assert!(offset < REACH, "near deadlines fit");
                Self(rest | offset)
            }
            Place::Far(index) => Self(rest | FAR | index as u64),
        }
    }
}

impl core::fmt::Debug for Word {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", self.state())?;
        if self.is_running() {
            f.write_str(" running")?;
        }
        if self.is_filed() {
            f.write_str(" filed")?;
        }
        write!(f, " {:?} version {}", self.place(), self.0 / VERSION)
    }
}

#[cfg(test)]
mod tests {
    //! Properties: fields do not disturb each other, and zero is an entry never used.

    use super::*;
    use proptest::prelude::*;

    const STATES: [State; 6] = [
        State::Empty,
        State::Armed,
        State::Held,
        State::Taking,
        State::Revoked,
        State::Awaited,
    ];

    proptest! {
        #[test]
        fn a_field_changes_alone(bits in any::<u64>(), state in 0usize..6, offset in 0..REACH, index in any::<u32>()) {
            let word = Word::from_bits(bits & !STATE).with_state(STATES[state]);
            let fields = |word: Word| (word.state(), word.is_running(), word.is_filed(), word.place(), word.bits() / VERSION);
            let (was, running, filed, place, version) = fields(word);
            prop_assert_eq!(was, STATES[state]);
            for next in STATES {
                prop_assert_eq!(fields(word.with_state(next)), (next, running, filed, place, version));
            }
            prop_assert_eq!(fields(word.running()), (was, true, filed, place, version));
            prop_assert_eq!(fields(word.not_running()), (was, false, filed, place, version));
            prop_assert_eq!(fields(word.filed()), (was, running, true, place, version));
            prop_assert_eq!(fields(word.not_filed()), (was, running, false, place, version));
            for place in [Place::Near(offset), Place::Far(index)] {
                prop_assert_eq!(fields(word.at(place)), (was, running, filed, place, version));
            }
            let next = (version + 1) % (u64::MAX / VERSION + 1);
            prop_assert_eq!(fields(word.next_version()), (was, running, filed, place, next));
        }

        #[test]
        fn without_its_far_deadline_a_word_is_not_filed(bits in any::<u64>(), offset in 0..REACH, index in any::<u32>()) {
            let word = Word::from_bits(bits).filed();
            let near = word.at(Place::Near(offset));
            prop_assert_eq!(near.without_far().bits(), near.bits());
            let nothing = word.not_filed().at(Place::Near(0));
            prop_assert_eq!(word.at(Place::Far(index)).without_far().bits(), nothing.bits());
        }
    }

    #[test]
    fn a_key_reaches_a_value_that_is_armed_or_held() {
        for state in STATES {
            let word = Word::from_bits(0).with_state(state);
            assert_eq!(word.is_armed(), state == State::Armed, "{state:?}");
            let live = [State::Armed, State::Held].contains(&state);
            assert_eq!(word.is_live(), live, "{state:?}");
        }
    }

    #[test]
    fn a_word_shows_its_fields() {
        let word = Word::from_bits(3 * VERSION).with_state(State::Armed);
        let shown = alloc::format!("{:?}", word.running().at(Place::Far(5)));
        assert_eq!(shown, "Armed running Far(5) version 3");
        let shown = alloc::format!("{:?}", word.filed().at(Place::Near(7)));
        assert_eq!(shown, "Armed filed Near(7) version 3");
    }

    #[test]
    fn zero_is_an_entry_that_was_never_used() {
        let zero = Word::from_bits(0);
        assert_eq!(
            (zero.state(), zero.is_running(), zero.is_filed()),
            (State::Empty, false, false)
        );
    }
}
