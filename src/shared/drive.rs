//! Moving time: what the holder of the driver's role does.
//!
//! The driver has a wheel of its own, which says where each entry is filed and is seen by
//! nobody else. So arming and advancing do not race for slots: an armer writes the entry's
//! word and marks the entry; the driver sweeps up the marks, files, and asks the word of
//! whatever comes due. See `word` for who wins when it is asked just now.

use alloc::boxed::Box;

use super::arena::MAX_ENTRIES;
use super::fire::Firing;
use super::free::{BATCH, Chain};
use super::marks::Sweep;
use super::mutant::{mutant, ordering};
use super::role::Taken;
use super::turn::SharedTurn;
use super::{Busy, Park, SharedWheel, thread};
use crate::sync::Ordering;
use crate::wheel::{Budget, Stop, Visit};
use crate::{Expired, Progress, Tick, Wheel};

/// What belongs to the driver.
#[derive(Debug)]
pub(super) struct Private<const BITS: u32> {
    pub(super) wheel: Wheel<(), BITS>,
    pub(super) sweep: Sweep,
    pub(super) returns: Returns,
    pub(super) met: Met,
}

/// What became of the entries that were met and did not fire.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    /// Not due yet, and filed anew.
    pub(super) moved: u64,
    /// Forgotten: nobody had armed them again.
    pub(super) gone: u64,
}

/// Entries that have fired, by the shard they go back to.
#[derive(Debug)]
pub(super) struct Returns {
    chains: Box<[Chain]>,
    any: bool,
}

/// The role, and what it does when it ends, be it by a panic.
pub(super) struct Driving<'a, T, const BITS: u32> {
    pub(super) wheel: &'a SharedWheel<T, BITS>,
    pub(super) private: Taken<'a, Private<BITS>>,
}

// === impl Private ===

impl<const BITS: u32> Private<BITS> {
    pub(super) fn new(start: Tick, shards: usize) -> Self {
        Self {
            wheel: Wheel::starting_at(start),
            sweep: Sweep::default(),
            returns: Returns {
                chains: (0..shards).map(|_| Chain::default()).collect(),
                any: false,
            },
            met: Met::default(),
        }
    }
}

