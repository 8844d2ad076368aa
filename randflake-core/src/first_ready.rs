//! Choice among several leases: the first that has an id issues it.

use crate::{AtomicWord, GenerateError, Word};

/// Asks the members of a pool in turn, beginning with the one that issued last, which `cursor`
/// remembers, until one has an id at the clock's time. Only when none has one, it asks for an id up
/// to `tolerance` ticks ahead. `ask` is given the member and how many ticks ahead are allowed.
///
/// # Errors
///
/// When none has an id: of the members' errors the one that passes soonest, else one that is not
/// [`Sealed`](GenerateError::Sealed) if there is any. A pool without members answers
/// [`LeaseOver`](GenerateError::LeaseOver).
#[inline]
pub fn first_ready_within<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    tolerance: u32,
    mut ask: impl FnMut(&M, u32) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    // Two passes: an id ahead of the clock is borrowed only when no member has one at the time of
    // the clock.
    match first_ready(members, cursor, |member| ask(member, 0)) {
        Err(_) if tolerance > 0 => borrow(members, cursor, |member| ask(member, tolerance)),
        answer => answer,
    }
}

#[cold]
fn borrow<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    ask: impl FnMut(&M) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    // Out of line: without tolerance, and while any member has an id of the present tick, it is not
    // reached.
    first_ready(members, cursor, ask)
}

/// The same once, as far as `ask` allows.
#[inline]
fn first_ready<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    mut ask: impl FnMut(&M) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    let last = cursor.load();
    // The cursor is only a hint. Any value is valid, so it needs no order with the members. A
    // cursor that is no index, as that of an empty pool, finds no member and begins with the first.
    let index = usize::try_from(last.into()).unwrap_or(usize::MAX);
    let soonest = match members.get(index).map(&mut ask) {
        Some(Ok(answer)) => return Ok(answer),
        Some(Err(error)) => Some(error),
        None => None,
    };
    next_ready(members, cursor, last, soonest, ask)
}

/// Asks the other members. Out of line, since the member that issued last usually has an id.
#[cold]
fn next_ready<M, W: AtomicWord, T>(
    members: &[M],
    cursor: &W,
    last: W::Value,
    mut soonest: Option<GenerateError>,
    mut ask: impl FnMut(&M) -> Result<T, GenerateError>,
) -> Result<T, GenerateError> {
    let last_index = usize::try_from(last.into())
        .unwrap_or(usize::MAX)
        .min(members.len());
    // From the member after the last one and around, so that load spreads and one exhausted member
    // is not asked first each time.
    let after = members
        .iter()
        .enumerate()
        .skip(last_index.saturating_add(1));
    for (index, member) in after.chain(members.iter().enumerate().take(last_index)) {
        match ask(member) {
            Ok(answer) => {
                // Another caller may have moved it on: either place is as good.
                cursor.compare_exchange(last, W::Value::low_bits_of(index as u64));
                return Ok(answer);
            }
            // Kept, not returned: the next member may have an id.
            Err(error) => soonest = Some(soonest.map_or(error, |soonest| soonest.sooner(error))),
        }
    }
    // Nobody was asked: an empty pool has no lease, as if all had expired.
    Err(soonest.unwrap_or(GenerateError::LeaseOver { since_ms: 0 }))
}
