//! What whoever drives shows of itself, and how others look at the wheel without being in its way.
//!
//! Until when the driver sleeps, `rest`:
//!
//! | from | to | who |
//! |---|---|---|
//! | any | [`PREPARES`] | who is about to announce a sleep |
//! | [`PREPARES`] | a tick | the same, when it has announced it |
//! | a tick, [`PREPARES`] | [`AWAKE`] | who arms something earlier than was announced |
//! | any | [`AWAKE`] | who begins a turn |
//!
//! So while a tick stands there, nothing is armed that is due earlier: whoever armed such a timer
//! has seen the announcement, which is made after [`PREPARES`] was stored, and takes the tick away.

use core::time::Duration;

use super::parker::Parker;
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence};
use crate::{Tick, Timestamp};

/// The driver is at work, or was called, or has not said how long it sleeps.
const AWAKE: u64 = 0;
/// It is about to say so.
const PREPARES: u64 = 1;
/// No turn is under way: no clock reads this.
const NO_TURN: u64 = u64::MAX;
/// A look that has ended, in `looks`.
const LOOKED: u64 = 1 << 32;

/// What the driver shows.
#[derive(Debug)]
pub(super) struct Pulse {
    rest: AtomicU64,
    /// When the turn under way began, in nanoseconds of the runtime's clock.
    turn: AtomicU64,
    /// Looks under way; and, from bit 32, how many have ended.
    looks: AtomicU64,
    /// Where the watchdog sleeps, if there is one.
    watch: Parker,
    /// Whether it sleeps for as long as the driver does.
    dozes: AtomicBool,
}

/// A look at the wheel that takes the driver's role for a moment; it is over when this is dropped.
#[must_use]
pub(super) struct Look<'a>(&'a Pulse);

/// How many looks there were.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks(u64);

