//! Text formats of ids, and advice on a text that is not an id in its format.
//!
//! Most such texts are ids in another format, or come from a tool that adds quotes, a byte order
//! mark or a header. The advice is given after the problem, and only where the text leaves little
//! doubt.

use core::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum;
use itoa::Buffer;
use randflake_std::randflake_core::Base;
use randflake_std::{Id, TaggedUuid};
use uuid::Uuid;

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
        Self::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value)
            .map(|value| value.get_name().to_owned())
            .collect()
    }

    /// The form of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Reads an id, which may be a typed one where it is a text; or says what is wrong, what is
    /// allowed, and which form the text has instead.
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
            .map_err(|problem| explain(self, text, problem))
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
                let id: Id = text
                    .parse()
                    .map(Id::from_i64)
                    .map_err(|_| number(i64::MIN, i64::MAX.cast_unsigned()))?;
                only_text(text, id, Buffer::new().format(id.to_i64()))
            }
            Self::Uint => {
                let id: Id = text
                    .parse()
                    .map(Id::from_u64)
                    .map_err(|_| number(0, u64::MAX))?;
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
                let uuid = Uuid::parse_str(text).map_err(|error| format!("not a UUID: {error}"))?;
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
    text.len() <= 32
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with(SEPARATOR)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
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

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The problem with a text, and what to do about it where the text shows what was meant.
pub fn explain(form: TextFormat, text: &str, problem: String) -> String {
    // Before the search for foreign characters, which would find the mark and name only its number.
    if text.starts_with(BYTE_ORDER_MARK) {
        return "a byte order mark (U+FEFF) stands before it: save the file as UTF-8 without one, or \
                remove it, as `sed '1s/^\\xEF\\xBB\\xBF//'` does"
            .to_owned();
    }
    let mut characters = text.chars().enumerate();
    if let Some((before, c)) = characters.find(|(_, c)| !c.is_ascii() || c.is_ascii_control()) {
        let place = before + 1;
        return match u32::from(c) {
            0 => format!("character {place} is a zero byte, as in UTF-16: UTF-8 is allowed"),
            code => {
                let shown = c.escape_debug();
                format!("character {place} is '{shown}' (U+{code:04X}): ids are written in ASCII")
            }
        };
    }
    match advice(form, text) {
        Some(advice) => format!("{problem}; {advice}"),
        None => problem,
    }
}

fn advice(form: TextFormat, text: &str) -> Option<String> {
    if text.starts_with(['{', '[']) {
        return Some("of JSON only the id is allowed, as `jq -r .text` prints it".to_owned());
    }
    if form == TextFormat::Text && text.contains('_') {
        return Some(
            "the prefix of a typed id, before the last _, has a-z, 0-9 and _ and begins with a letter, as in ord_3vgoe12ccb8gh"
                .to_owned(),
        );
    }
    // A line of CSV, or a string copied from source code.
    let bare = text.trim_matches(['"', '\'', ',', ';']).trim();
    if bare.len() < text.len() && reads(form, bare) {
        return Some("quotes and commas are not allowed: remove them".to_owned());
    }
    if text.parse::<TaggedUuid>().is_ok() {
        return Some(
            "it may be a tagged UUID, whose 64 bits alone are no id: `randflake uuid inspect` checks it".to_owned(),
        );
    }
    let mut unsigned = text.strip_prefix('-').unwrap_or(text).chars();
    if unsigned.all(|c| c.is_ascii_digit() || c == ',') && text.contains(',') {
        return Some("a number has no commas".to_owned());
    }
    if text.contains([',', ';', '|']) {
        return Some(
            "of a table only the ids are allowed; `inspect` and `convert` read one by --csv --column NAME".to_owned(),
        );
    }
    // Only said, not accepted: an id has one text, by which it is compared.
    if form == TextFormat::Text && reads(form, &text.to_ascii_lowercase()) {
        return Some("a text id has lower-case letters only".to_owned());
    }
    if text.contains(char::is_whitespace) {
        return Some("each id needs a line of its own".to_owned());
    }
    // Before what looks like a path, as both have points.
    if text.contains('.') && text.parse::<f64>().is_ok() {
        let advice = match form {
            TextFormat::Text => {
                "a number with a fraction or an exponent has lost its last digits; pandas, DuckDB and spreadsheets make one of a \
                 text id with digits and one e, such as 12345678901e9: have them read the column as text"
            }
            _ => {
                "a number with a fraction or an exponent has lost its last digits: keep ids as text or as whole numbers"
            }
        };
        return Some(advice.to_owned());
    }
    // Only what looks like a path: an id must not be taken for a file that happens to have its
    // name.
    if text.contains(['.', '/']) && Path::new(text).is_file() {
        return Some(format!("to read ids from this file, write < {text}"));
    }
    // Forms that can be told by looking; most digits are digits in most bases, so base58 and its
    // like are never advised. The order is from what is plain to what is likely. Up to 13 hex
    // digits may as well be a text id, so hex without `0x` is advised for all 16 only.
    let (name, other) = if reads(TextFormat::Int, text) {
        ("a signed number", TextFormat::Int)
    } else if reads(TextFormat::Uint, text) {
        ("an unsigned number", TextFormat::Uint)
    } else if text.len() > 16 && reads(TextFormat::Uuid, text) {
        ("a UUID", TextFormat::Uuid)
    } else if text.starts_with("0x") && reads(TextFormat::Hex, text) {
        ("a hexadecimal number", TextFormat::Hex)
    } else if reads(TextFormat::Text, text) {
        ("a text id", TextFormat::Text)
    } else if text.len() == 16 && reads(TextFormat::Hex, text) {
        ("a hexadecimal number", TextFormat::Hex)
    } else if text.ends_with('=') && reads(TextFormat::Base64, text) {
        ("an id in base64", TextFormat::Base64)
    } else {
        return None;
    };
    // The text was refused in this form, so the same form would be no advice.
    let option = other.to_possible_value()?;
    (other != form).then(|| format!("{name} needs --from {}", option.get_name()))
}

fn reads(form: TextFormat, text: &str) -> bool {
    form.read_plainly(text).is_ok()
}

/// What an input is that begins so, where it is a file of another kind than text.
pub fn not_text(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            "the input is UTF-16, as Windows PowerShell writes it: UTF-8 is allowed (Out-File -Encoding ascii)"
        }
        [0x1F, 0x8B, ..] => "the input is compressed: write `zcat FILE | randflake ...`",
        [0x28, 0xB5, 0x2F, 0xFD, ..] => {
            "the input is compressed: write `zstdcat FILE | randflake ...`"
        }
        [b'P', b'A', b'R', b'1', ..] => {
            "the input is Parquet: write its ids as CSV first, as `duckdb` and pandas do"
        }
        [b'P', b'K', 3, 4, ..] => {
            "the input is a spreadsheet or an archive: save it as CSV, with the ids as text, or unpack it"
        }
        _ => return None,
    })
}

