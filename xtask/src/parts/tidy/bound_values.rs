//! No SQL statement is formatted: values are bound to it. A name that was read from a table, put
//! into the next statement, once gave its writer the reader's rights.

use proc_macro2::{TokenStream, TokenTree};

use super::source::{each_token, is_word};
use super::workspace::Workspace;
use crate::helpers::matrix::is_engine;

/// Macros that put values into text.
const FORMATTERS: [&str; 4] = ["format", "format_args", "write", "writeln"];

/// Words of SQL, as statements have them here.
const WORDS: [&str; 24] = [
    "ALTER", "AND", "BETWEEN", "BY", "CALL", "CREATE", "DELETE", "DO", "DROP", "EXISTS", "FROM",
    "GRANT", "IN", "INSERT", "INTO", "LIKE", "LIMIT", "OR", "PRAGMA", "SELECT", "SET", "UPDATE",
    "VALUES", "WHERE",
];

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let sources = workspace
        .sources()
        .filter(|(package, source)| is_engine(package) && source.path.starts_with("src"));
    let found = sources.flat_map(|(package, source)| source.places(package, &lines(&source.code)));
    found.collect()
}

/// The lines of macros with a literal that has a word of SQL, and of replacements of what stands
/// between braces in a text.
fn lines(code: &TokenStream) -> Vec<usize> {
    let mut lines = Vec::new();
    each_token(code, &mut |tokens, at| {
        let TokenTree::Group(group) = &tokens[at] else {
            return;
        };
        let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
        let is_formatter = before(1).is_some_and(|mark| mark.to_string() == "!")
            && before(2).is_some_and(|name| is_word(name, &FORMATTERS));
        let is_replacement = before(1).is_some_and(|name| is_word(name, &["replace"]));
        let formats = is_formatter && literals(&group.stream()).any(|text| is_sql(&text));
        let replaces = is_replacement && literals(&group.stream()).any(|text| text.contains('{'));
        if formats || replaces {
            lines.push(group.span_open().start().line);
        }
    });
    lines
}

/// Those that stand in it themselves.
fn literals(code: &TokenStream) -> impl Iterator<Item = String> {
    let literal = |token| match token {
        TokenTree::Literal(literal) => Some(literal.to_string()),
        _ => None,
    };
    code.clone().into_iter().filter_map(literal)
}

/// Two words, because one alone may be emphasis; or a value in quotes.
fn is_sql(text: &str) -> bool {
    let is_known = |word: &&str| WORDS.contains(word);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(is_known).count() >= 2 || text.contains("'{")
}

#[cfg(test)]
mod tests {
    use super::super::workspace::MemberCrate;
    use super::*;

    fn violations(package: &str, text: &str) -> Vec<String> {
        let member = MemberCrate::planted(package, "", &[("src/session.rs", text)]);
        check(&Workspace::planted("", vec![member]))
    }

    #[test]
    fn a_formatted_statement_is_found() {
        for planted in [
            r#"format!("SELECT value FROM record WHERE namespace = '{name}'")"#,
            r#"format!("namespace > '{name}' AND kind = 0")"#,
            r#"{ _ = write!(text, "DELETE FROM record WHERE kind = {kind}"); }"#,
            r#"ask(&format!("SET SESSION x = {number}, SELECT 1"))"#,
            "format!(r#\"UPDATE record SET value = \"{value}\"\"#)",
            r#"SETTINGS.replace("{owner}", &owner)"#,
        ] {
            let text = format!("fn a() {{\n    {planted}\n}}\n");
            let found = violations("randflake-postgres", &text);
            assert_eq!(found, ["randflake-postgres/src/session.rs:2"], "{planted}");
            assert_eq!(violations("randflake", &text), [""; 0]);
        }
    }

    #[test]
    fn messages_and_bound_statements_are_none() {
        for text in [
            r#"fn a() { format!("the namespace {name:?} cannot be read: SET it") }"#,
            r#"fn a() { ask("SELECT value FROM record WHERE namespace = $1", &[name]) }"#,
            "fn a() { text.replace(name, part) }",
            r#"// format!("SELECT {a} FROM b")"#,
        ] {
            assert_eq!(violations("randflake-mysql", text), [""; 0]);
        }
    }
}
