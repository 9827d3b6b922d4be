//! What all that is stored has in common.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tickwheel::snapshot::{RestoreError, RestoreOptions, RestoreReport, WallTime};

use crate::machine::{Machine, NOON, Passed};

pub(crate) const KEY: [u8; 32] = [7; 32];

pub(crate) trait Kind: Sized {
    type Snapshot: Serialize + DeserializeOwned + Clone + Debug;
    /// By what one thing is told from another.
    type Id: Ord + Debug;

    fn start(machine: &Machine) -> Self;

    /// Makes numbers small, times near, and the format and the key right.
    fn fold(snapshot: &mut Self::Snapshot);

    /// What is wrong with it.
    fn flaw(snapshot: &Self::Snapshot) -> Option<RestoreError>;

    fn taken_at(snapshot: &Self::Snapshot) -> WallTime;

    /// What comes of it if nothing is wrong.
    fn expect(snapshot: &Self::Snapshot, machine: &Machine, passed: &Passed) -> Expected<Self::Id>;

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError>;

    fn save(&self, machine: &Machine) -> Self::Snapshot;

    fn len(&self) -> usize;

    /// How many ends were told.
    fn told(&self) -> usize;

    /// Says of each thing what the snapshot says.
    fn is_asked(&self, snapshot: &Self::Snapshot, lives: &BTreeMap<Self::Id, u64>);

    /// What begins now has a number that nothing had before.
    fn goes_on(&self, snapshot: &Self::Snapshot);
}

/// What a restoration comes to.
pub(crate) struct Expected<I> {
    pub(crate) restored: usize,
    pub(crate) expired: usize,
    pub(crate) refused: usize,
    pub(crate) told: usize,
    /// What lives, and until when on the clock; `u64::MAX` for ever.
    pub(crate) lives: BTreeMap<I, u64>,
}

impl<I: Ord> Expected<I> {
    pub(crate) fn new() -> Self {
        Self {
            restored: 0,
            expired: 0,
            refused: 0,
            told: 0,
            lives: BTreeMap::new(),
        }
    }

    /// A thing that lives until then, or has expired.
    pub(crate) fn add(&mut self, id: I, life: Option<u64>) {
        match life {
            Some(until) => {
                self.restored += 1;
                self.lives.insert(id, until);
            }
            None => {
                self.expired += 1;
                self.told += 1;
            }
        }
    }
}

/// A time within some minutes of noon.
pub(crate) fn near(time: &mut WallTime) {
    let since = time.since_epoch();
    let secs = NOON - 512 + since.as_secs() % 1_024;
    *time = WallTime::from_epoch(Duration::new(secs, since.subsec_nanos()));
}

pub(crate) fn malformed(is: bool) -> Option<RestoreError> {
    is.then_some(RestoreError::Malformed("some way or other"))
}

pub(crate) fn version(found: u32) -> Option<RestoreError> {
    (found != 1).then_some(RestoreError::Version { found })
}

/// Whether anything occurs twice.
pub(crate) fn is_twice<T: Ord>(things: impl Iterator<Item = T>) -> bool {
    let mut things: Vec<T> = things.collect();
    things.sort_unstable();
    things.windows(2).any(|pair| pair[0] == pair[1])
}
