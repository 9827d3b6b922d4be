//! Values that can be accounted for, and randomness.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Counts for each value how often it was dropped.
#[derive(Debug)]
pub(crate) struct Ledger {
    made: AtomicUsize,
    drops: Box<[AtomicU8]>,
}

/// A value that knows who it is, twice in memory of its own: whoever gets it without having
/// been handed it sees something else, and a sanitizer sees that too.
#[derive(Debug)]
pub(crate) struct Token<'l> {
    pub(crate) id: usize,
    inline: usize,
    apart: Box<usize>,
    ledger: &'l Ledger,
}

// === impl Ledger ===

impl Ledger {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            made: AtomicUsize::new(0),
            drops: (0..most).map(|_| AtomicU8::new(0)).collect(),
        }
    }

    // Relaxed here and below: the test must not order what the wheel fails to order.
    pub(crate) fn token(&self) -> Token<'_> {
        let id = self.made.fetch_add(1, Ordering::Relaxed);
        assert!(id < self.drops.len(), "the ledger has no room for {id}");
        Token {
            id,
            inline: id ^ PATTERN,
            apart: Box::new(!id),
            ledger: self,
        }
    }

    pub(crate) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn dropped(&self) -> usize {
        let made = &self.drops[..self.made()];
        made.iter()
            .map(|drops| usize::from(drops.load(Ordering::Relaxed)))
            .sum()
    }

    #[track_caller]
    pub(crate) fn assert_each_dropped_once(&self) {
        let made = self.drops[..self.made()].iter().enumerate();
        let wrong: Vec<_> = made
            .map(|(id, drops)| (id, drops.load(Ordering::Relaxed)))
            .filter(|(_, drops)| *drops != 1)
            .collect();
        let (few, all) = (&wrong[..wrong.len().min(20)], wrong.len());
        assert!(all == 0, "(value, times dropped): {few:?}, {all} in all");
    }
}

// === impl Token ===

const PATTERN: usize = 0x5A5A_5A5A;

impl Token<'_> {
    #[track_caller]
    pub(crate) fn assert_whole(&self) {
        let parts = (self.inline ^ PATTERN, !*self.apart);
        assert_eq!(parts, (self.id, self.id), "a value in pieces: {self:?}");
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        self.ledger.drops[self.id].fetch_add(1, Ordering::Relaxed);
        if !std::thread::panicking() {
            self.assert_whole();
        }
    }
}

/// Numbers that look random, the same for the same seed (splitmix64).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, thread: usize) -> Self {
        Self(seed.wrapping_mul(0xD1B5_4A32_D192_ED03) ^ (thread as u64) << 32)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

/// How many times as long as by default: `TICKWHEEL_STRESS`.
pub(crate) fn scale() -> usize {
    let given = std::env::var("TICKWHEEL_STRESS").ok();
    given.map_or(2, |given| {
        let scale = given.parse();
        scale.expect("TICKWHEEL_STRESS is a number")
    })
}
