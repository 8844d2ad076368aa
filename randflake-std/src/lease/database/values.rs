//! Keys, texts and times as columns and parameters.

use core::time::Duration;

use crate::lease::EngineError;
use crate::ledger::{Before, Entry, Key, Keys, VERSION, Write, newer};

/// The version of the tables that are there.
pub(in crate::lease) fn check_version(version: u64) -> Result<(), EngineError> {
    if version == u64::from(VERSION) {
        return Ok(());
    }
    let newer = newer(version);
    Err(EngineError::unusable(format!("the lease store: {newer}")))
}

/// How many texts may be there.
pub(in crate::lease) fn count(keys: &[Keys]) -> usize {
    keys.iter().flat_map(Keys::each).count()
}

/// The key of a row.
pub(in crate::lease) fn key(
    kind: impl TryInto<u8>,
    number: impl TryInto<u64>,
) -> Result<Key, EngineError> {
    let numbers = kind.try_into().ok().zip(number.try_into().ok());
    let key = numbers.and_then(|(kind, number)| Key::of_numbers(kind, number));
    key.ok_or_else(|| EngineError::unusable("the lease store was damaged: a key is out of range"))
}

/// A write that puts one text in the place of another: the most frequent one.
#[derive(Debug)]
pub(in crate::lease) struct Only<'w> {
    pub(in crate::lease) key: Key,
    pub(in crate::lease) before: &'w str,
    pub(in crate::lease) after: &'w str,
    /// The namespace's record, if that must still be so.
    pub(in crate::lease) kept: Option<&'w str>,
}

impl<'w> Only<'w> {
    /// Of a write with these entries, if it has no other change.
    pub(in crate::lease) fn of(entries: &'w [Entry]) -> Option<Self> {
        let (kept, entry) = match entries {
            [entry] => (None, entry),
            [kept, entry] if kept.key == Key::Namespace && kept.after.is_none() => {
                (Some(expected(kept)?), entry)
            }
            _ => return None,
        };
        Some(Self {
            key: entry.key,
            before: expected(entry)?,
            after: entry.after.as_deref()?,
            kept,
        })
    }
}

/// The text that must be there, if one must.
pub(in crate::lease) fn expected(entry: &Entry) -> Option<&str> {
    match &entry.before {
        Before::Text(text) => Some(text),
        Before::Anything | Before::Nothing => None,
    }
}

/// The times between which a write is done, in microseconds.
pub(in crate::lease) fn window(write: &Write) -> (i64, i64) {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let window = write.window.map(|(from, to)| (micros(from), micros(to)));
    window.unwrap_or((0, i64::MAX))
}

/// A clock that stands before 1970 is refused by the rules as any other that is wrong.
pub(in crate::lease) fn time(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
