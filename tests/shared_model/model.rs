//! The shared wheel beside the oracle: every step is done to both.

use tickwheel::{Cancel, Local, Progress, SharedTurn, SharedWheel, Tick, Ticks, TimerKey};

use crate::door::Door;
use crate::oracle::Oracle;
use crate::plain::Op;
use crate::program::{Act, Step, What};

pub(crate) struct Model<'w, const BITS: u32> {
    pub(crate) wheel: &'w SharedWheel<u64, BITS>,
    pub(crate) locals: [Option<Local<'w, u64, BITS>>; 2],
    pub(crate) oracle: Oracle,
    /// A key of another wheel.
    foreign: TimerKey,
}

impl<'w, const BITS: u32> Model<'w, BITS> {
    pub(crate) fn new(wheel: &'w SharedWheel<u64, BITS>) -> Self {
        let other = SharedWheel::<u64, BITS>::builder().shards(1).build();
        let mut model = Self {
            wheel,
            locals: [None, None],
            oracle: Oracle::new(),
            foreign: other.arm(Tick::ZERO, 0),
        };
        model.arm_the_far_one();
        model
    }

    fn arm_the_far_one(&mut self) {
        self.arm(0, Tick::new(u64::MAX - 1), Ticks::ZERO);
    }

    /// The wheel, or one of the locals, made when it is first used.
    pub(crate) fn door<'a, 't>(&'a mut self, door: usize) -> Door<'a, 'w, 't, BITS> {
        let wheel = self.wheel;
        match door {
            0 => Door::Wheel(wheel),
            _ => Door::Local(self.locals[door - 1].get_or_insert_with(|| wheel.local())),
        }
    }

    fn arm(&mut self, door: usize, deadline: Tick, tolerance: Ticks) {
        let value = self.oracle.next_value();
        let key = self.door(door).arm(deadline, tolerance, value);
        let now = self.wheel.now();
        self.oracle.armed(value, key, deadline, tolerance, now);
    }

    fn rearm(&mut self, door: usize, value: Option<u64>, deadline: Tick) {
        let Some(value) = value else { return };
        let key = self.oracle.timers[&value].key;
        let answer = self.door(door).rearm(key, deadline);
        assert_eq!(answer, Ok(()), "re-arm of live {value} for {deadline:?}");
        self.oracle.moved(value, deadline, self.wheel.now());
    }

    fn disarm(&mut self, door: usize, which: usize) {
        let Some(value) = self.oracle.pick(which) else {
            return;
        };
        let key = self.oracle.timers[&value].key;
        assert_eq!(
            self.door(door).disarm(key),
            Ok(()),
            "disarm of live {value}"
        );
        self.oracle.moved(value, Tick::NEVER, self.wheel.now());
    }

    fn cancel(&mut self, door: usize, which: usize) {
        let Some(value) = self.oracle.pick(which) else {
            return;
        };
        let key = self.oracle.gone(value).key;
        let answer = match which % 5 {
            0 => self.wheel.cancel_wait(key),
            _ => self.door(door).cancel(key),
        };
        assert_eq!(answer, Cancel::Cancelled(value), "cancel of a live timer");
    }

    /// One call of `advance`, or of its bounded form. Says whether it is done.
    fn call(&mut self, target: u64, budget: Option<usize>, acts: &[Act]) -> bool {
        let (wheel, begun) = (self.wheel, self.wheel.now().get());
        self.oracle.begin(budget.is_some());
        let (mut fired, mut acts) = (0, acts.iter());
        let mut last = begun;
        let fire = |turn: &mut SharedTurn<'_, u64, BITS>, expired| {
            fired += 1;
            let tick = self.fires(turn, expired, (begun, target), acts.next());
            assert!(tick >= last, "fired at {tick} after {last}");
            last = tick;
        };
        let progress = match budget {
            Some(budget) => wheel.advance_bounded(Tick::new(target), budget, fire),
            None => wheel
                .advance(Tick::new(target), fire)
                .map(|fired| Progress::Done { fired }),
        };
        let progress = progress.expect("nobody else advances");
        assert_eq!(progress.fired(), fired, "wrong count");
        self.ends(progress, begun, target, last, budget);
        progress.is_done()
    }

