//! The ways to write an id.

use std::io;

use clap::ValueEnum;
use randflake_std::Id;
use randflake_std::randflake_core::{Base, Notation};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::hex;
use crate::mistake;
use crate::output::Output;

/// How an id is written: each is the same 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextForm {
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

impl TextForm {
    /// Reads an id, or says what is wrong, what is allowed, and which form the text has instead.
    pub(crate) fn read(self, text: &str) -> Result<Id, String> {
        self.read_plainly(text)
            .map_err(|problem| mistake::explain(self, text, problem))
    }

    fn read_plainly(self, text: &str) -> Result<Id, String> {
        let number = |least: i64, most: u64| format!("not a number from {least} to {most}");
        match self {
            Self::Text => Id::from_text(text.as_bytes()).map_err(|error| error.to_string()),
            Self::Int => {
                let bits = text.parse().map(Id::from_i64);
                bits.map_err(|_| number(i64::MIN, i64::MAX.cast_unsigned()))
            }
            Self::Uint => {
                let bits = text.parse().map(Id::from_u64);
                bits.map_err(|_| number(0, u64::MAX))
            }
            Self::Hex => {
                let bits = hex::parse(text.as_bytes()).map(Id::from_u64);
                bits.ok_or_else(|| "not a number of 1 to 16 hex digits".to_owned())
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

    /// Reads a text that is plainly an id. For what is left, [`read`](TextForm::read) knows more ways to write it, and
    /// what is wrong.
    #[inline]
    pub(crate) fn parse(self, text: &[u8]) -> Option<Id> {
        match self {
            Self::Text => Id::from_text(text).ok(),
            Self::Int => parse_int(text),
            Self::Uint | Self::Bytes => Id::from_base(Base::Base10, text).ok(),
            Self::Hex => hex::parse(text).map(Id::from_u64),
            Self::Base2 => Id::from_base(Base::Base2, text).ok(),
            Self::Base32 => Id::from_base(Base::Base32, text).ok(),
            Self::Base36 => Id::from_base(Base::Base36, text).ok(),
            Self::Base58 => Id::from_base(Base::Base58, text).ok(),
            Self::Base62 => Id::from_base(Base::Base62, text).ok(),
            Self::Base64 => Id::from_base(Base::Base64, text).ok(),
            Self::Uuid => Uuid::try_parse_ascii(text).ok()?.try_into().ok(),
        }
    }

    /// Writes a line for each id.
    pub(crate) fn write(self, out: &mut Output, ids: &[Id]) -> io::Result<()> {
        let in_base = |out: &mut Output, base: Base| {
            out.blocks(base.max_len(), ids, |ids, place| {
                base.write(ids, b'\n', place)
            })
        };
        let notation = |out: &mut Output, notation: Notation| {
            out.blocks(notation.max_len(), ids, |ids, place| {
                notation.write(ids, b'\n', place)
            })
        };
        match self {
            Self::Text => notation(out, Notation::Text),
            Self::Int => notation(out, Notation::Signed),
            Self::Uint | Self::Bytes => notation(out, Notation::Unsigned),
            Self::Hex => out.lines(hex::LEN, ids, |id, place| {
                copy(&hex::digits(id.to_u64()), place)
            }),
            Self::Base2 => in_base(out, Base::Base2),
            Self::Base32 => in_base(out, Base::Base32),
            Self::Base36 => in_base(out, Base::Base36),
            Self::Base58 => in_base(out, Base::Base58),
            Self::Base62 => in_base(out, Base::Base62),
            Self::Base64 => in_base(out, Base::Base64),
            Self::Uuid => out.lines(Hyphenated::LENGTH, ids, |id, place| {
                Uuid::from(id).hyphenated().encode_lower(place).len()
            }),
        }
    }
}

#[inline]
fn copy(text: &[u8], place: &mut [u8]) -> usize {
    place[..text.len()].copy_from_slice(text);
    text.len()
}

fn parse_int(text: &[u8]) -> Option<Id> {
    // Signs come in no order that a processor could foresee, so there is no branch.
    let is_negative = text.first() == Some(&b'-');
    let digits = text.get(usize::from(is_negative)..)?;
    let number = Id::from_base(Base::Base10, digits).ok()?.to_u64();
    let most = i64::MAX.cast_unsigned() + u64::from(is_negative);
    let sign = i64::from(is_negative).wrapping_neg();
    let int = (number.cast_signed() ^ sign).wrapping_sub(sign);
    (number <= most).then_some(Id::from_i64(int))
}

fn read_uuid(text: &str) -> Result<Id, String> {
    let uuid = Uuid::parse_str(text).map_err(|error| format!("not a UUID: {error}"))?;
    Id::try_from(uuid).map_err(|error| error.to_string())
}

fn read_base(base: Base, text: &str) -> Result<Id, String> {
    Id::from_base(base, text.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every length, and texts that are nearly ids.
    #[test]
    fn what_is_parsed_is_what_is_read() {
        let mut number: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut out = Vec::new();
        for form in TextForm::value_variants() {
            for shift in 0..64 {
                number = number.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
                let texts = TextForm::value_variants()
                    .iter()
                    .map(|form| form.shown(Id::from_u64(number >> shift)));
                for text in texts {
                    let last = text.len() - 1;
                    out.extend([
                        text[1..].to_owned(),
                        text[..last].to_owned(),
                        format!("-{text}"),
                        format!("0{text}"),
                        format!("+{text}"),
                        format!("{text}0"),
                        text,
                    ]);
                }
                for text in out.drain(..) {
                    if let Some(id) = form.parse(text.as_bytes()) {
                        assert_eq!(form.read(&text), Ok(id), "{form:?} {text}");
                    }
                }
                let id = Id::from_u64(number >> shift);
                assert_eq!(form.parse(form.shown(id).as_bytes()), Some(id), "{form:?}");
            }
        }
    }

    impl TextForm {
        /// The usual form of an id, for messages.
        fn shown(self, id: Id) -> String {
            let base = match self {
                Self::Text => return id.to_string(),
                Self::Int => return id.to_i64().to_string(),
                Self::Uint | Self::Bytes => return id.to_u64().to_string(),
                Self::Hex => return format!("{:016x}", id.to_u64()),
                Self::Uuid => return Uuid::from(id).to_string(),
                Self::Base2 => Base::Base2,
                Self::Base32 => Base::Base32,
                Self::Base36 => Base::Base36,
                Self::Base58 => Base::Base58,
                Self::Base62 => Base::Base62,
                Self::Base64 => Base::Base64,
            };
            id.to_base(base).to_string()
        }
    }
}
