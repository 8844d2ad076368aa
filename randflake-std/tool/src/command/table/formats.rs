//! Formats of tables: columns, separated values, and objects of JSON.

use core::fmt::{self, Formatter};
use core::ops::Range;

use clap::ValueEnum;
use csv_core::{ReadFieldResult, ReadRecordResult, Reader, ReaderBuilder};
use itoa::Buffer;
use memchr::memchr;
use randflake_common::date::utc_in_ticks;
use randflake_common::form::{GivenId, TextFormat};
use randflake_std::Parts;
use randflake_std::randflake_core::LayoutSpec;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::blocks::{Content, Row, Split, content, marks_len};
use crate::command::input::shown;
use crate::failure::Failure;

/// What a column has. The names are those of the fields of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Form(TextFormat),
    Raw,
    Time,
    UnixMs,
    TimeUtc,
    Node,
    Sequence,
    /// A named part of the node id, by its place among them.
    Part(usize),
}

impl Column {
    /// Finds a column by its name. `id` is the id in the form that it was given in.
    pub(super) fn named(name: &str, form: TextFormat, spec: &LayoutSpec) -> Result<Self, String> {
        let parts = spec.node_fields();
        Ok(match name {
            "id" => Self::Form(form),
            "raw" => Self::Raw,
            "time" => Self::Time,
            "unix_ms" => Self::UnixMs,
            "time_utc" => Self::TimeUtc,
            "node" => Self::Node,
            "sequence" => Self::Sequence,
            _ => {
                let part = parts.iter().position(|(part, _)| *part == name);
                let form = || TextFormat::from_str(name, false).ok().map(Self::Form);
                return part.map(Self::Part).or_else(form).ok_or_else(|| {
                    let parts: Vec<_> = parts.iter().map(|(part, _)| *part).collect();
                    let parts = [&["sequence"], &parts[..]].concat().join(", ");
                    format!(
                        "there is no column {name:?}: id, time, unix_ms, time_utc, node, {parts}, raw and the forms of \
                         --from are allowed"
                    )
                });
            }
        })
    }

    /// Whether JSON has it in quotes. Ids are, as many readers round numbers over 53 bits, unless
    /// `numbers` are asked for.
    pub(super) fn is_text(self, numbers: bool) -> bool {
        match self {
            Self::Form(TextFormat::Int | TextFormat::Uint) | Self::Raw => !numbers,
            Self::Form(_) | Self::TimeUtc => true,
            Self::Time | Self::UnixMs | Self::Node | Self::Sequence | Self::Part(_) => false,
        }
    }

    pub(super) fn append(self, id: &DecodedId<'_>, text: &mut String) {
        let number: u64 = match self {
            Self::Form(form) => return id.id.append(id.id.id, form, text),
            Self::TimeUtc => return text.push_str(&id.times.utc),
            Self::Raw => id.raw,
            Self::Time => id.times.unix_ms / 1_000,
            Self::UnixMs => id.times.unix_ms,
            Self::Node => id.parts.node_id.into(),
            Self::Sequence => id.parts.sequence.into(),
            Self::Part(place) => {
                let part = id.spec.node_parts(id.parts.node_id).nth(place);
                part.map_or(0, |(_, value)| value.into())
            }
        };
        text.push_str(Buffer::new().format(number));
    }
}

/// An id with its decrypted fields.
pub(super) struct DecodedId<'a> {
    pub(super) id: &'a GivenId,
    pub(super) raw: u64,
    pub(super) parts: Parts,
    pub(super) spec: &'a LayoutSpec,
    pub(super) times: &'a Times,
}

/// The time of the last id: rows in the order of time share it.
#[derive(Default)]
pub(super) struct Times {
    tick: u64,
    unix_ms: u64,
    /// Empty before the first id.
    utc: String,
}

impl Times {
    pub(super) fn set(&mut self, spec: &LayoutSpec, tick: u64) {
        if tick != self.tick || self.utc.is_empty() {
            let unix_ms = spec.unix_ms(tick);
            *self = Self {
                tick,
                unix_ms,
                utc: utc_in_ticks(unix_ms, spec.tick_ms()),
            };
        }
    }
}

