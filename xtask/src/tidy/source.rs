//! Rust source as tokens: comments are gone, and what stands in literals is none.

use std::path::Path;

use proc_macro2::{Ident, TokenStream, TokenTree};

/// Shows each token, wherever it is nested: those beside it, and its place among them.
pub(crate) fn each_token(code: &TokenStream, see: &mut dyn FnMut(&[TokenTree], usize)) {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        see(&tokens, at);
        if let TokenTree::Group(group) = token {
            each_token(&group.stream(), see);
        }
    }
}

/// Whether a crate is used: `name::`, `use name` or `extern crate name`.
pub(crate) fn uses(code: &TokenStream, name: &str) -> bool {
    let mut is_used = false;
    each_token(code, &mut |tokens, at| {
        let is = |at: Option<usize>, form: fn(&TokenTree) -> bool| {
            at.and_then(|at| tokens.get(at)).is_some_and(form)
        };
        if is_word(&tokens[at], &[name]) {
            // The head of a path, not the tail of a longer one.
            let follows_path = is(at.checked_sub(1), is_colon) && is(at.checked_sub(3), ends_path);
            let names = is(at.checked_sub(1), |before| {
                is_word(before, &["use", "crate"])
            });
            is_used |= !follows_path
                && (names || is(Some(at + 1), is_colon) && is(Some(at + 2), is_colon));
        }
    });
    is_used
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

fn ends_path(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(punct) => punct.as_char() == '>',
        TokenTree::Ident(_) => !is_word(token, &["impl", "for", "use"]),
        _ => false,
    }
}

pub(crate) fn is_word(token: &TokenTree, words: &[&str]) -> bool {
    let is = |ident: &Ident| words.iter().any(|word| ident == word);
    matches!(token, TokenTree::Ident(ident) if is(ident))
}

/// The names that follow on the path of the crate's root, with their lines, in a file of its `src`: `crate::name`, or as
/// many `super::` as the file is deep. What only links of the documentation need is no use.
pub(crate) fn names_of_root(code: TokenStream, file: &Path) -> Vec<(usize, String)> {
    let depth = file.iter().count() - usize::from(file.ends_with("mod.rs"));
    let mut names = Vec::new();
    collect_names(code, depth, &mut names);
    names
}

fn collect_names(code: TokenStream, depth: usize, names: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = code.into_iter().collect();
    let is_path =
        |at: usize| matches!(tokens.get(at..at + 2), Some(two) if two.iter().all(is_colon));
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if token.to_string() == "[cfg (doc)]" {
            let rest = tokens[at..].iter();
            at += rest.take_while(|token| token.to_string() != ";").count();
        }
        if let TokenTree::Group(group) = token {
            let is_module = at > 2 && is_word(&tokens[at - 3], &["mod"]);
            collect_names(group.stream(), depth + usize::from(is_module), names);
        }
        let mut supers = 0;
        while is_word(&tokens[at - 1], &["super"]) && is_path(at) {
            supers += 1;
            match tokens.get(at + 2) {
                Some(next) if is_word(next, &["super"]) => at += 3,
                _ => break,
            }
        }
        if (is_word(token, &["crate"]) || supers == depth && supers > 0) && is_path(at) {
            tokens
                .get(at + 2)
                .into_iter()
                .for_each(|path| heads(path, names));
        }
    }
}

/// The first name of a path, or of each path in braces.
fn heads(path: &TokenTree, names: &mut Vec<(usize, String)>) {
    match path {
        TokenTree::Ident(name) => names.push((name.span().start().line, name.to_string())),
        TokenTree::Group(group) => {
            let tokens: Vec<_> = group.stream().into_iter().collect();
            let parts = tokens.split(|token| token.to_string() == ",");
            let firsts = parts.filter_map(|part| part.first());
            firsts.for_each(|first| heads(first, names));
        }
        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_a_crate_use_it() {
        let uses = |code: &str| uses(&code.parse().unwrap(), "serde");
        assert!(uses("use serde;"));
        assert!(uses("fn a() { if b { <X as serde::Serialize>::c() } }"));
        assert!(uses("impl ::serde::Serialize for X {}"));
        assert!(uses("extern crate serde;"));
        assert!(!uses("<X as Y>::serde::z()"));
        assert!(!uses("use serde_json::Value;"));
        assert!(!uses("mod serde { }"));
        assert!(!uses("use crate::serde::X;"));
        assert!(!uses("x.serde()"));
        assert!(!uses("// serde::a\n\"serde::a\""));
    }
}
