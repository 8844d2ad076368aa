//! Names that printed SQL leaves to the `search_path`: calls, operators and types without a schema.

use std::collections::BTreeSet;

/// What a text calls, by names without their schema.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) functions: BTreeSet<String>,
    pub(super) operators: BTreeSet<String>,
    /// What has no schema, each with the line that it is in.
    pub(super) unqualified: Vec<String>,
}

/// Words before a parenthesis that call no function, or one of the grammar's own, which has no name to be taken.
const GRAMMAR: &[&str] = &[
    "and", "any", "as", "bit", "check", "coalesce", "else", "exists", "extract", "from",
    "greatest", "if", "in", "key", "least", "not", "on", "or", "return", "rows", "select", "table",
    "then", "to", "unique", "values", "when", "where",
];
/// Words that stand for an operator, which is looked for in the `search_path`.
const OPERATOR_WORDS: &[&str] = &["between", "ilike", "like", "nullif", "similar"];
/// Types with names in `pg_catalog` only; the grammar itself has `bigint`, `boolean`, `integer`, `interval` and others.
const TYPES: &[&str] = &[
    "bytea",
    "regclass",
    "regnamespace",
    "regproc",
    "regprocedure",
    "regrole",
    "text",
    "timestamptz",
    "uuid",
];
/// Words before a `=` that compares nothing.
const SETTINGS: &[&str] = &["detail", "hint", "message", "search_path"];

#[derive(Debug, PartialEq)]
enum Token<'a> {
    /// A name, with its schema if it has one.
    Word(&'a str),
    Operator(&'a str),
    Literal,
    Other(char),
}

/// Looks for calls in the functions that a text makes, and in its own statements.
pub(super) fn calls(text: &str) -> Calls {
    let mut calls = Calls::default();
    // Types in what is stored as text are looked for when it is run, others when they are defined.
    let mut is_body = false;
    for (line, tokens) in statements(text) {
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| &tokens[at]);
            let after = tokens.get(at + 1);
            let mut unqualified = |what: &str| calls.unqualified.push(format!("{what}: {line}"));
            match token {
                Token::Word(word) => {
                    let lower = word.to_ascii_lowercase();
                    let (schema, name) = word.rsplit_once('.').unwrap_or(("", word));
                    let is_call = after == Some(&Token::Other('('))
                        && !matches!(before, Some(Token::Word(word)) if word.eq_ignore_ascii_case("as"));
                    if is_call && !GRAMMAR.contains(&&*lower) && name != "OPERATOR" {
                        if schema == "pg_catalog" {
                            calls.functions.insert(name.to_owned());
                        } else if schema.is_empty() {
                            calls.functions.insert(name.to_owned());
                            unqualified(name);
                        }
                    }
                    let is_distinct_from =
                        lower == "distinct" && after == Some(&Token::Word("FROM"));
                    let is_case_of =
                        lower == "case" && after.is_some_and(|after| *after != Token::Word("WHEN"));
                    let is_list = lower == "in" && after == Some(&Token::Other('('));
                    let is_type = is_body && TYPES.contains(&&*lower);
                    if OPERATOR_WORDS.contains(&&*lower)
                        || is_distinct_from
                        || is_case_of
                        || is_list
                        || is_type
                    {
                        unqualified(word);
                    }
                }
                Token::Operator(operator) => {
                    let is_qualified = matches!(before, Some(Token::Word("pg_catalog.")));
                    let is_setting = *operator == "="
                        && matches!(before, Some(Token::Word(word)) if SETTINGS.contains(&&*word.to_ascii_lowercase()));
                    let is_all = *operator == "*" && before == Some(&Token::Other('('));
                    if is_setting || is_all || [":=", "::"].contains(operator) {
                        continue;
                    }
                    calls.operators.insert((*operator).to_owned());
                    if !is_qualified {
                        unqualified(operator);
                    }
                }
                Token::Literal | Token::Other(_) => {}
            }
        }
        is_body ^= line.contains("$$");
    }
    calls
}

/// Lines and their tokens.
// No call, operator or literal of the printed texts is broken over two lines.
fn statements(text: &str) -> impl Iterator<Item = (&str, Vec<Token<'_>>)> {
    let lines = text.lines().map(str::trim);
    let code = lines.filter(|line| !line.starts_with("--"));
    code.map(|line| (line, tokens(line)))
}

fn tokens(line: &str) -> Vec<Token<'_>> {
    const OPERATOR: &str = "+-*/<>=~!@#%^&|`?:";
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        let length =
            |is_part: &dyn Fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let begins_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let (token, length) = if rest.starts_with("--") {
            break;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = length(&is_in_name);
            (Some(Token::Word(&rest[..length])), length)
        } else if first == '\'' {
            (Some(Token::Literal), quoted(rest))
        } else if first.is_ascii_digit() {
            (Some(Token::Literal), length(&is_in_name))
        } else if first == '-' && begins_number(&rest[1..]) {
            (
                Some(Token::Literal),
                1 + rest[1..].find(|c| !is_in_name(c)).unwrap_or(rest.len() - 1),
            )
        } else if OPERATOR.contains(first) {
            let length = length(&|c| OPERATOR.contains(c));
            (Some(Token::Operator(&rest[..length])), length)
        } else if first.is_whitespace() {
            (None, first.len_utf8())
        } else {
            (Some(Token::Other(first)), first.len_utf8())
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

/// Length of a literal in quotes; a quote within it is doubled.
fn quoted(text: &str) -> usize {
    let mut end = 1;
    while let Some(quote) = text[end..].find('\'') {
        end += quote + 1;
        if !text[end..].starts_with('\'') {
            return end;
        }
        end += 1;
    }
    text.len()
}

#[test]
fn what_has_no_schema_is_found() {
    let found = |text: &str| calls(text).unqualified.len();
    for text in [
        "SELECT format('%s (1)', a)",
        "x := a & 1;",
        "IF a NOT BETWEEN 1 AND 2 THEN",
        "IF a IN (1, 2) THEN",
        "IF a IS DISTINCT FROM b THEN",
        "AS $$\nSELECT a::text\n$$;",
        "DO $$\ndigits text;\n$$;",
        "SELECT CASE a WHEN 1 THEN 2 END",
        "CREATE TABLE s.t (number integer CHECK (number > 1))",
    ] {
        assert_eq!(found(text), 1, "{text}");
    }
    for text in [
        "-- a & b, format(x)",
        "SELECT pg_catalog.format('it''s a & b', a) OPERATOR(pg_catalog.&) -1, s.decrypt(2)",
        "MESSAGE = 'a' OPERATOR(pg_catalog.||) a, x := a::bigint;",
        "FROM (VALUES (1)) AS part (begins, ends) WHERE a IS NULL AND pg_catalog.count(*) IS NULL",
    ] {
        assert_eq!(found(text), 0, "{text}");
    }
}
