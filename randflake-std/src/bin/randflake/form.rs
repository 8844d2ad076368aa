//! The ways to write an id.

use std::io::{self, Write};

use clap::ValueEnum;
use randflake_std::randflake_core::{Base, Codec, DecodeError};
use randflake_std::{Custom, Id};
use uuid::Uuid;

use crate::record::Record;

/// How an id is written: each is the same 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Base32hex, 1 to 13 digits of 0-9a-v
    Text,
    /// Signed, as a database's bigint
    Int,
    /// Unsigned
    Uint,
    /// Hexadecimal, written with 16 digits
    Hex,
    /// Binary
    Base2,
    /// As bwmarrin/snowflake writes it, digits ybndrfg8ejkmcpqxot1uwisza345h769
    Base32,
    /// 0-9a-z
    Base36,
    /// As bwmarrin/snowflake writes it, 1-9a-zA-Z without l, I and O
    Base58,
    /// 0-9A-Za-z
    Base62,
    /// Base64 of the decimal digits, as bwmarrin/snowflake writes it
    Base64,
    /// The decimal digits, whose ASCII bwmarrin/snowflake calls bytes
    Bytes,
    /// UUID of version 8
    Uuid,
}

impl Form {
    /// Reads an id, or says what is allowed.
    pub(crate) fn read(self, text: &str) -> Result<Id, String> {
        match self {
            Self::Text => read_text(text),
            Self::Int => {
                let bits = text.parse().map(Id::from_i64);
                bits.map_err(|_| format!("{} to {} are allowed", i64::MIN, i64::MAX))
            }
            Self::Uint => {
                let bits = text.parse().map(Id::from_u64);
                bits.map_err(|_| format!("0 to {} are allowed", u64::MAX))
            }
            Self::Hex => {
                let bits = read_hex(text).map(Id::from_u64);
                bits.ok_or_else(|| "1 to 16 hex digits are allowed".to_owned())
            }
            Self::Base2 => read_base(Base::Base2, text),
            Self::Base32 => read_base(Base::Base32, text),
            Self::Base36 => read_base(Base::Base36, text),
            Self::Base58 => read_base(Base::Base58, text),
            Self::Base62 => read_base(Base::Base62, text),
            Self::Base64 => read_base(Base::Base64, text),
            Self::Bytes => read_base(Base::Base10, text),
            Self::Uuid => read_uuid(text),
        }
    }

    pub(crate) fn write(self, out: &mut impl Write, id: Id) -> io::Result<()> {
        match self {
            Self::Text => {
                out.write_all(id.to_text().as_bytes())?;
                out.write_all(b"\n")
            }
            Self::Int => writeln!(out, "{}", id.to_i64()),
            Self::Uint => writeln!(out, "{}", id.to_u64()),
            Self::Hex => writeln!(out, "{:016x}", id.to_u64()),
            Self::Base2 => writeln!(out, "{}", id.to_base(Base::Base2)),
            Self::Base32 => writeln!(out, "{}", id.to_base(Base::Base32)),
            Self::Base36 => writeln!(out, "{}", id.to_base(Base::Base36)),
            Self::Base58 => writeln!(out, "{}", id.to_base(Base::Base58)),
            Self::Base62 => writeln!(out, "{}", id.to_base(Base::Base62)),
            Self::Base64 => writeln!(out, "{}", id.to_base(Base::Base64)),
            Self::Bytes => writeln!(out, "{}", id.to_base(Base::Base10)),
            Self::Uuid => writeln!(out, "{}", Uuid::from(id)),
        }
    }
}

fn read_uuid(text: &str) -> Result<Id, String> {
    let uuid = Uuid::parse_str(text).map_err(|error| format!("{error}: a UUID is allowed"))?;
    Id::try_from(uuid).map_err(|error| error.to_string())
}

fn read_base(base: Base, text: &str) -> Result<Id, String> {
    Id::from_base(base, text.as_bytes()).map_err(|error| error.to_string())
}

fn read_text(text: &str) -> Result<Id, String> {
    use DecodeError::{InvalidDigit, TooLong};

    text.parse().map_err(|error| {
        let is_number = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        match error {
            TooLong { .. } | InvalidDigit { .. } if is_number => {
                format!("{error}; a number needs --from int or --from uint")
            }
            _ => error.to_string(),
        }
    })
}

fn read_hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}

/// What is printed of a made id.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// Base32hex, 1 to 13 digits of 0-9a-v
    Text,
    /// Signed, as a database's bigint
    Int,
    /// An object with all fields
    Json,
}

impl Format {
    pub(crate) fn write(
        self,
        out: &mut impl Write,
        codec: &Codec<Custom>,
        id: Id,
    ) -> io::Result<()> {
        match self {
            Self::Text => Form::Text.write(out, id),
            Self::Int => Form::Int.write(out, id),
            Self::Json => Record::new(codec, id).write_json(out),
        }
    }
}
