//! Peers from the registry, each used as its documentation says.

use std::future::poll_fn;
use std::hint::black_box;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{
    CancellableTimerEntry, QuadWheelWithOverflow,
};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant as TokioInstant;
use tokio_util::time::{DelayQueue, delay_queue};

use crate::peers::Peer;

/// `nexus-timer`: a wheel whose timers fire from whatever level they are on.
pub(crate) struct Nexus {
    wheel: nexus_timer::Wheel<u64>,
    epoch: Instant,
    fired: Vec<u64>,
}

impl Nexus {
    #[inline]
    fn at(&self, millis: u64) -> Instant {
        self.epoch + Duration::from_millis(millis)
    }
}

impl Peer for Nexus {
    type Key = nexus_timer::TimerHandle<u64>;

    const NAME: &'static str = "nexus-timer";
    const HOW: &'static str = "`poll_and_rebalance`, which its documentation recommends for a \
                               steady loop";

    fn new(n: usize) -> Self {
        let epoch = Instant::now();
        Self {
            wheel: nexus_timer::Wheel::unbounded(n.max(1024), epoch),
            epoch,
            fired: Vec::new(),
        }
    }

    #[inline]
    fn arm(&mut self, at: u64, id: u32) -> Self::Key {
        let at = self.at(at);
        self.wheel.schedule(at, u64::from(id))
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        black_box(self.wheel.cancel(key).expect("the timer is armed"));
    }

    #[inline]
    fn rearm(&mut self, key: Self::Key, at: u64, _id: u32) -> Self::Key {
        let at = self.at(at);
        self.wheel.reschedule(key, at)
    }

    /// The poll that its documentation recommends for a steady loop.
    fn advance(&mut self, to: u64) -> u64 {
        self.fired.clear();
        let now = self.at(to);
        let fired = self.wheel.poll_and_rebalance(now, &mut self.fired);
        for value in &self.fired {
            black_box(*value);
        }
        fired as u64
    }

    fn next(&self) -> Option<u64> {
        let next = self.wheel.next_deadline()?;
        let millis = next.saturating_duration_since(self.epoch).as_millis();
        Some(u64::try_from(millis).expect("no run takes that long"))
    }

    /// A handle must not be dropped; what a fired timer leaves behind goes with it.
    fn release(&mut self, key: Self::Key) {
        self.wheel.free(key);
    }
}

/// `tokio-util`'s `DelayQueue`, in a runtime whose clock is paused and moved by hand.
///
/// It fires by a timer of the runtime, so an advance has to let the runtime turn once.
pub(crate) struct Queue {
    queue: DelayQueue<u64>,
    runtime: Rc<Runtime>,
    epoch: TokioInstant,
    now: u64,
}

impl Queue {
    #[inline]
    fn at(&self, millis: u64) -> TokioInstant {
        self.epoch + Duration::from_millis(millis)
    }
}

impl Peer for Queue {
    type Key = delay_queue::Key;

    const NAME: &'static str = "DelayQueue";
    const HOW: &'static str = "unusual: in a runtime of its own whose clock is paused and moved by \
                               hand, and which has to turn once for every advance";

    fn new(n: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O asks nothing of the system");
        let (queue, epoch) =
            runtime.block_on(async { (DelayQueue::with_capacity(n), TokioInstant::now()) });
        Self {
            queue,
            runtime: Rc::new(runtime),
            epoch,
            now: 0,
        }
    }

    #[inline]
    fn arm(&mut self, at: u64, id: u32) -> Self::Key {
        let at = self.at(at);
        self.queue.insert_at(u64::from(id), at)
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        black_box(self.queue.remove(&key));
    }

    #[inline]
    fn rearm(&mut self, key: Self::Key, at: u64, _id: u32) -> Self::Key {
        let at = self.at(at);
        self.queue.reset_at(&key, at);
        key
    }

    /// Without the cooperative budget, which would end a poll early.
    fn advance(&mut self, to: u64) -> u64 {
        let step = Duration::from_millis(to - self.now);
        self.now = to;
        let queue = &mut self.queue;
        self.runtime.block_on(tokio::task::unconstrained(async {
            tokio::time::advance(step).await;
            let mut fired = 0;
            poll_fn(|context| {
                while let Poll::Ready(Some(expired)) = queue.poll_expired(context) {
                    black_box(expired.into_inner());
                    fired += 1;
                }
                Poll::Ready(fired)
            })
            .await
        }))
    }

    fn next(&self) -> Option<u64> {
        let next = self.queue.deadline(&self.queue.peek()?);
        let millis = next.duration_since(self.epoch).as_millis();
        Some(u64::try_from(millis).expect("no run takes that long"))
    }

    /// Arming may create the runtime's timer, which needs the runtime.
    fn within<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let runtime = Rc::clone(&self.runtime);
        let _entered = runtime.enter();
        work(self)
    }
}

/// `hierarchical_hash_wheel_timer`: four wheels of 256 slots, and a map to cancel by.
///
/// It is told delays, not deadlines. It cannot re-arm: that is cancel and insert, as its
/// documentation does it. What was cancelled stays in its slot until time gets there.
pub(crate) struct Hashed {
    wheel: QuadWheelWithOverflow<Numbered>,
    now: u64,
}

#[derive(Debug)]
pub(crate) struct Numbered {
    id: u64,
}

impl CancellableTimerEntry for Numbered {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.id
    }
}

impl Peer for Hashed {
    type Key = u64;

    const NAME: &'static str = "hierarchical_hash_wheel_timer";
    const HOW: &'static str = "the wheel with `cancel`; ticks that it says may be skipped are; \
                               re-arming cancels and inserts";

    fn new(_n: usize) -> Self {
        Self {
            wheel: QuadWheelWithOverflow::new(),
            now: 0,
        }
    }

    #[inline]
    fn arm(&mut self, at: u64, id: u32) -> u64 {
        let id = u64::from(id);
        let delay = Duration::from_millis(at - self.now);
        self.wheel
            .insert_ref_with_delay(Rc::new(Numbered { id }), delay)
            .expect("the deadline lies ahead");
        id
    }

    #[inline]
    fn cancel(&mut self, key: u64) {
        self.wheel.cancel(&key).expect("the timer is armed");
    }

    fn advance(&mut self, to: u64) -> u64 {
        let mut fired = 0;
        while self.now < to {
            let left = to - self.now;
            let skipped = match self.wheel.can_skip() {
                Skip::Empty => left,
                Skip::Millis(millis) => left.min(u64::from(millis)),
                Skip::None => 0,
            };
            if skipped > 0 {
                let millis = u32::try_from(skipped).expect("no advance is that long");
                self.wheel.skip(millis);
                self.now += skipped;
                continue;
            }
            for entry in self.wheel.tick() {
                black_box(entry.id);
                fired += 1;
            }
            self.now += 1;
        }
        fired
    }

    fn next(&self) -> Option<u64> {
        match self.wheel.can_skip() {
            Skip::Empty => None,
            Skip::Millis(millis) => Some(self.now + u64::from(millis) + 1),
            Skip::None => Some(self.now + 1),
        }
    }
}
