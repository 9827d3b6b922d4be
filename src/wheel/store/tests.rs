//! What the storage promises about entries and their generations.

use super::*;

#[test]
fn an_entry_with_a_word_of_payload_is_half_a_cache_line() {
    assert_eq!(size_of::<Entry<u64>>(), 32);
}

#[test]
fn an_entry_whose_generations_run_out_is_not_used_again() {
    let mut store = Store::new(0);
    store.floor = Generation::MAX;
    let (first, last_generation, _) = store.insert(3, 10, 'a');
    assert_eq!(last_generation, Generation::MAX);
    assert_eq!(
        store
            .cancel(first, last_generation)
            .map(|(due, value, _)| (due, value)),
        Some((10, 'a'))
    );
    store.flush(|_| {});
    store.check(None, |_, _, _| {});
    let (second, ..) = store.insert(3, 10, 'b');
    assert_ne!(
        first, second,
        "an index was used again under a generation it has had"
    );
    assert!(store.get(first, last_generation).is_none());
    store.check(None, |_, _, _| {});
    store.shrink_to_fit();
    store.check(None, |_, _, _| {});
}

#[test]
fn an_entry_used_very_often_does_not_use_up_those_made_after_a_shrink() {
    let mut store = Store::new(usize::MAX);
    let (kept, ..) = store.insert(3, 10, 'k');
    let (hot, generation, _) = store.insert(3, 10, 'h');
    assert!(store.cancel(hot, generation).is_some());
    store.entries[hot as usize].due = u64::from(u32::MAX - 10);
    store.shrink_to_fit();
    for _ in 0..1_000 {
        let (index, generation, _) = store.insert(3, 10, 'a');
        assert_ne!(index, kept, "the entry of another");
        assert!(store.cancel(index, generation).is_some());
    }
    store.check(None, |_, _, _| {});
    assert!(
        store.entries.len() <= 4,
        "{} entries for one timer",
        store.entries.len()
    );
}

#[test]
fn entries_given_back_and_made_again_start_where_their_generations_ended() {
    let mut store = Store::new(usize::MAX);
    let (index, generation, _) = store.insert(3, 10, 'a');
    assert!(store.cancel(index, generation).is_some());
    assert_eq!(
        store.shrink_to_fit(),
        0,
        "an entry that is not needed was kept"
    );
    let (again, later, _) = store.insert(3, 10, 'b');
    assert_eq!(index, again);
    assert!(
        later > generation,
        "generation {later} was used before: {generation}"
    );
}

/// Eight may be leaving, and fifteen are made in advance. One more may be kept, and one vacant: see the wheel.
#[test]
fn entries_do_not_outnumber_what_was_armed_at_one_time_by_more_than_the_slack() {
    let mut worst = 0;
    for most in 1..200 {
        let mut store = Store::new(0);
        let mut armed = alloc::collections::VecDeque::new();
        for round in 0..1_000 {
            let (index, generation, _) = store.insert(3 + round % 2, 10, round);
            armed.push_back((index, generation));
            if armed.len() == most {
                let (index, generation) = armed.pop_front().expect("there is one");
                assert!(store.cancel(index, generation).is_some());
            }
            worst = worst.max(store.entries.len() - most.min(round as usize + 1));
        }
        store.check(None, |_, _, _| {});
    }
    assert!(worst <= 23, "{worst} more than were armed");
}
