//! Threads that use one thing at once and write down what they see, while the time moves.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use tickwheel::{Clock, ManualClock, Timers, Timestamp};

use crate::kind::{Kind, Model, nanos};
use crate::order::{Call, Sequential};
use crate::token::Random;

/// A model, and the times at which each step may have been taken.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Timed<M>(pub(crate) M);

/// Something that was done, and all that the clock has shown from when it was called to when it returned.
#[derive(Debug)]
pub(crate) struct At<D> {
    pub(crate) times: Vec<u64>,
    pub(crate) did: D,
}

pub(crate) type History<M> = Vec<Call<At<<M as Model>::Did>>>;

impl<M: Model> Sequential for Timed<M> {
    type Did = At<M::Did>;

    fn after(&self, call: &Self::Did) -> impl IntoIterator<Item = Self> {
        let times = call.times.iter();
        times.flat_map(|now| self.0.after(*now, &call.did).into_iter().map(Self))
    }
}

thread_local! {
    /// What decides where this thread dawdles.
    static DAWDLE: Cell<u64> = const { Cell::new(0) };
}

/// Lets others run, now and then. What is called from inside an operation calls this.
pub(crate) fn dawdle() {
    DAWDLE.with(|state| {
        let mut random = Random::new(state.get(), 7);
        state.set(random.next());
        match random.below(8) {
            0 => thread::yield_now(),
            1 => (0..random.below(400)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    });
}

/// A clock whose readers dawdle before they act on what they have read.
struct Slow(ManualClock);

impl Clock for Slow {
    fn now(&self) -> Timestamp {
        let now = self.0.now();
        dawdle();
        now
    }
}

struct Race<K> {
    thing: K,
    timers: Timers,
    clock: ManualClock,
    stamps: AtomicU64,
    /// Threads that have not arrived at the start.
    missing: AtomicUsize,
}

/// What was done, when; the times are filled in later.
type Log<K> = Vec<Call<<<K as Kind>::Model as Model>::Did>>;

/// The time that was shown from some moment between two stamps on.
type Shown = (u64, u64, u64);

/// A history of that many threads and a driver.
pub(crate) fn run<K: Kind>(seed: u64, threads: usize, ops: u64) -> History<K::Model> {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(Slow(clock.clone())).shards(1);
    let timers = timers.build_hand_driven().unwrap();
    let race = Race {
        thing: K::new(&timers),
        timers,
        clock,
        stamps: AtomicU64::new(0),
        missing: AtomicUsize::new(threads + 1),
    };
    let (mut log, mut shown) = (Log::<K>::new(), vec![(0, 0, 0)]);
    thread::scope(|scope| {
        let race = &race;
        let users: Vec<_> = (0..threads)
            .map(|id| scope.spawn(move || race.use_it(Random::new(seed, id), ops)))
            .collect();
        let (turns, times) = race.drive(Random::new(seed, 100));
        log.extend(turns);
        shown.extend(times);
        for user in users {
            log.extend(user.join().expect("a thread of the race"));
        }
    });
    // All is over: what is told of the ends has to agree with what was done.
    let last = race.stamp();
    log.push(Call::new(last, last, race.thing.end()));
    let timed = log.into_iter().map(|call| Call {
        from: call.from,
        to: call.to,
        then: call.then,
        did: At {
            times: times(&shown, call.from, call.to),
            did: call.did,
        },
    });
    timed.collect()
}

/// All times that may have been shown at some moment between these stamps.
fn times(shown: &[Shown], from: u64, to: u64) -> Vec<u64> {
    let until = shown.iter().skip(1).map(|next| next.1).chain([u64::MAX]);
    let shown = shown.iter().zip(until);
    let overlaps = shown.filter(|((begun, ..), ended)| *begun <= to && from <= *ended);
    overlaps.map(|((.., time), _)| *time).collect()
}

impl<K: Kind> Race<K> {
    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }

    fn begin(&self, random: &mut Random) {
        DAWDLE.with(|state| state.set(random.next()));
        self.missing.fetch_sub(1, Ordering::SeqCst);
        while self.missing.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
    }

    fn use_it(&self, mut random: Random, ops: u64) -> Log<K> {
        let mut log = Log::<K>::new();
        self.begin(&mut random);
        for _ in 0..2 + random.below(ops - 1) {
            let from = self.stamp();
            let did = self.thing.act(&mut |end| random.below(end));
            let to = self.stamp();
            for (step, did) in did.into_iter().enumerate() {
                let call = Call::new(from, to, did);
                log.push(if step > 0 { call.then() } else { call });
            }
        }
        log
    }

    /// Moves the clock, mostly by less than anything lives, and fires what is due now and then.
    fn drive(&self, mut random: Random) -> (Log<K>, Vec<Shown>) {
        let (mut log, mut shown) = (Log::<K>::new(), Vec::new());
        self.begin(&mut random);
        for _ in 0..2 + random.below(3) {
            let by = 1 + random.below(7);
            let from = self.stamp();
            let now = self.clock.advance(nanos(by));
            shown.push((from, self.stamp(), now.as_nanos()));
            if random.below(2) == 0 {
                let from = self.stamp();
                self.timers.turn_fully().expect("nobody else drives");
                log.push(Call::new(from, self.stamp(), K::turned()));
            }
            (0..random.below(3)).for_each(|_| dawdle());
        }
        (log, shown)
    }
}
