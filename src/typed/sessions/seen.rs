//! What is seen of a session, and how what was seen is replaced: the same in all kinds of stores.

use alloc::sync::Arc;
use core::mem;

use super::by_key::ByKey;
use super::payload::Payload;
use super::record::{Held, Record};
use super::{Session, SessionGone, UpdateError};
use crate::Timestamp;
use crate::typed::deadline::Gone;

/// What is seen of a record: nothing if it has ended.
#[inline]
pub(super) fn view<K, P: Payload>(
    record: &Record<K, P>,
    created: Timestamp,
    held: &Held<P>,
) -> Option<Session<P::Value>> {
    Some(Session {
        value: Arc::clone(held.payload.as_ref()?.value()),
        version: held.version.into(),
        generation: record.generation,
        created,
    })
}

/// Puts `value` in the place of the one that was `seen`, and that one in `value`, unless somebody has replaced it. If
/// there is a time of touch, a touch.
pub(super) fn replace<K, P: Payload>(
    entry: &ByKey<K, P>,
    held: &mut Held<P>,
    seen: &Session<P::Value>,
    value: &mut Arc<P::Value>,
    touch: Option<Timestamp>,
) -> Result<Result<Session<P::Value>, UpdateError>, Gone> {
    let record = &entry.record;
    if record.generation != seen.generation {
        return Err(Gone);
    }
    let version = held.version.into();
    if version != seen.version {
        return Ok(Err(UpdateError::Conflict { version }));
    }
    if let Some(now) = touch {
        record.touch(now)?;
    }
    let payload = held.payload.as_mut().ok_or(Gone)?;
    mem::swap(payload.value_mut(), value);
    held.version = held.version.wrapping_add(1);
    Ok(Ok(view(record, entry.created, held).ok_or(Gone)?))
}

/// Looks, and puts what `f` makes of what it sees in its place, until nobody comes in between.
pub(super) fn modify<V>(
    look: impl Fn() -> Option<Session<V>>,
    update: impl Fn(&Session<V>, V) -> Result<Session<V>, UpdateError>,
    mut f: impl FnMut(&V) -> V,
) -> Result<Session<V>, SessionGone> {
    loop {
        let seen = look().ok_or(SessionGone)?;
        let updated = update(&seen, f(&seen));
        // Before there is anything to return: should it panic, that would be leaked.
        drop(seen);
        match updated {
            Ok(session) => return Ok(session),
            Err(UpdateError::Conflict { .. }) => {}
            Err(UpdateError::Gone) => return Err(SessionGone),
        }
    }
}