// === impl Pulse ===

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            rest: AtomicU64::new(AWAKE),
            turn: AtomicU64::new(NO_TURN),
            looks: AtomicU64::new(0),
            watch: Parker::new(),
            dozes: AtomicBool::new(false),
        }
    }

    // --- sleep of the driver ---

    /// The driver is about to announce a sleep.
    pub(super) fn prepares(&self) {
        // ORDERING: Relaxed. The announcement, a read-modify-write with Release, passes it on.
        self.rest.store(PREPARES, Ordering::Relaxed);
    }

    /// It has announced that it sleeps until `tick`.
    pub(super) fn rests(&self, tick: Tick) {
        // ORDERING: SeqCst, see `doze`. If it fails somebody has called since.
        let _ =
            self.rest
                .compare_exchange(PREPARES, tick.get(), Ordering::SeqCst, Ordering::Relaxed);
    }

    /// Somebody has armed something earlier than was announced.
    pub(super) fn called(&self) {
        // ORDERING: Relaxed. The announcement was seen, and with it what was stored before.
        // AWAKE is of somebody who came first, or of a turn, which will find what was armed.
        if self.rest.load(Ordering::Relaxed) != AWAKE {
            // ORDERING: SeqCst, see `doze`.
            self.rest.swap(AWAKE, Ordering::SeqCst);
            self.rouse();
        }
    }

    /// Until when the driver sleeps, with nothing armed that is due earlier; `None` if it is awake, or
    /// should be.
    pub(super) fn rests_until(&self) -> Option<Tick> {
        // ORDERING: Acquire, so that what is asked of the wheel next is not older than this.
        match self.rest.load(Ordering::Acquire) {
            AWAKE | PREPARES => None,
            tick => Some(Tick::new(tick)),
        }
    }

    // --- turns ---

    /// A turn begins. Says whether this is the one that is shown: of several that try at once, one is.
    pub(super) fn turn_begins(&self, now: Timestamp, tick: Tick) -> bool {
        // ORDERING: SeqCst, see `doze`.
        let rested = self.rest.swap(AWAKE, Ordering::SeqCst);
        if rested > tick.get() {
            // Before its time. What is armed in this turn calls nobody.
            self.rouse();
        }
        // ORDERING: Relaxed. A number to look at.
        self.turn
            .compare_exchange(
                NO_TURN,
                now.as_nanos(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// The turn that is shown has ended.
    pub(super) fn turn_ends(&self) {
        // ORDERING: Relaxed, as in `turn_begins`.
        self.turn.store(NO_TURN, Ordering::Relaxed);
    }

    /// When the turn under way began.
    pub(super) fn turn(&self) -> Option<Timestamp> {
        // ORDERING: Relaxed, as in `turn_begins`.
        let began = self.turn.load(Ordering::Relaxed);
        (began != NO_TURN).then_some(Timestamp::from_nanos(began))
    }

    // --- looks ---

    /// Announces that this thread takes the role for a moment.
    pub(super) fn look(&self) -> Look<'_> {
        // ORDERING: Relaxed, and the Release of the fence, which the role's own read-modify-write carries
        // to whoever finds the role taken: pairs with the fence in `looked_since`.
        self.looks.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        Look(self)
    }

    /// What to compare with, before an attempt to take the role.
    pub(super) fn looks(&self) -> Looks {
        // ORDERING: Acquire pairs with the Release in `Look::drop`: of a look that is counted here as
        // ended, the role is free again.
        Looks(self.looks.load(Ordering::Acquire))
    }

    /// Whether a look may have been in the way of an attempt that began with `before`.
    pub(super) fn looked_since(&self, before: Looks) -> bool {
        // ORDERING: Acquire pairs with the fence in `look`: if a look had the role, it is counted. So the
        // load may be Relaxed.
        fence(Ordering::Acquire);
        let now = self.looks.load(Ordering::Relaxed);
        now % LOOKED != 0 || now / LOOKED != before.0 / LOOKED
    }

    // --- sleep of the watchdog ---

    /// Lets the watchdog sleep; for less if it is [stirred](Self::stir).
    pub(super) fn sleep(&self, timeout: Option<Duration>) {
        self.watch.park(timeout);
    }

    /// Lets the watchdog sleep for as long as `timeout`, while the driver sleeps until `until`.
    ///
    /// Of two that store and then look, the watchdog here and whoever changes `rest`, one sees what the
    /// other has stored. So either it does not fall asleep, or it is roused.
    pub(super) fn doze(&self, until: Tick, timeout: Option<Duration>) {
        // ORDERING: SeqCst, all of them, for what is said above.
        self.dozes.store(true, Ordering::SeqCst);
        if self.rest.load(Ordering::SeqCst) == until.get() {
            self.watch.park(timeout);
        }
        self.dozes.store(false, Ordering::SeqCst);
    }

    /// Wakes the watchdog: the runtime is resumed, or shut down.
    pub(super) fn stir(&self) {
        self.watch.unpark();
    }

    /// Wakes the watchdog if it sleeps for as long as the driver did.
    fn rouse(&self) {
        // ORDERING: SeqCst, see `doze`. The load spares the exchange: there may be no watchdog.
        if self.dozes.load(Ordering::SeqCst) && self.dozes.swap(false, Ordering::SeqCst) {
            self.watch.unpark();
        }
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire in `looks`.
        self.0.looks.fetch_add(LOOKED - 1, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: what is announced stands until somebody calls or turns; a call while the
    //! announcement is made is not overwritten; who looks is told from who drives.

    use super::*;

    #[test]
    fn an_announcement_stands_until_somebody_calls_or_turns() {
        let pulse = Pulse::new();
        assert_eq!(pulse.rests_until(), None);
        let turns = |pulse: &Pulse| assert!(pulse.turn_begins(Timestamp::ZERO, Tick::ZERO));
        for end in [Pulse::called, turns] {
            pulse.prepares();
            assert_eq!(pulse.rests_until(), None);
            pulse.rests(Tick::new(9));
            assert_eq!(pulse.rests_until(), Some(Tick::new(9)));
            end(&pulse);
            assert_eq!(pulse.rests_until(), None);
        }
    }

    #[test]
    fn a_call_is_not_overwritten_by_the_announcement_it_comes_after() {
        let pulse = Pulse::new();
        pulse.prepares();
        pulse.called();
        pulse.rests(Tick::new(9));
        assert_eq!(pulse.rests_until(), None);
    }

    #[test]
    fn one_turn_is_shown_at_a_time() {
        let pulse = Pulse::new();
        assert!(pulse.turn_begins(Timestamp::from_nanos(5), Tick::ZERO));
        assert!(!pulse.turn_begins(Timestamp::from_nanos(7), Tick::ZERO));
        assert_eq!(pulse.turn(), Some(Timestamp::from_nanos(5)));
        pulse.turn_ends();
        assert_eq!(pulse.turn(), None);
    }

    #[test]
    fn a_look_that_may_have_been_in_the_way_is_told() {
        let pulse = Pulse::new();
        let none = pulse.looks();
        assert!(!pulse.looked_since(none));
        let look = pulse.look();
        assert!(pulse.looked_since(none));
        let during = pulse.looks();
        drop(look);
        assert!(pulse.looked_since(none) && pulse.looked_since(during));
        assert!(!pulse.looked_since(pulse.looks()));
    }

    #[test]
    fn a_watchdog_does_not_doze_through_a_call() {
        let pulse = Pulse::new();
        pulse.prepares();
        pulse.rests(Tick::new(9));
        std::thread::scope(|scope| {
            scope.spawn(|| pulse.called());
            pulse.doze(Tick::new(9), None); // returns
        });
        pulse.doze(Tick::new(9), None); // returns at once
    }
}
