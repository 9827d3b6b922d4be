//! A trace of what a server's connection timers go through, made from a seed.
//!
//! One seed gives one trace, on every machine: it is made with integers, and of floating point
//! only with division and square roots, which are exact to the last bit everywhere.
//!
//! Every connection has one idle timer of 30 s. Each request pushes it out, closing the connection
//! cancels it, and it fires only if the other side is gone. What is random, and after whom:
//!
//! - **Clients arrive** without memory, so many to a millisecond on average, as Paxson and
//!   Floyd found of the beginnings of user sessions (*Wide area traffic: the failure of Poisson
//!   modeling*, IEEE/ACM Transactions on Networking 3(3), 1995). A client opens one to six
//!   connections at once: they say also that within a session connections come in bursts.
//! - **Lifetimes, and pauses between requests**, are Pareto with a shape of 4/3, from 1 s and from
//!   0.2 s on. Crovella and Bestavros measured shapes of 1.2 for the time that transfers
//!   take and 1.5 for the time that users are silent (*Self-similarity in World Wide Web traffic*,
//!   IEEE/ACM Transactions on Networking 5(6), 1997); 4/3 lies between them, and needs two
//!   square roots. Lifetimes end at two minutes.
//! - **Five in a hundred connections** are given up by the other side without a word. That most
//!   timers are cancelled or set again before they expire is what the authors of Linux's timer
//!   wheel give as the reason for its present form (version 4.8, 2016); the share is ours.
//! - **Storms**: a tenth of all clients arrive at four moments, as after a restart of something
//!   that stood between.

/// Clients arrive during this time. Everything here is in ticks of 1 ms.
const ARRIVALS: u64 = 60_000;

/// How long a connection may be silent.
pub(crate) const IDLE: u64 = 30_000;

const SHORTEST_LIFE: f64 = 1_000.0;
const LONGEST_LIFE: u64 = 120_000;
const SHORTEST_PAUSE: f64 = 200.0;
const STORMS: [u64; 4] = [11_000, 23_000, 41_000, 52_000];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A connection opens: arm.
    Open,
    /// A request comes: set the timer to a later tick.
    Push,
    /// It closes: cancel.
    Close,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) tick: u32,
    pub(crate) connection: u32,
    pub(crate) act: Act,
}

pub(crate) struct Trace {
    /// In order of time.
    pub(crate) events: Vec<Event>,
    pub(crate) connections: usize,
    /// How many timers fire.
    pub(crate) fired: u64,
    /// The tick after which nothing is left.
    pub(crate) end: u64,
}

impl Trace {
    /// About so many connections: whole clients.
    pub(crate) fn new(seed: u64, connections: usize) -> Self {
        let mut random = Random(seed);
        let mut trace = Self {
            events: Vec::new(),
            connections: 0,
            fired: 0,
            end: 0,
        };
        while trace.connections < connections {
            let arrival = match random.below(10) {
                0 => STORMS[random.below(STORMS.len() as u64) as usize],
                _ => random.below(ARRIVALS),
            };
            for _ in 0..=random.below(6) {
                trace.connection(arrival, &mut random);
            }
        }
        // Of equal ticks the order stays: by connection, and then as it happens.
        trace.events.sort_by_key(|event| event.tick);
        trace
    }

    fn connection(&mut self, opens: u64, random: &mut Random) {
        let connection = u32::try_from(self.connections).expect("fewer connections than that");
        self.connections += 1;
        let life = random.pareto(SHORTEST_LIFE).min(LONGEST_LIFE);
        let abandoned = random.below(20) == 0;
        let mut act = |tick: u64, act| {
            let tick = u32::try_from(tick).expect("minutes, in milliseconds");
            self.events.push(Event {
                tick,
                connection,
                act,
            });
        };
        act(opens, Act::Open);
        let (mut last, closes) = (opens, opens + life);
        loop {
            let next = last + random.pareto(SHORTEST_PAUSE);
            // Its timer fires when it is silent for too long, whatever it had in mind.
            let silent_until = if abandoned {
                u64::MAX
            } else {
                next.min(closes)
            };
            if next >= closes || next >= last + IDLE {
                let fires = last + IDLE;
                if silent_until < fires {
                    act(closes, Act::Close);
                } else {
                    self.fired += 1;
                }
                self.end = self.end.max(silent_until.min(fires));
                return;
            }
            act(next, Act::Push);
            last = next;
        }
    }
}

/// Numbers without a pattern, the same for ever: `SplitMix64` (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end` without it.
    fn below(&mut self, end: u64) -> u64 {
        ((self.next() >> 32) * end) >> 32
    }

    /// A time from `least` on, with a shape of 4/3, in whole ticks.
    fn pareto(&mut self, least: f64) -> u64 {
        // Of 32 bits, and never zero: exact as a floating-point number.
        let uniform = ((self.next() >> 32) + 1) as f64 / (1_u64 << 32) as f64;
        let root = uniform.sqrt();
        (least / (root * root.sqrt())) as u64
    }
}
