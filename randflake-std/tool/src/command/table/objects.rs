//! JSON lines: an object on each, one of whose members is an id.

use core::fmt::{self, Formatter};
use core::ops::Range;

use memchr::memchr;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::blocks::{Content, Row, Split};
use super::lines::{content, marks_len};
use crate::command::input::shown;
use crate::failure::Failure;
use randflake_common::form::TextForm;

pub(super) struct Objects {
    pub(super) member: String,
    /// Names of members that objects must not have yet.
    pub(super) added: Vec<String>,
    pub(super) form: TextForm,
}

impl Objects {
    /// The place of the member's value, and what it is; or why the line is no row.
    fn read(&self, line: &[u8]) -> Result<(Range<usize>, Content), String> {
        let mut reader = serde_json::Deserializer::from_slice(line);
        let value = Member(self)
            .deserialize(&mut reader)
            .and_then(|value| reader.end().map(|()| value))
            .map_err(|error| {
                let advice = if line.starts_with(b"[") {
                    "; `jq -c .[]` writes an array as lines"
                } else {
                    ""
                };
                format!("a JSON object is needed on each line: {error}{advice}")
            })?;
        let value = value.ok_or_else(|| format!("it has no member {:?}", self.member))?;
        let text = value.get();
        // The value is borrowed from the line, so its address says where it is.
        let start = text.as_ptr().addr() - line.as_ptr().addr();
        let content = match text.as_bytes() {
            b"null" => Content::Empty,
            [b'"', ..] => match serde_json::from_str::<String>(text) {
                Ok(unescaped) => content(self.form, unescaped.as_bytes()),
                Err(error) => Content::BadCell(format!("{}: {error}", shown(text))),
            },
            [b'-' | b'0'..=b'9', ..] => content(self.form, text.as_bytes()),
            kind => Content::BadCell(format!(
                "{}: a string, a number or null is allowed",
                match kind {
                    [b'{', ..] => "an object",
                    [b'[', ..] => "an array",
                    _ => text,
                }
            )),
        };
        Ok((start..start + text.len(), content))
    }
}

impl Split for Objects {
    fn next(&mut self, bytes: &[u8], start: usize) -> Result<Option<Row>, Failure> {
        let Some(len) = memchr(b'\n', &bytes[start..]) else {
            return Ok(None);
        };
        let next = start + len + 1;
        let object = start + marks_len(&bytes[start..next]);
        let text = bytes[object..next].trim_ascii_end();
        let (cell, content) = match self.read(text) {
            _ if text.is_empty() => (0..0, Content::Blank),
            Ok(read) => read,
            Err(problem) => (0..0, Content::BadRow(problem)),
        };
        Ok(Some(Row {
            // Members are added before the brace that ends the object.
            text: start..object + text.len().saturating_sub(1),
            cell: object + cell.start..object + cell.end,
            next,
            content,
        }))
    }
}

/// Reads an object and gives the value of its member.
struct Member<'a>(&'a Objects);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key_seed(Key(self.0))? {
            match key {
                KeyKind::Id if found.is_some() => {
                    let member = &self.0.member;
                    return Err(A::Error::custom(format!("it has {member:?} twice")));
                }
                KeyKind::Id => found = Some(map.next_value()?),
                KeyKind::Other => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(found)
    }
}

enum KeyKind {
    Id,
    Other,
}

struct Key<'a>(&'a Objects);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = KeyKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<KeyKind, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = KeyKind;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<KeyKind, E> {
        if name == self.0.member {
            return Ok(KeyKind::Id);
        }
        if self.0.added.iter().any(|added| added == name) {
            return Err(E::custom(format!(
                "it has a member {name:?} already: --prefix puts a word before the new names"
            )));
        }
        Ok(KeyKind::Other)
    }
}
