//! What happened, with stamps that say what came before what, and whether it was right.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use tickwheel::Tick;

/// A counter that orders events of all threads as they really happened.
///
/// Relaxed, between fences: no event happens before another one *because* of it, as far as
/// the language and a sanitizer are concerned.
#[derive(Debug, Default)]
pub(crate) struct Stamps(AtomicU64);

impl Stamps {
    pub(crate) fn next(&self) -> u64 {
        fence(Ordering::SeqCst);
        let stamp = self.0.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        stamp
    }
}

/// What one thread did to one timer, or saw of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) timer: usize,
    pub(crate) what: What,
    /// Before the call, and after it. Of a callback: when it began, twice.
    pub(crate) from: u64,
    pub(crate) to: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// Armed or re-armed: from now on it has this deadline.
    Due(Tick),
    /// Fired at a tick, for a deadline.
    Fired {
        at: Tick,
        deadline: Tick,
    },
    Cancelled,
    /// A cancel or a re-arm was refused: it has fired.
    Refused,
    /// A cancel met the callback.
    Running,
    /// Found by the drain at the end.
    Left {
        deadline: Tick,
    },
}

/// An advance that fired everything due by its tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    pub(crate) tick: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// How often each outcome occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Account {
    pub(crate) armed: usize,
    pub(crate) fired: usize,
    pub(crate) cancelled: usize,
    pub(crate) left: usize,
}

pub(crate) struct History {
    advances: Vec<Advance>,
    events: HashMap<usize, Vec<Event>>,
}

impl History {
    pub(crate) fn new(mut advances: Vec<Advance>, events: impl Iterator<Item = Event>) -> Self {
        advances.sort_unstable_by_key(|advance| advance.from);
        let mut by_timer: HashMap<usize, Vec<Event>> = HashMap::new();
        for event in events {
            by_timer.entry(event.timer).or_default().push(event);
        }
        Self {
            advances,
            events: by_timer,
        }
    }

    /// Checks the life of every timer, each of which had one owner at a time.
    pub(crate) fn check(&mut self) -> Account {
        let mut account = Account::default();
        for (timer, mut events) in std::mem::take(&mut self.events) {
            events.sort_unstable_by_key(|event| match event.what {
                What::Due(_) | What::Fired { .. } | What::Left { .. } => event.from,
                // What the callback armed again meanwhile came before.
                What::Cancelled => event.to,
                // The firing came before, though its callback may have begun later.
                What::Refused | What::Running => u64::MAX,
            });
            let wrong = self.follow(&events, &mut account).err();
            assert!(wrong.is_none(), "timer {timer}: {wrong:?}; {events:#?}");
        }
        account
    }

    fn follow(&self, events: &[Event], account: &mut Account) -> Result<(), String> {
        account.armed += 1;
        // The deadline that counts, and when it began to.
        let mut armed: Option<(Tick, u64)> = None;
        let mut ended = false;
        for event in events {
            let in_time = |(deadline, since): (Tick, u64)| match self.due(deadline, since) {
                Some(due) if due.to < event.from => Err(format!("due by {due:?}: {event:?}")),
                Some(_) | None => Ok(deadline),
            };
            match event.what {
                What::Due(deadline) if !ended => {
                    armed.map(in_time).transpose()?;
                    armed = Some((deadline, event.to));
                }
                What::Fired { at, deadline } if !ended => {
                    let last = in_time(armed.take().ok_or("fired, but was not armed")?)?;
                    if at < deadline || deadline != last {
                        return Err(format!("early, or not for {last:?}: {event:?}"));
                    }
                }
                What::Cancelled if !ended => {
                    in_time(armed.take().ok_or("cancelled, but was not armed")?)?;
                    account.cancelled += 1;
                    ended = true;
                }
                What::Left { deadline } if !ended => {
                    let last = in_time(armed.take().ok_or("left, but was not armed")?)?;
                    if deadline != last {
                        return Err(format!("not left with {last:?}: {event:?}"));
                    }
                    account.left += 1;
                    ended = true;
                }
                What::Refused | What::Running => {
                    let after = |other: &&Event| other.from > event.to;
                    let armed = |other: &Event| matches!(other.what, What::Due(_));
                    if ended || events.iter().filter(after).any(armed) {
                        return Err(format!("did not fire, or was armed again: {event:?}"));
                    }
                }
                What::Due(_) | What::Fired { .. } | What::Cancelled | What::Left { .. } => {
                    return Err(format!("over, but {event:?}"));
                }
            }
        }
        account.fired += usize::from(!ended);
        match armed {
            Some(lost) => Err(format!("armed for {lost:?}, and lost")),
            None => Ok(()),
        }
    }

    /// The first advance that had to fire a timer armed `since` then for `deadline`.
    fn due(&self, deadline: Tick, since: u64) -> Option<&Advance> {
        let after = self
            .advances
            .partition_point(|advance| advance.from <= since);
        let mut later = self.advances[after..].iter();
        later.find(|advance| !deadline.is_never() && advance.tick >= deadline.get())
    }
}