/// Names that a message lists of a header.
const NAMES_SHOWN: usize = 12;

/// Which column has the ids.
pub(super) struct ColumnChoice {
    /// Its name, or its number.
    pub(super) column: String,
    pub(super) has_header: bool,
    /// Whether its cells are written anew, so that their places are looked for.
    pub(super) is_replaced: bool,
    /// Names that the header must not have yet.
    pub(super) added: Vec<String>,
}

pub(super) struct Separated {
    choice: ColumnChoice,
    form: TextFormat,
    has_quotes: bool,
    reader: Reader,
    /// Finds the cell of the id in a row that has quotes.
    field_reader: Reader,
    /// Known after the first row.
    shape: Option<Shape>,
    /// The cells of a row without quotes, one after another, and where each ends.
    cells: Vec<u8>,
    ends: Vec<usize>,
}

/// What all rows have in common.
#[derive(Clone, Copy)]
struct Shape {
    width: usize,
    /// Index of the column of ids.
    column: usize,
}

impl Separated {
    pub(super) fn new(
        choice: ColumnChoice,
        delimiter: char,
        has_quotes: bool,
        form: TextFormat,
    ) -> Self {
        let mut builder = ReaderBuilder::new();
        // The characters allowed are all ASCII.
        builder.delimiter(delimiter as u8).quoting(has_quotes);
        Self {
            choice,
            form,
            has_quotes,
            reader: builder.build(),
            field_reader: builder.build(),
            shape: None,
            cells: vec![0; 4 << 10],
            ends: vec![0; 64],
        }
    }

    /// Reads a row up to the first byte of its line ending. Returns its length and how many cells
    /// it has, or `None` if the bytes end before it does.
    fn record(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        loop {
            let (cells, ends) = (&mut self.cells, &mut self.ends);
            let (result, len, _, width) = self.reader.read_record(bytes, cells, ends);
            match result {
                ReadRecordResult::Record => return Some((len, width)),
                ReadRecordResult::OutputFull => cells.resize(2 * cells.len(), 0),
                ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {
                    self.reader.reset();
                    return None;
                }
            }
            // From the start of the row again: rows that need more room are few.
            self.reader.reset();
        }
    }

    fn cell(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cells[start..self.ends[index]]
    }

    /// Where the cell of the id is in the bytes of its row, with its quotes.
    fn place(&mut self, row: &[u8], shape: Shape) -> Range<usize> {
        let Shape { width, column } = shape;
        let len = self.cell(column).len();
        // Where no quotes are on one side of it, only the cells and their separators are.
        let end = self.ends[column] + column;
        if !self.has_quotes || !row[..end].contains(&b'"') {
            return end - len..end;
        }
        let behind = self.ends[width - 1] - self.ends[column] + (width - 1 - column);
        let end = row.len() - behind;
        if !row[end - len..].contains(&b'"') {
            return end - len..end;
        }
        self.field_reader.reset();
        let (mut place, mut output) = (0..0, [0; 256]);
        for _ in 0..=column {
            place.start = place.end;
            loop {
                let (result, len, _) = self.field_reader.read_field(&row[place.end..], &mut output);
                place.end += len;
                if result != ReadFieldResult::OutputFull {
                    break;
                }
            }
        }
        // The last cell has no separator behind it.
        let separator = usize::from(column + 1 < width);
        place.start..place.end - separator
    }

