//! Keys, texts and times as columns and parameters.

use core::time::Duration;

use randflake_lease::EngineError;
use randflake_lease::unstable::engine::{Before, Entry, Key, Keys, Write, newer};

/// A value of a statement. No other way leads into one: what is read from a server is as little
/// trusted as what a user types.
#[derive(Clone, Copy, Debug)]
pub enum SqlValue<'v> {
    /// Text, which each engine escapes or binds.
    Text(&'v str),
    /// A number that is not negative.
    Number(u64),
}

/// Version of the tables, which is none of the records in them.
pub const TABLES: u64 = 1;

/// Refuses tables of another version than this program's.
pub(crate) fn check_version(version: u64) -> Result<(), EngineError> {
    if version == TABLES {
        return Ok(());
    }
    let newer = newer(version, TABLES);
    Err(EngineError::failed_precondition(format!(
        "the lease store: {newer}"
    )))
}

/// Counts the texts that may be there under some keys.
pub(crate) fn count(keys: &[Keys]) -> usize {
    keys.iter().flat_map(Keys::each).count()
}

/// The key of a row.
///
/// # Errors
///
/// [`EngineError`] if no row of a store has such numbers.
pub fn key(kind: impl TryInto<u8>, number: impl TryInto<u64>) -> Result<Key, EngineError> {
    let numbers = kind.try_into().ok().zip(number.try_into().ok());
    let key = numbers.and_then(|(kind, number)| Key::of_numbers(kind, number));
    key.ok_or_else(|| {
        EngineError::failed_precondition("the lease store was damaged: a key is out of range")
    })
}

/// A write that puts one text in the place of another: the most frequent one.
#[derive(Debug)]
pub struct SingleUpdate<'w> {
    /// Key of the text.
    pub key: Key,
    /// The text that must be there.
    pub before: &'w str,
    /// The text that takes its place.
    pub after: &'w str,
    /// The namespace's record, if that must still be so.
    pub guard: Option<&'w str>,
    /// What is put elsewhere with it, whatever is there: history and hints.
    pub upserts: &'w [Entry],
}

impl<'w> SingleUpdate<'w> {
    /// The update that a write with these entries is, if it replaces one text and no other.
    #[must_use]
    pub fn of(entries: &'w [Entry]) -> Option<Self> {
        let (guard, rest) = match entries {
            // An entry that only compares. If the record of the namespace is also written, it is a
            // second update.
            [guard, rest @ ..] if guard.key == Key::Namespace && guard.after.is_none() => {
                (Some(expected(guard)?), rest)
            }
            rest => (None, rest),
        };
        let (entry, upserts) = rest.split_first()?;
        let is_blind = |entry: &Entry| entry.before == Before::Anything && entry.after.is_some();
        // A second condition would need a second statement, and both would have to hold at once.
        if !upserts.iter().all(is_blind) {
            return None;
        }
        Some(Self {
            key: entry.key,
            // A record that must not be there yet is an insert: `None` leaves it to the general
            // statement.
            before: expected(entry)?,
            after: entry.after.as_deref()?,
            guard,
            upserts,
        })
    }
}

/// The text that must be there, if one must.
#[must_use]
pub fn expected(entry: &Entry) -> Option<&str> {
    match &entry.before {
        Before::Text(text) => Some(text),
        Before::Anything | Before::Nothing => None,
    }
}

/// The times between which a write is done, in microseconds.
#[must_use]
pub fn window(write: &Write) -> (i64, i64) {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let window = write.window.map(|(from, to)| (micros(from), micros(to)));
    // No window is the longest one: statements have one form.
    window.unwrap_or((0, i64::MAX))
}

/// Time of a server's clock. One before 1970 becomes 1970, which the rules refuse as wrong.
pub(crate) fn time(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_another_version_are_refused() {
        check_version(TABLES).unwrap();
        let refused = check_version(TABLES + 1).unwrap_err().to_string();
        assert!(refused.starts_with("the lease store: "), "{refused}");
    }

    #[test]
    fn each_key_that_is_asked_for_may_have_a_text() {
        let nodes = [Keys::One(Key::Namespace), Keys::One(Key::Node(7))];
        assert_eq!((count(&[]), count(&nodes)), (0, 2));
    }

    #[test]
    fn one_text_is_replaced_and_others_are_put() {
        let entry = |key, before, after: Option<&str>| Entry {
            key,
            before,
            after: after.map(str::to_owned),
        };
        let text = || Before::Text("old".to_owned());
        let guard = entry(Key::Namespace, text(), None);
        let node = entry(Key::Node(7), text(), Some("new"));
        let past = entry(Key::History(7, 0), Before::Anything, Some("old"));
        let hint = entry(Key::Hint(1), Before::Anything, Some("7"));
        let renamed = entry(Key::Namespace, text(), Some("new"));
        let first = entry(Key::Node(8), Before::Nothing, Some("new"));
        let page = entry(Key::Hint(9), text(), Some("2"));

        let upserts = |entries: &[&Entry]| {
            let entries: Vec<_> = entries.iter().map(|entry| (*entry).clone()).collect();
            SingleUpdate::of(&entries)
                .map(|only| (only.key, only.guard.is_some(), only.upserts.len()))
        };
        let key = node.key;
        assert_eq!(upserts(&[&node]), Some((key, false, 0)));
        assert_eq!(upserts(&[&guard, &node]), Some((key, true, 0)));
        assert_eq!(
            upserts(&[&guard, &node, &past, &hint]),
            Some((key, true, 2))
        );
        for others in [
            &[&guard][..],
            &[&guard, &first],
            &[&renamed, &node],
            &[&guard, &node, &first],
            &[&guard, &node, &page],
            &[&guard, &past, &hint],
            &[],
        ] {
            assert_eq!(upserts(others), None);
        }
    }
}