// === impl SharedWheel ===

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// Moves time to `now` and hands every timer due by then to `fire`; says how many.
    ///
    /// Fires everything that was armed for `now` or before by an [`arm`](Self::arm) or
    /// [`rearm`](Self::rearm) that returned before this began, in order of tick; of what is
    /// armed meanwhile, it may fire some. What a callback arms for later than
    /// [`SharedTurn::now`] but not later than `now` fires in this same call; what it arms for that
    /// tick or before waits for the next, so that no callback can keep this busy for ever. (A
    /// timer that takes over the place of one which was due in this call, and which a
    /// callback cancelled or moved, may fire in this call: that can happen once for each that was
    /// due.) An earlier `now` than before counts as the tick the wheel is at.
    ///
    /// Each timer is taken just before its callback begins, so that one which is cancelled or
    /// re-armed while others of its tick fire does not fire. Cost as
    /// [`Wheel::advance`](crate::Wheel::advance), and a look at every entry that was armed or
    /// moved earlier since the last call.
    ///
    /// If `fire` panics, the panic passes on. The timer being fired is gone with it; all
    /// others fire on the next call.
    ///
    /// # Errors
    ///
    /// [`Busy`] if another thread drives the wheel, or if this is called from a callback of
    /// it. Nothing is done and nobody waits.
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// wheel.arm(Tick::new(20), "late");
    /// wheel.arm(Tick::new(10), "early");
    /// let mut log = Vec::new();
    /// let fired = wheel.advance(Tick::new(30), |turn, expired| {
    ///     log.push((turn.now().get(), expired.value));
    ///     assert!(turn.wheel().advance(Tick::new(99), |_, _| {}).is_err()); // busy
    /// });
    /// assert_eq!(fired, Ok(2));
    /// assert_eq!(log, [(10, "early"), (20, "late")]);
    /// ```
    pub fn advance(
        &self,
        now: Tick,
        fire: impl FnMut(&mut SharedTurn<'_, T, BITS>, Expired<T>),
    ) -> Result<usize, Busy> {
        let mut driving = self.drive()?;
        Ok(driving.run(now, Budget::unbounded, false, fire).fired())
    }

    /// As [`advance`](Self::advance), but looks at `budget` entries at most, moves counted, and
    /// files at most as many that were armed or moved earlier since the last call.
    ///
    /// Everything of the latter kind is filed before time moves. So the budget has to be more than is
    /// armed from one call to the next, as in the long run it has to be in any case.
    ///
    /// Once the budget is spent the cursor stays where the work is; the next call goes on from
    /// there, and all calls up to the one that is done are one turn, as with
    /// [`Wheel::advance_bounded`](crate::Wheel::advance_bounded). A budget of zero counts as one.
    ///
    /// # Errors
    ///
    /// [`Busy`], as [`advance`](Self::advance).
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// for id in 0..100 {
    ///     wheel.arm(Tick::new(10), id);
    /// }
    /// let (mut calls, mut fired) = (0, 0);
    /// loop {
    ///     calls += 1;
    ///     let progress = wheel.advance_bounded(Tick::new(10), 30, |_, _| fired += 1).unwrap();
    ///     if progress.is_done() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(fired, 100);
    /// assert!(calls > 3);
    /// ```
    pub fn advance_bounded(
        &self,
        now: Tick,
        budget: usize,
        fire: impl FnMut(&mut SharedTurn<'_, T, BITS>, Expired<T>),
    ) -> Result<Progress, Busy> {
        let mut driving = self.drive()?;
        Ok(driving.run(now, || Budget::new(budget), true, fire))
    }

    /// A tick before which nothing is due: never later than the earliest deadline.
    ///
    /// `None` when nothing is armed, and when all that is armed is due [never](Tick::NEVER); of a timer
    /// that was disarmed the place counts until its slot has come. After
    /// `advance(now)` it is later than `now`, unless something due was armed since. While a
    /// turn is under way, because a budget ran out or another thread is driving, it is
    /// [`now`](Self::now).
    ///
    /// As with [`Wheel::next_deadline`](crate::Wheel::next_deadline) it is the start of a slot
    /// and may be early; so it may be because of a timer that was cancelled, until its
    /// slot has come. To answer, this takes the driver's role for a moment, in which others are told
    /// [`Busy`]: it is a question for whoever drives. Costs a look at every entry that was armed or moved earlier since the
    /// last call, and O(levels).
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// assert_eq!(wheel.next_deadline(), None);
    /// let key = wheel.arm(Tick::new(100), ());
    /// assert_eq!(wheel.next_deadline(), Some(Tick::new(100)));
    /// let _ = wheel.cancel(key);
    /// assert_eq!(wheel.next_deadline(), None);
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        if self.is_empty() {
            return None;
        }
        match self.drive() {
            Ok(mut driving) => driving.next(),
            Err(Busy) => Some(self.now()),
        }
    }

    /// Announces that the driver goes to sleep, and says for how long it may.
    ///
    /// From then on whoever arms or re-arms a timer for an earlier tick than was announced calls
    /// the hook given to [`wake`](super::SharedWheelBuilder::wake), until the next `advance` or
    /// `prepare_park`, by whichever thread, takes the announcement back. A later deadline wakes nobody. A
    /// wake-up cannot be lost: what is armed while this runs either is taken into account or
    /// calls the hook.
    ///
    /// It may say [`Park::Until`] a tick at which nothing is due any more: that of a timer which was
    /// cancelled, whose place the next arm may take over without waking anybody.
    ///
    /// The hook may be called before the driver sleeps, so it must leave something behind that
    /// keeps the driver from sleeping, as [`Thread::unpark`](std::thread::Thread::unpark)
    /// does.
    ///
    /// # Errors
    ///
    /// [`Busy`] if another thread drives the wheel.
    ///
    /// ```
    /// use tickwheel::{Park, SharedWheel, Tick};
    ///
    /// let driver = std::thread::current();
    /// let wheel: SharedWheel<&str> = SharedWheel::builder().wake(move || driver.unpark()).build();
    /// wheel.arm(Tick::new(500), "later");
    /// assert_eq!(wheel.prepare_park(), Ok(Park::Until(Tick::new(500))));
    ///
    /// wheel.arm(Tick::new(100), "sooner"); // from any thread
    /// std::thread::park(); // returns at once: there is something earlier to do
    /// assert_eq!(wheel.next_deadline(), Some(Tick::new(100)));
    /// ```
    pub fn prepare_park(&self) -> Result<Park, Busy> {
        let mut driving = self.drive()?;
        let next = driving.next();
        if next.is_some_and(|next| next <= driving.private.wheel.now()) {
            return Ok(Park::Now);
        }
        if !self.bell.0.announce(next.map_or(u64::MAX, Tick::get)) {
            return Ok(Park::Now);
        }
        Ok(next.map_or(Park::Idle, Park::Until))
    }

    /// Takes the driver's role.
    pub(super) fn drive(&self) -> Result<Driving<'_, T, BITS>, Busy> {
        let private = self.driver.0.role.take().ok_or(Busy)?;
        Ok(Driving {
            wheel: self,
            private,
        })
    }

    /// Gives a shard what a chain holds.
    fn give_back(&self, shard: u32, chain: &mut Chain) {
        self.shards.get(shard).free.push(chain.take(), &self.arena);
    }

    /// Whether this thread is running a callback of this wheel.
    pub(super) fn drives_here(&self) -> bool {
        // ORDERING: Relaxed. Equal to this thread's number only if this thread stored it.
        self.driver.0.thread.load(Ordering::Relaxed) == thread::token() && !mutant!(WaitsForItself)
    }
}

