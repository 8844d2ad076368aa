#![doc = include_str!("README.md")]

#[cfg(feature = "diesel-sqlite")]
mod diesel;
#[cfg(feature = "rusqlite")]
mod rusqlite;
mod times;

#[cfg(feature = "diesel-sqlite")]
pub use self::diesel::{dsl, register_on_diesel};
#[cfg(feature = "rusqlite")]
pub use self::rusqlite::register_on_rusqlite;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::{Any53, Cipher, Codec, Id, LayoutSpec, Parts, Permutation as _};
use times::{ranges, shown, single_range, tick_at};

/// A namespace as SQL knows it: without a cipher its ids are plain.
type Ids = Codec<LayoutSpec, Option<Cipher>>;

/// A function of SQL.
#[derive(Clone, Copy, Debug)]
enum Function {
    Encrypt,
    Decrypt,
    IdToText,
    IdFromText,
    IdTime,
    IdNode,
    IdSequence,
    RawTime,
    RawNode,
    RawSequence,
    Compose,
    ComposeRaw,
    RawRanges,
    RawFirst,
    RawLast,
}

/// Whose statements may call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exposure {
    /// Everybody's, also those of views and triggers in a database of unknown origin: it uses no
    /// key.
    Innocuous,
    /// The application's, and those of views and triggers in a schema that it trusts.
    Schema,
    /// The application's alone: it reveals what ids hide.
    Direct,
}

/// An argument, as SQLite passes it.
#[derive(Clone, Debug)]
enum Argument {
    Null,
    Integer(i64),
    Text(String),
    Real,
    Blob,
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Null,
    Integer(i64),
    Text(String),
}

/// A result, or a message for the author of the statement.
type Answer<T = Value> = Result<T, String>;

// Diesel's client declares each by its name.
#[cfg(feature = "rusqlite")]
impl Function {
    const ALL: [Self; 15] = [
        Self::Encrypt,
        Self::Decrypt,
        Self::IdToText,
        Self::IdFromText,
        Self::IdTime,
        Self::IdNode,
        Self::IdSequence,
        Self::RawTime,
        Self::RawNode,
        Self::RawSequence,
        Self::Compose,
        Self::ComposeRaw,
        Self::RawRanges,
        Self::RawFirst,
        Self::RawLast,
    ];
}

impl Function {
    /// Its name in SQL, the same as in other databases; its number of arguments; who may call it.
    const fn signature(self) -> (&'static str, i32, Exposure) {
        match self {
            Self::Encrypt => ("encrypt", 1, Exposure::Schema),
            Self::Decrypt => ("decrypt", 1, Exposure::Direct),
            Self::IdToText => ("id_to_text", 1, Exposure::Innocuous),
            Self::IdFromText => ("id_from_text", 1, Exposure::Innocuous),
            Self::IdTime => ("id_time", 1, Exposure::Direct),
            Self::IdNode => ("id_node", 1, Exposure::Direct),
            Self::IdSequence => ("id_sequence", 1, Exposure::Direct),
            Self::RawTime => ("raw_time", 1, Exposure::Innocuous),
            Self::RawNode => ("raw_node", 1, Exposure::Innocuous),
            Self::RawSequence => ("raw_sequence", 1, Exposure::Innocuous),
            Self::Compose => ("compose", 3, Exposure::Schema),
            Self::ComposeRaw => ("compose_raw", 3, Exposure::Innocuous),
            Self::RawRanges => ("raw_ranges", 2, Exposure::Innocuous),
            Self::RawFirst => ("raw_first", 2, Exposure::Innocuous),
            Self::RawLast => ("raw_last", 2, Exposure::Innocuous),
        }
    }

    /// Whether plain ids have this function: they are their raw ids, and encrypting them would seem
    /// to hide something.
    const fn is_of(self, ids: &Ids) -> bool {
        ids.permutation().is_some() || !matches!(self, Self::Encrypt | Self::Decrypt)
    }

    /// Calls it. A NULL id, raw id or text makes NULL, as in SQLite's own functions; a NULL time or
    /// field does not, since a comparison with NULL finds no row and says nothing.
    fn call(self, ids: &Ids, arguments: &[Argument]) -> Answer {
        if let [Argument::Null] = arguments {
            return Ok(Value::Null);
        }
        let answer = self.answer(ids, arguments);
        answer.map_err(|problem| format!("{}: {problem}", self.signature().0))
    }

