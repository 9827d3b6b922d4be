//! The search finds an order of what can have happened, and none of what cannot.

use tickwheel::{EndReason, Lost, RefusedCause};

use crate::kind::Model;
use crate::order::{Call, has_order};
use crate::race::{At, Timed};
use crate::{codes, leases, sessions, store};

/// Something that was done between two stamps, by somebody who may have read one of these times.
type Step<D> = (u64, u64, Times, D);

type Times = &'static [u64];

fn possible<M: Model<Did: Clone>>(steps: &[Step<M::Did>]) -> bool {
    let call = |(from, to, times, did): &Step<M::Did>| {
        let (times, did) = (times.to_vec(), did.clone());
        Call::new(*from, *to, At { times, did })
    };
    let calls: Vec<_> = steps.iter().map(call).collect();
    has_order(&Timed(M::default()), &calls)
}

/// Each history is possible, but for its last step.
fn only_the_last_step_is_refused<M: Model<Did: Clone>>(histories: &[(&str, Vec<Step<M::Did>>)]) {
    for (what, history) in histories {
        let all_but_the_last = &history[..history.len() - 1];
        assert!(possible::<M>(all_but_the_last), "{what}: refused too soon");
        assert!(!possible::<M>(history), "{what}: accepted");
    }
}

#[test]
fn sessions_that_cannot_have_been() {
    use sessions::{Did, Map, Updated};
    let first = (1, 0, 0);
    let start = |from, to| (from, to, &[0_u64][..], Did::Start(0, first, 0));
    let stale = |from, to, times: Times| (from, to, times, Did::Touch(0, Some(19)));
    let gone = |from, to, times: Times| (from, to, times, Did::Get(0, None));
    let there = |from, to, times: Times| (from, to, times, Did::Peek(0, Some(first)));
    let update = |from, to, seen, to_version| {
        let did = Did::Update(0, seen, 7, Updated::To(to_version));
        (from, to, &[0_u64][..], did)
    };
    let told = |reason, deadline| {
        let ends = [vec![(1, 0, reason, deadline)], vec![]];
        (8, 9, &[10_u64][..], Did::Told(ends))
    };
    // A touch that has read the clock before the end may take effect after others have read it again.
    assert!(possible::<Map>(&[
        start(0, 1),
        stale(2, 7, &[9, 12]),
        there(3, 4, &[12]),
        there(5, 6, &[12]),
    ]));
    only_the_last_step_is_refused::<Map>(&[
        ("gone, though it lives", vec![start(0, 1), gone(2, 3, &[9])]),
        (
            "there, though its time is over",
            vec![start(0, 1), there(2, 3, &[10])],
        ),
        (
            "touched by one, and gone for another meanwhile",
            vec![start(0, 1), stale(2, 7, &[9, 12]), gone(3, 4, &[12])],
        ),
        (
            "updated twice from one version",
            vec![start(0, 1), update(2, 5, first, 1), update(3, 4, first, 1)],
        ),
        (
            "absent while it is replaced",
            vec![
                start(0, 1),
                (2, 5, &[0], Did::Start(0, (2, 0, 1), 0)),
                gone(3, 4, &[0]),
            ],
        ),
        (
            "two of one generation",
            vec![start(0, 1), (2, 3, &[10], Did::Start(0, (1, 0, 1), 10))],
        ),
        (
            "another reason",
            vec![start(0, 1), told(EndReason::Removed, 10)],
        ),
        (
            "another deadline",
            vec![start(0, 1), told(EndReason::Idle, 11)],
        ),
        (
            "not told",
            vec![start(0, 1), (2, 3, &[10], Did::Told([vec![], vec![]]))],
        ),
    ]);
    assert!(possible::<Map>(&[start(0, 1), told(EndReason::Idle, 10)]));
}

#[test]
fn stores_that_cannot_have_been() {
    use store::{Did, List};
    let create = |from, to| (from, to, &[0_u64][..], Did::Create(0, 1, 5, 0));
    let cycle = |from, to, fresh| (from, to, &[1_u64][..], Did::Cycle(0, Some(fresh)));
    let get = |from, to, times: Times, id, value| (from, to, times, Did::Get(id, value));
    let revoke_all = |from, to, count| (from, to, &[1_u64][..], Did::RevokeAll(count));
    assert!(possible::<List>(&[
        create(0, 1),
        cycle(2, 3, 1),
        get(4, 5, &[4], 0, Some(5)), // within the grace
        get(6, 7, &[5], 0, None),
        get(6, 7, &[5], 1, Some(5)),
        revoke_all(8, 9, 1),
        get(10, 11, &[5], 1, None),
    ]));
    only_the_last_step_is_refused::<List>(&[
        (
            "two cycle one id",
            vec![create(0, 1), cycle(2, 5, 1), cycle(3, 4, 2)],
        ),
        (
            "the old id after its grace",
            vec![create(0, 1), cycle(2, 3, 1), get(4, 5, &[5], 0, Some(5))],
        ),
        (
            "no id leads to it",
            vec![create(0, 1), cycle(2, 3, 1), get(4, 5, &[1], 1, None)],
        ),
        (
            "seen after all were revoked",
            vec![
                create(0, 1),
                revoke_all(2, 3, 1),
                get(4, 5, &[1], 0, Some(5)),
            ],
        ),
        (
            "ended twice",
            vec![create(0, 1), revoke_all(2, 5, 1), revoke_all(3, 4, 1)],
        ),
        (
            "missed by who ends all",
            vec![create(0, 1), revoke_all(2, 3, 0)],
        ),
    ]);
}