// === impl Driving ===

impl<T, const BITS: u32> Driving<'_, T, BITS> {
    fn run(
        &mut self,
        now: Tick,
        budget: impl Fn() -> Budget,
        resume: bool,
        mut fire: impl FnMut(&mut SharedTurn<'_, T, BITS>, Expired<T>),
    ) -> Progress {
        let wheel = self.wheel;
        wheel.bell.0.withdraw();
        let mut fired = 0;
        // One to fire, and one to file what is new: neither uses up the other's.
        let (mut budget, mut filing) = (budget(), budget());
        if !wheel.file_marked(&mut self.private, now.get(), &mut filing) {
            return Progress::More { fired };
        }
        if self.private.wheel.skip(now) {
            return Progress::Done { fired };
        }
        self.private.wheel.begin(resume);
        // ORDERING: Relaxed. Matters to this thread alone, see `drives_here`.
        wheel
            .driver
            .0
            .thread
            .store(thread::token(), Ordering::Relaxed);
        loop {
            match self.step(now, &mut budget, &mut filing) {
                Stop::Fire(firing) => {
                    fired += 1;
                    self.publish_now();
                    if !wheel.call(&mut self.private.returns, firing, &mut fire) {
                        return Progress::More { fired };
                    }
                }
                Stop::Done => return Progress::Done { fired },
                Stop::Spent => return Progress::More { fired },
            }
        }
    }

    /// Goes on until a timer has been taken that fires, nothing is due, or the budget is spent.
    fn step(&mut self, now: Tick, budget: &mut Budget, filing: &mut Budget) -> Stop<Firing> {
        let wheel = self.wheel;
        let Private {
            wheel: places,
            sweep,
            returns,
            met,
        } = &mut *self.private;
        places.meet(
            now,
            budget,
            |index, tick, hint| {
                let visit = wheel.visit(index, tick, hint, returns);
                match visit {
                    Visit::Later(_) => met.moved += 1,
                    Visit::Gone => met.gone += 1,
                    Visit::Fire(_) => {}
                }
                visit
            },
            |places| {
                places.peek(2, |index| wheel.arena.prefetch(index));
                // What was armed meanwhile may be due before the next tick that is known of.
                !(wheel.bell.0.is_marked() || sweep.is_under_way())
                    || wheel.file_swept(places, sweep, now.get(), filing)
            },
        )
    }

    /// The first tick at which anything is due, with everything taken into account that was
    /// armed before.
    fn next(&mut self) -> Option<Tick> {
        let wheel = self.wheel;
        let _ = wheel.file_marked(&mut self.private, 0, &mut Budget::unbounded());
        self.private.wheel.next_deadline()
    }

    /// Lets everybody know where the cursor is.
    #[inline]
    fn publish_now(&self) {
        // ORDERING: Release pairs with the Acquire in `now`.
        self.wheel.driver.0.now.store(
            self.private.wheel.now().get(),
            ordering!(Release unless NowRelaxed),
        );
    }
}

impl<T, const BITS: u32> Drop for Driving<'_, T, BITS> {
    fn drop(&mut self) {
        self.publish_now();
        let (driver, met) = (&self.wheel.driver.0, self.private.met);
        // ORDERING: Relaxed. Numbers to look at.
        let moved = met.moved + self.private.wheel.moved();
        driver.moved.store(moved, Ordering::Relaxed);
        driver.gone.store(met.gone, Ordering::Relaxed);
        // ORDERING: Relaxed, see `drives_here`.
        self.wheel.driver.0.thread.store(0, Ordering::Relaxed);
        self.private.returns.flush(self.wheel);
    }
}

// === impl Returns ===

impl Returns {
    /// Takes an entry that goes back to `shard`.
    #[inline]
    pub(super) fn add<T, const BITS: u32>(
        &mut self,
        index: u32,
        shard: u32,
        wheel: &SharedWheel<T, BITS>,
    ) {
        let chain = &mut self.chains[shard as usize];
        chain.add(index, &wheel.arena);
        self.any = true;
        // Whoever arms finds some, as long as there are some.
        let wanted = wheel.limit < MAX_ENTRIES || wheel.shards.get(shard).free.is_empty();
        if chain.len() >= BATCH || wanted {
            wheel.give_back(shard, chain);
        }
    }

    fn flush<T, const BITS: u32>(&mut self, wheel: &SharedWheel<T, BITS>) {
        if !core::mem::take(&mut self.any) {
            return;
        }
        for (shard, chain) in self.chains.iter_mut().enumerate() {
            wheel.give_back(shard as u32, chain);
        }
    }
}
