//! What callbacks do in the middle of an advance.

use tickwheel::{Cancel, Expired, SharedTurn, Tick, Ticks, TimerKey};

use crate::door::Door;
use crate::model::Model;
use crate::program::{Act, Deed};

impl<'w, const BITS: u32> Model<'w, BITS> {
    /// A timer fires: the oracle agrees, and the callback does its deed. Says at which tick.
    pub(crate) fn fires(
        &mut self,
        turn: &mut SharedTurn<'_, u64, BITS>,
        expired: Expired<u64>,
        (begun, target): (u64, u64),
        act: Option<&Act>,
    ) -> u64 {
        let tick = turn.now();
        self.oracle.fires(tick.get(), begun, target, &expired);
        let timer = self.oracle.timers.remove(&expired.value).unwrap();
        let wheel = self.wheel;
        assert_eq!(wheel.now(), tick, "the wheel is not where its turn is");
        let len = (wheel.len(), turn.wheel().len());
        assert_eq!(len.0, self.oracle.timers.len(), "length in a callback");
        assert_eq!(len.0, len.1, "the turn is of another wheel");
        let running = (wheel.contains(timer.key), wheel.deadline(timer.key));
        assert_eq!(running, (false, None), "{} is not armed", expired.value);
        let key = timer.key;
        match act {
            Some(act) => self.act(turn, expired, act),
            None => drop(expired),
        }
        if !self.oracle.timers.values().any(|timer| timer.key == key) {
            self.oracle.stale.push(key);
        }
        tick.get()
    }

    fn act(&mut self, turn: &mut SharedTurn<'_, u64, BITS>, expired: Expired<u64>, act: &Act) {
        let now = turn.now();
        let at = |after: u64| now + Ticks::new(after);
        let past = |before: u64| Tick::new(now.get().saturating_sub(before));
        let key = expired.key;
        match act.deed {
            Deed::Nothing => {}
            Deed::Arm { after, tolerance } => {
                self.arm_within(turn, act.door, at(after), Ticks::new(tolerance));
            }
            Deed::ArmPast { before } => {
                self.arm_within(turn, act.door, past(before), Ticks::ZERO);
            }
            Deed::Cancel { which } => self.cancel_within(turn, act.door, which),
            Deed::Rearm { which, after } => self.rearm_within(turn, act.door, which, at(after)),
            Deed::RearmPast { which } => {
                self.rearm_within(turn, act.door, which, past(which as u64));
            }
            Deed::Disarm { which } => self.disarm_within(turn, act.door, which),
            Deed::Again { after } => self.again(turn, expired, at(after)),
            Deed::AgainPast { before } => self.again(turn, expired, past(before)),
            Deed::AgainAndCancel { after } => {
                let value = expired.value;
                self.again(turn, expired, at(after));
                let answer = self.door_within(turn, act.door).cancel(key);
                assert_eq!(
                    answer,
                    Cancel::Cancelled(value),
                    "armed again, and cancelled"
                );
                self.oracle.gone(value);
            }
            Deed::CancelItself { after } => self.revoke(turn, act.door, expired, at(after)),
            Deed::Advance { by } => {
                let target = at(by);
                let inner = self.wheel.advance(target, |_, _| panic!("fires within"));
                assert!(inner.is_err(), "an advance within an advance: {inner:?}");
                let inner = turn
                    .wheel()
                    .advance_bounded(target, 1, |_, _| panic!("too"));
                assert!(inner.is_err(), "a bounded one within an advance: {inner:?}");
            }
            Deed::Clear => {
                turn.wheel().clear();
                self.oracle.all_gone();
            }
        }
    }

    fn door_within<'a, 't>(
        &'a mut self,
        turn: &'a mut SharedTurn<'t, u64, BITS>,
        door: usize,
    ) -> Door<'a, 'w, 't, BITS> {
        match door {
            0 => Door::Turn(turn),
            _ => self.door(door - 1),
        }
    }

    fn arm_within(
        &mut self,
        turn: &mut SharedTurn<'_, u64, BITS>,
        door: usize,
        deadline: Tick,
        tolerance: Ticks,
    ) {
        let (value, now) = (self.oracle.next_value(), turn.now());
        let key = self.door_within(turn, door).arm(deadline, tolerance, value);
        self.oracle.armed(value, key, deadline, tolerance, now);
    }

    fn key_of(&self, which: usize) -> Option<(u64, TimerKey)> {
        let value = self.oracle.pick(which)?;
        Some((value, self.oracle.timers[&value].key))
    }

    fn cancel_within(&mut self, turn: &mut SharedTurn<'_, u64, BITS>, door: usize, which: usize) {
        let Some((value, key)) = self.key_of(which) else {
            return;
        };
        let answer = self.door_within(turn, door).cancel(key);
        assert_eq!(answer, Cancel::Cancelled(value), "cancel in a callback");
        self.oracle.gone(value);
    }

    fn rearm_within(
        &mut self,
        turn: &mut SharedTurn<'_, u64, BITS>,
        door: usize,
        which: usize,
        deadline: Tick,
    ) {
        let Some((value, key)) = self.key_of(which) else {
            return;
        };
        let answer = self.door_within(turn, door).rearm(key, deadline);
        assert_eq!(answer, Ok(()), "re-arm of live {value} in a callback");
        self.oracle.moved(value, deadline, turn.now());
    }

    fn disarm_within(&mut self, turn: &mut SharedTurn<'_, u64, BITS>, door: usize, which: usize) {
        let Some((value, key)) = self.key_of(which) else {
            return;
        };
        let answer = self.door_within(turn, door).disarm(key);
        assert_eq!(answer, Ok(()), "disarm of live {value} in a callback");
        self.oracle.moved(value, Tick::NEVER, turn.now());
    }

    /// Arms the timer that fires again: same key, same tolerance.
    fn again(
        &mut self,
        turn: &mut SharedTurn<'_, u64, BITS>,
        expired: Expired<u64>,
        deadline: Tick,
    ) {
        let (value, key, tolerance) = (expired.value, expired.key, expired.tolerance);
        let again = turn.rearm_expired(expired, deadline);
        let same = again.expect("nobody cancelled it");
        assert_eq!(same, key, "{value} was armed again under another key");
        let now = turn.now();
        self.oracle.armed(value, key, deadline, tolerance, now);
    }

    /// Cancels the timer that fires: it runs, and cannot be armed again.
    fn revoke(
        &mut self,
        turn: &mut SharedTurn<'_, u64, BITS>,
        door: usize,
        expired: Expired<u64>,
        deadline: Tick,
    ) {
        let (key, value) = (expired.key, expired.value);
        let answer = match value % 3 {
            0 => self.wheel.cancel_wait(key),
            _ => self.door_within(turn, door).cancel(key),
        };
        assert_eq!(answer, Cancel::Running, "cancel from its own callback");
        let revoked = turn.rearm_expired(expired, deadline);
        let back = revoked.expect_err("it was cancelled").expired;
        assert_eq!((back.key, back.value), (key, value), "another came back");
    }
}