    /// The shape of the table, by its first row.
    fn shape(&self, width: usize) -> Result<Shape, Failure> {
        let column = &self.choice.column;
        let number = column.parse().ok();
        let by_number = number.filter(|number| (1..=width).contains(number));
        let by_number = by_number.map(|number| Shape {
            width,
            column: number - 1,
        });
        if !self.choice.has_header {
            return by_number.ok_or_else(|| {
                Failure::usage(format!(
                    "--column {column}: a table without a header has numbers of columns, here 1 to {width}"
                ))
            });
        }
        let names = (0..width).map(|index| String::from_utf8_lossy(self.cell(index)));
        let names: Vec<_> = names.collect();
        if let Some(name) = self
            .choice
            .added
            .iter()
            .find(|name| names.contains(&name.as_str().into()))
        {
            return Err(Failure::usage(format!(
                "the table has a column {name:?} already: --prefix puts a word before the new names"
            )));
        }
        let has_name = |index: &usize| names[*index] == column.as_str();
        let found: Vec<_> = (0..width).filter(has_name).collect();
        match found[..] {
            [column] => Ok(Shape { width, column }),
            [first, second, ..] => Err(Failure::usage(format!(
                "--column {column}: columns {} and {} have this name: choose one by its number",
                first + 1,
                second + 1
            ))),
            [] => by_number.ok_or_else(|| {
                let first = names.iter().take(NAMES_SHOWN);
                let first: Vec<_> = first.map(|name| shown(name)).collect();
                let more = if width > NAMES_SHOWN { ", ..." } else { "" };
                let advice = match &names[..] {
                    [line] if line.contains([',', ';', '\t', '|']) => {
                        "its cells have another separator: --csv is for commas, --csv --delimiter for others, --tsv for \
                         tabs without quotes"
                    }
                    _ => {
                        "a table without a header needs --no-header and the number of the column"
                    }
                };
                Failure::usage(format!(
                    "--column {column}: the header has {}{more}; {advice}",
                    first.join(", ")
                ))
            }),
        }
    }

    fn content(&self, shape: Shape, width: usize) -> Content {
        if width != shape.width {
            let first = if self.choice.has_header {
                "header"
            } else {
                "first row"
            };
            let expected = shape.width;
            return Content::BadRow(format!("it has {width} cells, and the {first} {expected}"));
        }
        match self.cell(shape.column) {
            b"\\N" if !self.has_quotes => Content::Null,
            cell => content(self.form, cell),
        }
    }
}

impl Split for Separated {
    fn next(&mut self, bytes: &[u8], start: usize) -> Result<Option<Row>, Failure> {
        // They belong to no cell. The reader would take them for a part of one, except before the
        // very first.
        let begin = start + marks_len(&bytes[start..]);
        let rest = &bytes[begin..];
        let (len, width) = if rest.starts_with(b"\n") || rest.starts_with(b"\r") {
            (1, 0)
        } else {
            match self.record(rest) {
                Some(record) => record,
                None => return Ok(None),
            }
        };
        let end = begin + len - 1;
        let next = match bytes[end..] {
            // A line feed may follow.
            [b'\r'] => return Ok(None),
            [b'\r', b'\n', ..] => end + 2,
            _ => end + 1,
        };
        let row = |cell: Range<usize>, content| Row {
            text: start..end,
            next,
            cell: begin + cell.start..begin + cell.end,
            content,
        };
        let (shape, is_first) = match self.shape {
            Some(shape) => (shape, false),
            None if width == 0 => return Ok(Some(row(0..0, Content::Blank))),
            None => (*self.shape.insert(self.shape(width)?), true),
        };
        Ok(Some(if is_first && self.choice.has_header {
            row(0..0, Content::Header)
        } else if width == 0 && shape.width == 1 {
            // A blank line is all that an empty cell is where there is but one.
            row(0..0, Content::Empty)
        } else if width == 0 {
            row(0..0, Content::Blank)
        } else {
            let content = self.content(shape, width);
            let cell = match content {
                Content::BadRow(_) => 0..0,
                _ if !self.choice.is_replaced => 0..0,
                _ => self.place(&bytes[begin..end], shape),
            };
            row(cell, content)
        }))
    }

    fn finish(&self) -> Result<(), Failure> {
        if self.shape.is_none() && self.choice.has_header {
            return Err(Failure::usage(
                "the table is empty: its first row must have the names of the columns",
            ));
        }
        Ok(())
    }
}

pub(super) struct Objects {
    pub(super) member: String,
    /// Names of members that objects must not have yet.
    pub(super) added: Vec<String>,
    pub(super) form: TextFormat,
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
