//! Advice on a text that is no id in the form it was read in.
//!
//! Most such texts are ids in another form, or come from a tool that adds quotes, a byte order mark or a header. The advice is
//! given after the problem, and only where the text leaves little doubt.

use std::path::Path;

use clap::ValueEnum;
use randflake_std::TaggedUuid;

use crate::form::TextFormat;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The problem with a text, and what to do about it where the text shows what was meant.
pub fn explain(form: TextFormat, text: &str, problem: String) -> String {
    // Before the search for foreign characters, which would find the mark and name only its number.
    if text.starts_with(BYTE_ORDER_MARK) {
        return "a byte order mark (U+FEFF) stands before it: save the file as UTF-8 without one, or \
                remove it, as `sed '1s/^\\xEF\\xBB\\xBF//'` does"
            .to_owned();
    }
    let is_foreign = |(_, c): &(usize, char)| !c.is_ascii() || c.is_ascii_control();
    if let Some((before, c)) = text.chars().enumerate().find(is_foreign) {
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
    let is_digit = |c: char| c.is_ascii_digit() || c == ',';
    if text.strip_prefix('-').unwrap_or(text).chars().all(is_digit) && text.contains(',') {
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
    // Forms that can be told by looking; most digits are digits in most bases, so base58 and its like are never advised.
    // The order is from what is plain to what is likely. Up to 13 hex digits may as well be a text
    // id, so hex without `0x` is advised for all 16 only.
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
    use randflake_std::Id;

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
            uuid::Uuid::from_bytes(id.to_uuid_bytes()).to_string(),
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
