//! The ways to write an id.

use std::io::{self, Write};

use clap::ValueEnum;
use randflake_std::randflake_core::{Codec, DecodeError};
use randflake_std::{Id, Randflake};

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
        }
    }
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
        codec: &Codec<Randflake>,
        id: Id,
    ) -> io::Result<()> {
        match self {
            Self::Text => Form::Text.write(out, id),
            Self::Int => Form::Int.write(out, id),
            Self::Json => Record::new(codec, id).write_json(out),
        }
    }
}
