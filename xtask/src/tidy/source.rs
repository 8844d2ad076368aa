//! Rust source as tokens: comments are gone, and what stands in literals is none.

use proc_macro2::{Ident, TokenStream, TokenTree};

/// Whether a crate is used: `name::`, `use name` or `extern crate name`.
pub(crate) fn uses(code: &TokenStream, name: &str) -> bool {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    let is = |at: Option<usize>, form: fn(&TokenTree) -> bool| {
        at.and_then(|at| tokens.get(at)).is_some_and(form)
    };
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => uses(&group.stream(), name),
        TokenTree::Ident(ident) if ident == name => {
            // The head of a path, not the tail of a longer one.
            let follows_path = is(at.checked_sub(1), is_colon) && is(at.checked_sub(3), ends_path);
            let names = is(at.checked_sub(1), |before| {
                is_word(before, &["use", "crate"])
            });
            !follows_path && (names || is(Some(at + 1), is_colon) && is(Some(at + 2), is_colon))
        }
        _ => false,
    })
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
