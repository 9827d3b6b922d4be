//! The ten lines of the README.

use tickwheel::{Tick, Wheel};

fn main() {
    let mut wheel = Wheel::new();
    let idle = wheel.arm(Tick::new(30), "close connection 7");
    let retransmit = wheel.arm(Tick::new(40), "send packet 3 again");
    wheel.arm(Tick::new(50), "say hello");

    wheel.rearm(idle, Tick::new(60)).unwrap(); // connection 7 was heard from
    assert_eq!(wheel.cancel(retransmit), Some("send packet 3 again")); // it was answered

    let fired = wheel.advance(Tick::new(100), |turn, expired| {
        println!("tick {}: {}", turn.now(), expired.value);
    });
    assert_eq!(fired, 2); // hello at 50, connection 7 at 60
}
