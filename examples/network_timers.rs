//! The timers of a connection, as a network stack has them: packets to send again with
//! backoff, keep-alives that re-arm themselves, an idle timeout pushed out by every packet.
//!
//! Time comes from a clock that the program moves by hand, so it runs in no time and
//! always prints the same story. A real stack would sleep until the next packet or deadline.

use core::time::Duration;

use tickwheel::{Clock, Expired, ManualClock, Resolution, TimerKey, Timestamp, Turn, Wheel};

/// A tick is a millisecond.
const MS: Resolution = Resolution::MILLISECOND;
const IDLE: Duration = Duration::from_secs(5);
const KEEP_ALIVE: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(200);
const TRIES: u32 = 4;

/// What the wheel holds: one kind of work each.
#[derive(Debug)]
enum Timer {
    Retransmit { packet: u32, tries: u32 },
    KeepAlive,
    Idle,
}

struct Connection {
    idle: TimerKey,
    keep_alive: TimerKey,
    retransmit: Option<TimerKey>,
}

impl Connection {
    fn open(wheel: &mut Wheel<Timer>, now: Timestamp) -> Self {
        let first = Timer::Retransmit {
            packet: 1,
            tries: 0,
        };
        Self {
            idle: wheel.arm(MS.deadline_after(now, IDLE), Timer::Idle),
            keep_alive: wheel.arm(MS.deadline_after(now, KEEP_ALIVE), Timer::KeepAlive),
            retransmit: Some(wheel.arm(MS.deadline_after(now, FIRST_RETRY), first)),
        }
    }

    /// A packet has come: the idle timeout moves out. The keys stay as they are.
    fn heard(&mut self, wheel: &mut Wheel<Timer>, now: Timestamp) {
        println!("{now:?}: heard from the peer");
        if wheel
            .rearm(self.idle, MS.deadline_after(now, IDLE))
            .is_err()
        {
            println!("{now:?}: too late, the connection is closed");
        }
    }

    /// A timer has fired. It may be armed again, and others cancelled, in the middle of it.
    fn fire(&mut self, turn: &mut Turn<'_, Timer>, mut expired: Expired<Timer>) {
        let at = turn.now();
        match &mut expired.value {
            Timer::Retransmit { packet, tries } if *tries + 1 < TRIES => {
                *tries += 1;
                println!("tick {at}: send packet {packet} again");
                let backoff = MS.span(FIRST_RETRY * 2u32.pow(*tries));
                self.retransmit = Some(turn.rearm_expired(expired, at + backoff));
            }
            Timer::Retransmit { packet, .. } => {
                println!("tick {at}: give packet {packet} up");
                self.retransmit = None;
            }
            Timer::KeepAlive => {
                println!("tick {at}: keep-alive");
                // From its own deadline, not from now: it does not drift when calls are late.
                let next = expired.deadline + MS.span(KEEP_ALIVE);
                self.keep_alive = turn.rearm_expired(expired, next);
            }
            Timer::Idle => {
                println!("tick {at}: nothing heard, close");
                turn.cancel(self.keep_alive);
                if let Some(retransmit) = self.retransmit.take() {
                    turn.cancel(retransmit);
                }
            }
        }
    }
}

fn main() {
    let clock = ManualClock::new();
    let mut wheel = Wheel::new();
    let mut connection = Connection::open(&mut wheel, clock.now());
    let mut packets = [300, 1_100, 2_750]
        .map(Duration::from_millis)
        .into_iter()
        .peekable();

    // Sleep until the next packet or the next deadline, whichever comes first. The wheel may
    // wake us early, to move a timer closer; that is harmless.
    loop {
        let packet = packets.peek().map(|at| Timestamp::from_duration(*at));
        let deadline = wheel.next_deadline().map(|tick| MS.start_of(tick));
        let Some(until) = packet.into_iter().chain(deadline).min() else {
            break;
        };
        clock.set(until);

        let now = MS.now(clock.now());
        wheel.advance(now, |turn, expired| connection.fire(turn, expired));
        if packets
            .next_if(|at| Timestamp::from_duration(*at) <= until)
            .is_some()
        {
            connection.heard(&mut wheel, until);
        }
    }

    assert_eq!(wheel.now().get(), 7_750); // the last packet, and five seconds
    assert!(wheel.is_empty());
}
