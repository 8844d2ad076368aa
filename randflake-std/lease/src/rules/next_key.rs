//! The rule of rotating the key of tagged UUIDs.
//!
//! One conditional write of the namespace's record, and nothing else: an acquire or a renewal is written only while that
//! record is what it was read as, so each is under the number before the write or under the one after it. No two ids are
//! equal because of the number alone: intervals of ticks are disjoint over all keys.

use super::quarantine::{decide, existing_state};
use super::{Caller, Decision, View};
use crate::types::{KeyCheck, StoreError, Terms};

/// Lets the namespace go on to the key that follows on its own. Does nothing if it has that key already, so that the
/// command may be repeated.
#[must_use]
pub fn next_key(view: &View, next: KeyCheck, caller: &Caller<'_>) -> Decision<()> {
    if view.namespace.is_none() {
        let why = "there is no such namespace: whoever leases first makes it, under the highest key number that it has";
        return Decision::refused(StoreError::Invalid(why.to_owned()));
    }
    decide(existing_state(view, caller), |state| {
        if follows(&state.record.terms, next)? {
            state.set_key(next);
        }
        Ok(())
    })
}

/// Whether a key is the next one; `false` if it is the one that is stored.
fn follows(terms: &Terms, next: KeyCheck) -> Result<bool, StoreError> {
    let Some(key_check) = terms.key_check else {
        let why = "no key is known of the namespace: whoever leases first with one says under which number it begins";
        return Err(StoreError::Invalid(why.to_owned()));
    };
    let asked = Terms {
        key_check: Some(next),
        ..*terms
    };
    match key_check.number().zip(next.number()) {
        Some(_) if key_check == next => Ok(false),
        // Two secrets of one number: readers would refuse what was made under one of them. Or it has other ids.
        Some((stored, number)) if stored == number => Err(terms.refused(&asked)),
        None => Err(terms.refused(&asked)),
        Some((stored, asked)) if stored.next() != Some(asked) => {
            Err(StoreError::KeyNumber { stored, asked })
        }
        Some((stored, number)) if key_check.value() == next.value() => {
            Err(StoreError::Invalid(format!(
                "the secret of key number {number} is that of {stored}: a next key needs another one, from `randflake keygen`"
            )))
        }
        Some(_) => Ok(true),
    }
}
