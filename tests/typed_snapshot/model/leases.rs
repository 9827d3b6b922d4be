//! Leases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tickwheel::{EndReason, FencingToken, Leases};

use super::{Time, left, restart, time};
use crate::{Machine, secs, stored};

#[derive(Clone, Debug)]
enum Step {
    Acquire(u8, u64),
    Renew(u8),
    Release(u8),
    Revoke(u8),
    Time(Time),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8, 1..60u64).prop_map(|(resource, ttl)| Step::Acquire(resource, ttl)),
        2 => (0..4u8).prop_map(Step::Renew),
        1 => (0..4u8).prop_map(Step::Release),
        1 => (0..4u8).prop_map(Step::Revoke),
        4 => time().prop_map(Step::Time),
    ]
}

/// The token, how it has ended.
type Ends = Arc<Mutex<Vec<(u64, EndReason)>>>;

fn start(machine: &Machine, ends: &Ends) -> Leases<u8, u64> {
    let ends = Arc::clone(ends);
    Leases::builder()
        .max_hold(secs(100))
        .on_end(move |ended| ends.lock().unwrap().push((ended.generation, ended.reason)))
        .build(&machine.timers)
}

/// A lease, as the map has it.
struct Held {
    deadline: u64,
    ttl: u64,
    cap: u64,
    token: u64,
}

proptest! {
    #[test]
    fn leases_do_what_a_map_does(steps in prop::collection::vec(step(), 0..40)) {
        let ends = Ends::default();
        let mut machine = Machine::noon();
        let mut leases = start(&machine, &ends);
        let (mut now, mut held, mut expected) = (0, BTreeMap::<u8, Held>::new(), Vec::new());
        let mut largest = 0;
        for step in steps {
            match step {
                Step::Acquire(resource, ttl) => {
                    let grant = leases.try_acquire(resource, ttl, secs(ttl));
                    prop_assert_eq!(grant.is_ok(), !held.contains_key(&resource));
                    if let Ok(grant) = grant {
                        let token = grant.token().get();
                        prop_assert!(token > largest, "{} after {}", token, largest);
                        largest = token;
                        let (deadline, cap) = (now + ttl, now + 100);
                        held.insert(resource, Held { deadline, ttl, cap, token });
                    }
                }
                Step::Renew(resource) => {
                    let token = held.get(&resource).map_or(largest, |held| held.token);
                    let grant = leases.resume(&resource, FencingToken::new(token));
                    prop_assert_eq!(grant.is_some(), held.contains_key(&resource));
                    if let (Some(grant), Some(held)) = (grant, held.get_mut(&resource)) {
                        prop_assert_eq!(*grant.holder(), held.ttl);
                        leases.renew(&grant).unwrap();
                        held.deadline = held.deadline.max((now + held.ttl).min(held.cap));
                    }
                }
                Step::Release(resource) => {
                    if let Some(held) = held.remove(&resource) {
                        let grant = leases.resume(&resource, FencingToken::new(held.token));
                        prop_assert_eq!(leases.release(&grant.unwrap()), Ok(()));
                        expected.push((held.token, EndReason::Released));
                    }
                }
                Step::Revoke(resource) => {
                    let token = held.remove(&resource).map(|held| held.token);
                    prop_assert_eq!(leases.revoke(&resource), token.map(FencingToken::new));
                    expected.extend(token.map(|token| (token, EndReason::Revoked)));
                }
                Step::Time(Time::Pass(span)) => {
                    machine.pass(secs(span));
                    now += span;
                }
                Step::Time(Time::Restart { down, behind, margin, keeps_remaining }) => {
                    let snapshot = stored(&leases.snapshot_at(machine.anchor));
                    drop(leases);
                    // What was held is told of as shut down, by the old process, and is not over.
                    ends.lock().unwrap().retain(|(_, reason)| *reason != EndReason::Shutdown);
                    let (next, options, elapsed) =
                        restart(&machine, down, behind, margin, keeps_remaining);
                    machine = next;
                    leases = start(&machine, &ends);
                    let report = leases.restore(snapshot, options).unwrap();
                    now += elapsed;
                    prop_assert_eq!(report.restored + report.expired, held.len());
                }
            }
            held.retain(|_, held| {
                if held.deadline <= now {
                    expected.push((held.token, EndReason::Absolute));
                }
                held.deadline > now
            });
            for resource in 0..4u8 {
                let lives = held.get(&resource).and_then(|held| left(now, held.deadline));
                prop_assert_eq!(leases.time_to_live(&resource), lives);
            }
            let mut told = ends.lock().unwrap().clone();
            told.sort_by_key(|(token, _)| *token);
            expected.sort_by_key(|(token, _)| *token);
            prop_assert_eq!(&told, &expected);
        }
    }
}
