//! Properties of the clocks.
//!
//! A real clock never goes back and agrees with the standard library's about order and
//! length. A manual clock shows what it was told, whichever thread told it. A wall anchor
//! equals the same arithmetic done in 128 bits. No clock ever reads `NEVER`.

#[cfg(target_has_atomic = "64")]
#[path = "clocks/manual.rs"]
mod manual;

#[cfg(feature = "std")]
#[path = "clocks/real.rs"]
mod real;

#[cfg(feature = "std")]
#[path = "clocks/wall.rs"]
mod wall;

use std::fmt::Debug;
use std::sync::Arc;

use tickwheel::{Clock, Timestamp};

/// Later than this no clock reads.
const LAST: Timestamp = Timestamp::from_nanos(u64::MAX - 1);

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

/// Compiles for what can be shared, copied and printed; returns how it is printed.
fn printed<T: Clone + Debug + Send + Sync + 'static>(value: &T) -> String {
    format!("{:?}", value.clone())
}

/// A reading that some other clock would not show by chance.
struct Fixed(u64);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        at(self.0)
    }
}

#[test]
fn whatever_holds_a_clock_is_a_clock_that_reads_the_same() {
    fn read(clock: impl Clock) -> Timestamp {
        clock.now()
    }
    let plain = Fixed(41);
    let object: &dyn Clock = &plain;
    let boxed: Box<dyn Clock + Send + Sync> = Box::new(Fixed(41));
    let shared: Arc<dyn Clock + Send + Sync> = Arc::new(Fixed(41));
    let nested = Arc::new(Box::new(Fixed(41)));
    let readings = [
        read(&plain),
        read(object),
        read(&boxed),
        read(boxed),
        read(shared.clone()),
        read(shared),
        read(nested),
    ];
    for (which, reading) in readings.into_iter().enumerate() {
        assert_eq!(reading, at(41), "holder {which} of a clock that reads 41");
    }
}
