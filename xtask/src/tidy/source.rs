//! Rust source without what is no code.

/// The text with comments and the content of string and character literals turned to spaces. Lines stay where they
/// are.
pub(crate) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let before = code.chars().next_back();
        let blank = literal_or_comment(rest, before);
        if blank == 0 {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            code.extend(
                rest[..blank]
                    .chars()
                    .map(|c| if c == '\n' { '\n' } else { ' ' }),
            );
            rest = &rest[blank..];
        }
    }
    code
}

/// The length in bytes of the comment or literal that begins here, or 0.
fn literal_or_comment(text: &str, before: Option<char>) -> usize {
    let until = |from: usize, end: &str| {
        text[from..]
            .find(end)
            .map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if let Some(string) = text.strip_prefix('"') {
        return 1 + quoted(string, '"');
    }
    let in_a_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let raw = text
        .strip_prefix("br")
        .or_else(|| text.strip_prefix("cr"))
        .or_else(|| text.strip_prefix('r'));
    if let (false, Some(raw)) = (in_a_word, raw) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let start = text.len() - raw.len() + hashes + 1;
            return until(start, &format!("\"{}", "#".repeat(hashes)));
        }
    }
    if let Some(character) = text.strip_prefix('\'') {
        // Not a lifetime: a quote closes it.
        let mut characters = character.char_indices();
        return match (characters.next(), characters.next()) {
            (Some((_, '\\')), _) => 1 + quoted(character, '\''),
            (Some(_), Some((at, '\''))) => 1 + at + 1,
            _ => 0,
        };
    }
    0
}

/// The length up to and with the closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    text.len()
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Whether a crate is used: `name::`, `use name` or `extern crate name`.
pub(crate) fn uses(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        // The head of a path, not the tail of a longer one.
        let longer = before.trim_end().strip_suffix("::");
        let first = longer.is_none_or(|path| !path.ends_with(is_word) && !path.ends_with('>'));
        let before = before.trim_end();
        let named = before.ends_with("use") || before.ends_with("extern crate");
        whole && first && (after.trim_start().starts_with("::") || named)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        let blank = |text: &str| {
            code_only(text)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(blank("a // b \" c\nd"), "a d");
        assert_eq!(blank("a /* b /* c */ d */ e"), "a e");
        assert_eq!(blank(r#"a("b \" c", 'd', '\'', '"') e"#), "a( , , , ) e");
        assert_eq!(
            blank("fn a<'b>(c: &'b str) {} // d"),
            "fn a<'b>(c: &'b str) {}"
        );
        assert_eq!(
            blank("a r#\"b \" c\"# d; for r in r\"x\\\" e"),
            "a d; for r in e"
        );
        assert_eq!(blank("b'x' b\"y\" z"), "b b z");
        assert_eq!(blank("'ä' ä"), "ä");
    }

    #[test]
    fn lines_stay_where_they_are() {
        assert_eq!(code_only("/*\n\n*/a\n\"\n\"b").lines().count(), 5);
    }

    #[test]
    fn only_paths_of_a_crate_use_it() {
        assert!(uses("use serde;", "serde"));
        assert!(uses("impl serde::Serialize for X {}", "serde"));
        assert!(uses("impl\n::serde::Serialize for X {}", "serde"));
        assert!(!uses("<X as Y>::serde::z()", "serde"));
        assert!(uses("extern crate serde;", "serde"));
        assert!(!uses("use serde_json::Value;", "serde"));
        assert!(!uses("mod serde { }", "serde"));
        assert!(!uses("use crate::serde::X;", "serde"));
        assert!(!uses("x.serde()", "serde"));
    }
}