#[test]
fn leases_that_cannot_have_been() {
    use leases::{Cell, Did};
    let acquired = |from, to, times: Times, token| {
        let did = Did::Acquired(token, times[0] + 10);
        (from, to, times, did)
    };
    let renewed = |from, to, times: Times, until| (from, to, times, Did::Renew(1, until));
    let release = |from, to, released| (from, to, &[5_u64][..], Did::Release(1, released));
    let lost = Err(Lost::Expired);
    assert!(possible::<Cell>(&[
        acquired(0, 1, &[0], 1),
        renewed(2, 5, &[9, 14], Ok(19)),
        (3, 4, &[14], Did::Held(1, 19)),
        (6, 7, &[19], Did::Delayed(22)),
        acquired(8, 9, &[22], 2),
        renewed(10, 11, &[22], lost),
    ]));
    only_the_last_step_is_refused::<Cell>(&[
        (
            "two holders",
            vec![acquired(0, 1, &[0], 1), acquired(2, 3, &[9], 2)],
        ),
        (
            "before the delay is over",
            vec![acquired(0, 1, &[0], 1), acquired(2, 3, &[12], 2)],
        ),
        (
            "one token twice",
            vec![
                acquired(0, 1, &[0], 1),
                release(2, 3, Ok(())),
                acquired(4, 5, &[5], 1),
            ],
        ),
        (
            "lost for good, and renewed",
            vec![
                acquired(0, 1, &[0], 1),
                renewed(2, 3, &[10], lost),
                renewed(4, 5, &[10], Ok(20)),
            ],
        ),
        (
            "renewed by one, and lost by another meanwhile",
            vec![
                acquired(0, 1, &[0], 1),
                renewed(2, 7, &[9, 12], Ok(19)),
                renewed(3, 4, &[12], lost),
            ],
        ),
        (
            "renewed beyond the longest hold",
            vec![
                acquired(0, 1, &[0], 1),
                renewed(2, 3, &[9], Ok(19)),
                renewed(4, 5, &[18], Ok(28)),
            ],
        ),
        (
            "released as what was revoked",
            vec![
                acquired(0, 1, &[0], 1),
                (2, 3, &[5], Did::Revoke(Some(1))),
                release(4, 5, Ok(())),
            ],
        ),
        (
            "another end is told",
            vec![
                acquired(0, 1, &[0], 1),
                release(2, 3, Ok(())),
                (4, 5, &[5], Did::Told(vec![(1, EndReason::Revoked, 10)])),
            ],
        ),
    ]);
}

#[test]
fn codes_that_cannot_have_been() {
    use codes::{Cell, Did};
    let issued = |from, to, generation| (from, to, &[0_u64][..], Did::Issued(generation, 10));
    let verify = |from, to, times: Times, right: bool, answer| {
        let (code, nonce) = (right.then_some(0), None);
        let did = Did::Verify {
            code,
            nonce,
            answer,
        };
        (from, to, times, did)
    };
    let mismatch = |left| Err(RefusedCause::Mismatch { left });
    let consumed = Err(RefusedCause::Ended(EndReason::Consumed));
    assert!(possible::<Cell>(&[
        issued(0, 1, 0),
        verify(2, 3, &[9], false, mismatch(1)),
        verify(4, 7, &[9], true, Ok(())),
        verify(5, 6, &[9, 10], true, consumed),
    ]));
    only_the_last_step_is_refused::<Cell>(&[
        (
            "accepted twice",
            vec![
                issued(0, 1, 0),
                verify(2, 5, &[1], true, Ok(())),
                verify(3, 4, &[1], true, Ok(())),
            ],
        ),
        (
            "accepted at its deadline",
            vec![issued(0, 1, 0), verify(2, 3, &[10], true, Ok(()))],
        ),
        (
            "a wrong answer is accepted",
            vec![issued(0, 1, 0), verify(2, 3, &[1], false, Ok(()))],
        ),
        (
            "two are charged as one",
            vec![
                issued(0, 1, 0),
                verify(2, 5, &[1], false, mismatch(1)),
                verify(3, 4, &[1], false, mismatch(1)),
            ],
        ),
        (
            "accepted after too many",
            vec![
                issued(0, 1, 0),
                verify(2, 3, &[1], false, mismatch(1)),
                verify(2, 3, &[1], false, mismatch(0)),
                verify(4, 5, &[1], true, Ok(())),
            ],
        ),
        (
            "issued within the cooldown",
            vec![
                issued(0, 1, 0),
                (2, 3, &[1], Did::Cancel(Some(0))),
                (4, 5, &[2], Did::Issued(1, 12)),
            ],
        ),
        (
            "cancelled and accepted",
            vec![
                issued(0, 1, 0),
                (2, 5, &[1], Did::Cancel(Some(0))),
                verify(3, 4, &[1], true, Ok(())),
            ],
        ),
        (
            "one end is told twice",
            vec![
                issued(0, 1, 0),
                (
                    2,
                    3,
                    &[1],
                    Did::Told(vec![
                        (0, EndReason::Shutdown, 10),
                        (0, EndReason::Shutdown, 10),
                    ]),
                ),
            ],
        ),
    ]);
}