    /// What must hold after a call.
    fn ends(
        &mut self,
        progress: Progress,
        begun: u64,
        target: u64,
        last: u64,
        budget: Option<usize>,
    ) {
        let (done, fired, now) = (progress.is_done(), progress.fired(), self.wheel.now().get());
        let most = budget.map_or(usize::MAX, |budget| budget.max(1));
        assert!(fired <= most, "{fired} fired on a budget of {most}");
        self.oracle.end(done, target);
        let next = self.wheel.next_deadline().map(Tick::get);
        if !done {
            let cursor = last..=target.max(begun);
            assert!(cursor.contains(&now), "at {now}, not in {cursor:?}");
            return;
        }
        assert_eq!(now, target.max(begun), "time after an advance to {target}");
        assert!(
            self.oracle.may_wait() || next.is_none_or(|next| next > now),
            "after an advance to {target} the next deadline is {next:?}"
        );
    }

    fn advance(&mut self, target: u64) {
        self.call(target, None, &[]);
    }

    fn advance_bounded(&mut self, target: u64, budget: usize) {
        for calls in 0.. {
            if self.call(target, Some(budget), &[]) {
                return;
            }
            self.wheel.check();
            assert!(calls < 100_000, "no end after {calls} calls");
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let (now, door) = (self.wheel.now(), step.door);
        let target = |by: u64| now.get().saturating_add(by);
        match step.what {
            What::Plain(ref op) => self.plain(op, door),
            What::ArmFar { after, tolerance } => {
                self.arm(door, now + Ticks::new(after), Ticks::new(tolerance));
            }
            What::RearmFar { which, after } => {
                self.rearm(door, self.oracle.pick(which), now + Ticks::new(after));
            }
            What::Burst {
                count,
                after,
                apart,
            } => {
                for nth in 0..count {
                    let after = Ticks::new(after) + Ticks::new(nth * apart);
                    self.arm(door, now + after, Ticks::ZERO);
                }
            }
            What::Disarm { which } => self.disarm(door, which),
            What::Revive { which, after } => {
                self.rearm(door, self.oracle.pick_held(which), now + Ticks::new(after));
            }
            What::Advance { by, ref acts } => {
                self.call(target(by), None, acts);
            }
            What::Bounded {
                by,
                budget,
                ref acts,
            } => {
                self.call(target(by), Some(budget), acts);
            }
            What::CloseLocal { which } => self.locals[which % 2] = None,
            What::Drain => self.drain(),
        }
    }

    fn plain(&mut self, op: &Op, door: usize) {
        let now = self.wheel.now();
        match *op {
            Op::Arm { after, tolerance } => {
                self.arm(door, now + Ticks::new(after), Ticks::new(tolerance));
            }
            Op::ArmLike { which } => {
                let like = self.oracle.pick(which);
                let deadline = like.map_or(now, |value| self.oracle.timers[&value].deadline);
                self.arm(door, deadline, Ticks::ZERO);
            }
            Op::ArmPast { before } => {
                self.arm(
                    door,
                    Tick::new(now.get().saturating_sub(before)),
                    Ticks::ZERO,
                );
            }
            Op::ArmNever => self.arm(door, Tick::NEVER, Ticks::ZERO),
            Op::Cancel { which } => self.cancel(door, which),
            Op::Rearm { which, after } => {
                self.rearm(door, self.oracle.pick(which), now + Ticks::new(after));
            }
            Op::RearmNever { which } => self.rearm(door, self.oracle.pick(which), Tick::NEVER),
            Op::RearmPast { which } => {
                self.rearm(door, self.oracle.pick(which), Tick::new(now.get() / 2));
            }
            Op::Touch { which } => {
                let value = self.oracle.pick(which);
                let deadline = value.map_or(now, |value| self.oracle.timers[&value].deadline);
                self.rearm(door, value, deadline + Ticks::new(1 + which as u64 % 300));
            }
            Op::Advance { by } | Op::Poll { by } => self.advance(now.get().saturating_add(by)),
            Op::AdvanceBounded { by, budget } => {
                self.advance_bounded(now.get().saturating_add(by), budget);
            }
            Op::AdvanceToNext | Op::AdvanceToWork => {
                if let Some(next) = self.wheel.next_deadline() {
                    self.advance(next.get());
                }
            }
            Op::Shrink => self.locals = [None, None],
            Op::Clear => {
                self.wheel.clear();
                self.oracle.all_gone();
                self.arm_the_far_one();
            }
        }
    }

    fn drain(&mut self) {
        let mut drained: Vec<_> = self.wheel.drain().collect();
        drained.sort_unstable_by_key(|(.., value)| *value);
        let timers = self.oracle.timers.iter();
        let held: Vec<_> = timers
            .map(|(value, timer)| (timer.key, timer.deadline, *value))
            .collect();
        assert_eq!(drained, held, "drained the first, held the second");
        self.oracle.all_gone();
        self.arm_the_far_one();
    }

    /// Compares everything that can be asked.
    pub(crate) fn compare(&mut self) {
        self.wheel.check();
        let (wheel, oracle) = (self.wheel, &self.oracle);
        let len = oracle.timers.len();
        assert_eq!((wheel.len(), wheel.is_empty()), (len, len == 0), "length");
        for (value, timer) in &oracle.timers {
            let asked = (wheel.contains(timer.key), wheel.deadline(timer.key));
            assert_eq!(asked, (true, Some(timer.deadline)), "of {value}: {timer:?}");
        }
        let (now, next) = (wheel.now().get(), wheel.next_deadline());
        match (next, oracle.earliest()) {
            (None, earliest) => assert_eq!(earliest, None, "waits for nothing"),
            (Some(next), None) => assert!(next.get() >= now, "next deadline {next:?}"),
            (Some(next), Some(earliest)) => {
                let bound = now..=earliest.max(now);
                assert!(
                    bound.contains(&next.get()),
                    "{next:?}, due {earliest} at {now}"
                );
            }
        }
        let stale: Vec<_> = oracle.stale.iter().rev().take(8).copied().collect();
        for key in stale.into_iter().chain([self.foreign]) {
            self.refuses(key);
        }
    }

    /// A key that is stale is refused by every verb.
    fn refuses(&mut self, key: TimerKey) {
        let wheel = self.wheel;
        assert!(!wheel.contains(key), "a stale key is contained");
        assert_eq!(wheel.deadline(key), None, "deadline of a stale key");
        assert_eq!(wheel.cancel_wait(key), Cancel::Stale, "waiting cancel");
        for door in 0..3 {
            let mut door = self.door(door);
            assert_eq!(door.cancel(key), Cancel::Stale, "a stale key cancels");
            assert!(door.rearm(key, Tick::ZERO).is_err(), "a stale key re-arms");
            assert!(door.disarm(key).is_err(), "a stale key disarms");
        }
    }

    /// Fires everything there is by following `next_deadline`: the bound must converge.
    pub(crate) fn finish(mut self) {
        let levels = 64u64.div_ceil(u64::from(BITS));
        let most = 2 * (levels + 1) * (self.oracle.moves + 1);
        let mut wakes = 0;
        while let Some(next) = self.wheel.next_deadline() {
            self.advance(next.get());
            wakes += 1;
            assert!(wakes <= most, "{wakes} wakes for what should need {most}");
        }
        self.compare();
        let left: Vec<_> = self.wheel.drain().map(|(.., value)| value).collect();
        let held = self.oracle.timers.values();
        assert_eq!(left.len(), held.len(), "drained {left:?}");
        assert!(
            held.clone().all(|timer| timer.deadline.is_never()),
            "left: {:?}",
            self.oracle.timers
        );
        self.wheel.check();
    }
}
