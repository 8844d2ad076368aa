//! The text forms of ids.

use core::fmt::Write as _;

use clap::ValueEnum;
use itoa::Buffer;
use randflake_std::Id;
use randflake_std::randflake_core::Base;
use uuid::Uuid;

use crate::mistake;
use crate::number;

/// Text formats of ids: each writes the same 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// Base32hex, 1 to 13 digits of 0-9a-v
    Text,
    /// Signed, as a database's bigint
    Int,
    /// Decimal digits of the unsigned number
    Uint,
    /// Hexadecimal, written with 16 digits
    Hex,
    /// Binary, digits 0 and 1
    Base2,
    /// As bwmarrin/snowflake writes it, digits ybndrfg8ejkmcpqxot1uwisza345h769
    Base32,
    /// Base 36, digits 0-9a-z
    Base36,
    /// As bwmarrin/snowflake writes it, 1-9a-zA-Z without l, I and O
    Base58,
    /// Base 62, digits 0-9A-Za-z
    Base62,
    /// Base64 of the decimal digits, as bwmarrin/snowflake writes it
    Base64,
    /// The decimal digits, whose ASCII bwmarrin/snowflake calls bytes
    Bytes,
    /// UUID of version 8
    Uuid,
}

/// An id as it was given.
#[derive(Clone, Debug)]
pub struct GivenId {
    /// Without its prefix.
    pub id: Id,
    /// The prefix of a typed id, such as `ord` of `ord_3vgoe12ccb8gh`.
    pub prefix: Option<Box<str>>,
}

impl From<Id> for GivenId {
    fn from(id: Id) -> Self {
        Self { id, prefix: None }
    }
}

impl GivenId {
    /// Appends an id in its place: a text has the same prefix.
    pub fn append(&self, id: Id, form: TextFormat, text: &mut String) {
        if let (TextFormat::Text, Some(prefix)) = (form, &self.prefix) {
            text.push_str(prefix);
            text.push(SEPARATOR);
        }
        form.append(id, text);
    }
}

/// Separates the prefix of a typed id from the digits; it is none of them.
const SEPARATOR: char = '_';

impl TextFormat {
    /// Names of all forms, as options and requests have them.
    pub fn names() -> Vec<String> {
        let values = Self::value_variants().iter();
        let values = values.filter_map(ValueEnum::to_possible_value);
        values.map(|value| value.get_name().to_owned()).collect()
    }

    /// The form of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Reads an id, which may be a typed one where it is a text; or says what is wrong, what is allowed, and which form the
    /// text has instead.
    pub fn read(self, text: &str) -> Result<GivenId, String> {
        let split = text.rsplit_once(SEPARATOR);
        if let (Self::Text, Some((prefix, digits))) = (self, split)
            && is_prefix(prefix)
        {
            let id = self.read_alone(digits);
            return Ok(GivenId {
                id: id.map_err(|problem| format!("after the prefix \"{prefix}\": {problem}"))?,
                prefix: Some(prefix.into()),
            });
        }
        self.read_alone(text).map(GivenId::from)
    }

    fn read_alone(self, text: &str) -> Result<Id, String> {
        // Two readers, since the advice itself tries other forms and must not ask for advice again.
        self.read_plainly(text)
            .map_err(|problem| mistake::explain(self, text, problem))
    }

    /// Reads an id, or says what is wrong and what is allowed.
    pub fn read_plainly(self, text: &str) -> Result<Id, String> {
        let number = |least: i64, most: u64| format!("not a number from {least} to {most}");
        let in_base = |base| {
            let id = Id::from_base(base, text.as_bytes());
            id.map_err(|error| error.to_string())
        };
        match self {
            // Strictly: two texts of one id would be two keys wherever texts are compared.
            Self::Text => Id::from_text(text.as_bytes()).map_err(|error| error.to_string()),
            Self::Int => {
                let id = text.parse().map(Id::from_i64);
                let id: Id = id.map_err(|_| number(i64::MIN, i64::MAX.cast_unsigned()))?;
                only_text(text, id, Buffer::new().format(id.to_i64()))
            }
            Self::Uint => {
                let id = text.parse().map(Id::from_u64);
                let id: Id = id.map_err(|_| number(0, u64::MAX))?;
                only_text(text, id, Buffer::new().format(id.to_u64()))
            }
            Self::Hex => {
                let id = number::hex(text).map(Id::from_u64);
                id.ok_or_else(|| "not a number of 1 to 16 hex digits".to_owned())
            }
            Self::Base2 => in_base(Base::Base2),
            Self::Base32 => in_base(Base::Base32),
            Self::Base36 => in_base(Base::Base36),
            Self::Base58 => in_base(Base::Base58),
            Self::Base62 => in_base(Base::Base62),
            Self::Base64 => in_base(Base::Base64),
            Self::Bytes => in_base(Base::Base10),
            Self::Uuid => {
                let uuid = Uuid::parse_str(text);
                let uuid = uuid.map_err(|error| format!("not a UUID: {error}"))?;
                let id = Id::from_uuid_bytes(uuid.into_bytes());
                id.map_err(|error| error.to_string())
            }
        }
    }

    /// Appends an id to a text.
    pub fn append(self, id: Id, text: &mut String) {
        match self {
            Self::Text => text.push_str(&id.to_text()),
            Self::Int => text.push_str(Buffer::new().format(id.to_i64())),
            Self::Uint | Self::Bytes => text.push_str(Buffer::new().format(id.to_u64())),
            // Writing to a string never fails.
            Self::Hex => _ = write!(text, "{:016x}", id.to_u64()),
            Self::Base2 => text.push_str(&id.to_base(Base::Base2)),
            Self::Base32 => text.push_str(&id.to_base(Base::Base32)),
            Self::Base36 => text.push_str(&id.to_base(Base::Base36)),
            Self::Base58 => text.push_str(&id.to_base(Base::Base58)),
            Self::Base62 => text.push_str(&id.to_base(Base::Base62)),
            Self::Base64 => text.push_str(&id.to_base(Base::Base64)),
            Self::Uuid => _ = write!(text, "{}", Uuid::from_bytes(id.to_uuid_bytes())),
        }
    }

    /// Writes a line for each id.
    // One after another: a node id issues one in 7.6 µs, which is time for any form.
    pub fn lines(self, ids: &[Id]) -> String {
        // Room for 20 digits and the line feed; longer forms make it grow.
        let mut text = String::with_capacity(21 * ids.len());
        for &id in ids {
            self.append(id, &mut text);
            text.push('\n');
        }
        text
    }
}

/// Whether a typed id may have this prefix: see `Kind::PREFIX`.
fn is_prefix(text: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    text.len() <= 32
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with(SEPARATOR)
        && text.bytes().all(is_allowed)
}

/// The id, if the text is the one that it is written as.
fn only_text(text: &str, id: Id, written: &str) -> Result<Id, String> {
    // As in text ids: `+5`, `007` and `-0` would be further keys of ids that have one already.
    if text == written {
        return Ok(id);
    }
    Err(format!(
        "'+', -0 and leading zeros are not allowed: write {written}"
    ))
}