/// Says what is wrong with a line that is not UTF-8.
pub fn not_utf8(line: &[u8], valid_up_to: usize) -> String {
    if let Some(problem) = not_text(line) {
        return problem.to_owned();
    }
    let byte = line.get(valid_up_to).copied().unwrap_or_default();
    format!(
        "byte {} is 0x{byte:02x}, which is not UTF-8: ids are written in ASCII",
        valid_up_to + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the advice is, to follow it helps.
    #[test]
    fn a_named_form_reads_the_text() {
        let id = Id::from_u64(0x9E37_79B9_7F4A_7C15);
        for text in [
            id.to_string(),
            id.to_i64().to_string(),
            id.to_u64().to_string(),
            format!("{:016x}", id.to_u64()),
            format!("0x{:x}", id.to_u64()),
            Uuid::from_bytes(id.to_uuid_bytes()).to_string(),
        ] {
            for form in TextFormat::value_variants() {
                if reads(*form, &text) {
                    continue;
                }
                let Some(advice) = advice(*form, &text) else {
                    continue;
                };
                let (_, named) = advice.split_once("--from ").unwrap();
                let named = TextFormat::from_str(named, false).unwrap();
                assert_ne!(named, *form);
                assert!(named.read(&text).is_ok(), "{text}: {advice}");
            }
        }
    }
}
