//! Rules about single sources: values that are bound to SQL, places of `cfg`, names in `Debug`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::tokens::{each_token, is};
use super::workspace::{SourceFile, Workspace};
use crate::helpers::matrix::is_engine;

/// Macros that put values into text.
const FORMATTERS: [&str; 4] = ["format", "format_args", "write", "writeln"];

/// Words of SQL, as statements have them here.
const WORDS: &str = "ALTER AND BETWEEN BY CALL CREATE DELETE DO DROP EXISTS FROM GRANT IN INSERT \
                     INTO LIKE LIMIT OR PRAGMA SELECT SET UPDATE VALUES WHERE";

/// No SQL statement is formatted: values are bound to it. A name that was read from a table, put
/// into the next statement, once gave its writer the reader's rights.
pub(crate) fn bound_values(workspace: &Workspace) -> Vec<String> {
    let of_engines = workspace
        .sources()
        .filter(|(package, _)| is_engine(package));
    let sources = of_engines.filter(|(_, source)| source.path.starts_with("src"));
    sources
        .flat_map(|(package, source)| source.places(package, &formatted(&source.code)))
        .collect()
}

/// The lines of macros with a literal that has a word of SQL, and of replacements of what stands
/// between braces in a text.
fn formatted(code: &TokenStream) -> Vec<usize> {
    let mut lines = Vec::new();
    each_token(code, &mut |tokens, at| {
        let TokenTree::Group(group) = &tokens[at] else {
            return;
        };
        let before = |back: usize| at.checked_sub(back);
        let is_formatter =
            is(tokens, before(1), "!") && FORMATTERS.iter().any(|name| is(tokens, before(2), name));
        let is_replacement = is(tokens, before(1), "replace");
        let tokens = group.stream().into_iter();
        let mut literals = tokens.filter_map(|token| match token {
            TokenTree::Literal(literal) => Some(literal.to_string()),
            _ => None,
        });
        if is_formatter && literals.any(|text| is_sql(&text))
            || is_replacement && literals.any(|text| text.contains('{'))
        {
            lines.push(group.span_open().start().line);
        }
    });
    lines
}

/// Two words, because one alone may be emphasis; or a value in quotes.
fn is_sql(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let known = words.filter(|word| WORDS.split(' ').any(|known| known == *word));
    known.count() >= 2 || text.contains("'{")
}

/// `cfg` stands on items, never inside a function: then an item is wholly present or wholly absent.
pub(crate) fn cfg_places(workspace: &Workspace) -> Vec<String> {
    let sources = workspace.sources().filter(|(package, source)| {
        *package != "xtask" && source.path.starts_with("src") && !source.path.ends_with("tests.rs")
    });
    sources
        .flat_map(|(package, source): (&str, &SourceFile)| {
            source.places(package, &inner_cfgs(&source.code))
        })
        .collect()
}

/// The lines of `cfg` inside functions, but for those of unit tests and of macros' definitions.
fn inner_cfgs(code: &TokenStream) -> Vec<usize> {
    let mut lines = Vec::new();
    collect_cfgs(code, false, &mut lines);
    lines
}

fn collect_cfgs(code: &TokenStream, is_inside: bool, lines: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    // Whether the next block is that of a function, or is not looked at.
    let (mut is_function, mut is_left_out) = (false, false);
    for (at, token) in tokens.iter().enumerate() {
        let line = token.span().start().line;
        match token {
            TokenTree::Ident(word) if word == "fn" => {
                is_function |= matches!(tokens.get(at + 1), Some(TokenTree::Ident(_)));
            }
            TokenTree::Ident(word) if word == "mod" => {
                let before = at.checked_sub(1).map(|before| tokens[before].to_string());
                is_left_out = before.is_some_and(|attribute| attribute == "[cfg (test)]");
            }
            TokenTree::Ident(word) if word == "macro_rules" => is_left_out = true,
            TokenTree::Ident(word) if word == "cfg" && is(&tokens, Some(at + 1), "!") => {
                lines.extend(is_inside.then_some(line));
            }
            TokenTree::Group(group) => {
                let is_block = group.delimiter() == Delimiter::Brace;
                let text = group.to_string();
                if text.starts_with("[cfg (") || text.starts_with("[cfg_attr (") {
                    lines.extend(is_inside.then_some(line));
                } else if !(is_block && is_left_out) {
                    let is_constant = is(&tokens, at.checked_sub(1), "=");
                    let is_inside = is_inside || is_block && (is_function || is_constant);
                    collect_cfgs(&group.stream(), is_inside, lines);
                }
                if is_block {
                    (is_function, is_left_out) = (false, false);
                }
            }
            _ if is(&tokens, Some(at), ";") => (is_function, is_left_out) = (false, false),
            _ => {}
        }
    }
}

/// A hand-written `Debug` shows the name of its own type: after a renaming nobody sees the old one
/// in a log.
pub(crate) fn debug_names(workspace: &Workspace) -> Vec<String> {
    let found = workspace.sources().filter_map(|(package, source)| {
        let what = other_name(&source.code.to_string())?;
        Some(format!("{package}/{}: {what}", source.path.display()))
    });
    found.collect()
}

/// A type whose impl gives another name to the first `debug_struct` or `debug_tuple`. The code is
/// as tokens are printed.
fn other_name(code: &str) -> Option<String> {
    code.split("Debug for ").skip(1).find_map(|rest| {
        let name = rest.split([' ', '<']).next()?;
        let of_impl = rest.split(" impl ").next()?;
        let calls = ["debug_struct (", "debug_tuple ("];
        let (_, call) = calls.iter().find_map(|call| of_impl.split_once(call))?;
        let shown = call.strip_prefix('"')?.split('"').next()?;
        (shown != name).then(|| format!("{name} is shown as {shown}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(package: &str, text: &str) -> Vec<String> {
        bound_values(&Workspace::of_source(package, "src/session.rs", text))
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

    #[test]
    fn only_cfg_inside_functions_is_found() {
        let found = |text: &str| inner_cfgs(&text.parse().unwrap());
        let text = "fn a() {\n    #[cfg(x)]\n    b();\n    if cfg!(y) {}\n    c! { #[cfg(z)] d }\n\
                    }\nconst A: u8 = {\n    #[cfg(x)]\n    1\n};\n";
        assert_eq!(found(text), [2, 4, 5, 8]);
        let text = "#![cfg_attr(x, no_std)]\n#[cfg(x)]\nmod a;\nimpl A {\n    #[cfg(x)]\n    \
                    fn b(c: [u8; 2], d: fn(u8)) {}\n}\ntrait B {\n    fn f();\n    #[cfg(x)]\n    \
                    fn g() {}\n}\n#[cfg(test)]\nmod tests {\n    fn b() { if cfg!(miri) {} }\n}\n\
                    mod c {\n    #[cfg(x)]\n    use d;\n}\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn another_name_is_seen() {
        let of = |name: &str| {
            let body = format!("{{ fn fmt(&self) {{ f.debug_struct({name:?}) }} }}");
            let text = format!("mod a {{ impl<T> fmt::Debug for Slot<T> where T: Copy {body} }}");
            debug_names(&Workspace::of_source("a", "src/b.rs", &text))
        };
        assert_eq!(of("Slot"), [""; 0]);
        assert_eq!(of("Place"), ["a/src/b.rs: Slot is shown as Place"]);
        assert_eq!(other_name("fn a() { f.debug_struct(name) }"), None);
    }
}