    fn answer(self, ids: &Ids, arguments: &[Argument]) -> Answer {
        let integer = |index| integer(arguments, index);
        let text = |index| text(arguments, index);
        // What is encrypted or decrypted: a number above would keep its highest bits.
        let block = || {
            let id = Id::from_i64(integer(0)?);
            if ids.permutation().bits() == 53 {
                message(id.try_typed::<Any53>())?;
            }
            Ok::<_, String>(id)
        };
        let parts = || Ok::<_, String>(ids.inspect(block()?));
        let spec = ids.layout();
        let raw_parts = || Ok::<_, String>(spec.unpack(integer(0)?.cast_unsigned()));
        let range = || single_range(&spec, text(0)?, text(1)?);
        Ok(match self {
            Self::Encrypt => id(ids.id(block()?.to_u64())),
            Self::Decrypt => raw(ids.raw(block()?)),
            Self::IdToText => Value::Text(Id::from_i64(integer(0)?).to_string()),
            Self::IdFromText => id(message(Id::from_text(text(0)?.as_bytes()))?),
            Self::IdTime => Value::Text(shown(&spec, parts()?.tick)?),
            Self::IdNode => Value::Integer(parts()?.node_id.into()),
            Self::IdSequence => Value::Integer(parts()?.sequence.into()),
            Self::RawTime => Value::Text(shown(&spec, raw_parts()?.tick)?),
            Self::RawNode => Value::Integer(raw_parts()?.node_id.into()),
            Self::RawSequence => Value::Integer(raw_parts()?.sequence.into()),
            Self::Compose => id(compose(ids, arguments)?),
            Self::ComposeRaw => raw(ids.raw(compose(ids, arguments)?)),
            Self::RawRanges => Value::Text(json(&ranges(&spec, text(0)?, text(1)?)?)),
            Self::RawFirst => Value::Integer(range()?.0),
            Self::RawLast => Value::Integer(range()?.1),
        })
    }
}

fn id(id: Id) -> Value {
    Value::Integer(id.to_i64())
}

fn raw(raw: u64) -> Value {
    Value::Integer(raw.cast_signed())
}

fn message<T>(result: Result<T, impl ToString>) -> Answer<T> {
    result.map_err(|error| error.to_string())
}

fn compose(ids: &Ids, arguments: &[Argument]) -> Answer<Id> {
    let field = |index, name, max: u32| {
        let value = integer(arguments, index)?;
        // What does not fit the field is refused here: `compose` takes 32 bits.
        u32::try_from(value)
            .map_err(|_| format!("{name} {value} is out of range: 0 to {max} are allowed"))
    };
    let spec = ids.layout();
    let parts = Parts {
        tick: tick_at(&spec, text(arguments, 0)?)?,
        node_id: field(1, "node id", spec.max_node_id())?,
        sequence: field(2, "sequence", spec.max_sequence())?,
    };
    message(ids.compose(parts))
}

fn integer(arguments: &[Argument], index: usize) -> Answer<i64> {
    match arguments.get(index) {
        Some(Argument::Integer(integer)) => Ok(*integer),
        other => Err(format!(
            "argument {} is {}: an integer of 64 bits is allowed{}",
            index.saturating_add(1),
            type_name(other),
            match other {
                Some(Argument::Text(_)) if arguments.len() == 1 =>
                    ", and id_from_text reads a text",
                _ => "",
            }
        )),
    }
}

fn text(arguments: &[Argument], index: usize) -> Answer<&str> {
    match arguments.get(index) {
        Some(Argument::Text(text)) => Ok(text),
        other => Err(format!(
            "argument {} is {}: a text is allowed",
            index.saturating_add(1),
            type_name(other)
        )),
    }
}

fn type_name(argument: Option<&Argument>) -> &'static str {
    match argument {
        None | Some(Argument::Null) => "NULL",
        Some(Argument::Integer(_)) => "an integer",
        Some(Argument::Text(_)) => "a text",
        // As SQLite reads an integer of more than 64 bits.
        Some(Argument::Real) => "a REAL",
        Some(Argument::Blob) => "a BLOB",
    }
}

/// The form that `json_each` takes.
fn json(ranges: &[(i64, i64)]) -> String {
    let pairs: Vec<_> = ranges
        .iter()
        .map(|(first, last)| format!("[{first},{last}]"))
        .collect();
    format!("[{}]", pairs.join(","))
}
