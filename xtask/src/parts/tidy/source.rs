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

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

pub(crate) fn is_word(token: &TokenTree, words: &[&str]) -> bool {
    let is = |ident: &Ident| words.iter().any(|word| ident == word);
    matches!(token, TokenTree::Ident(ident) if is(ident))
}

/// The names that follow on the path of the crate's root, with their lines, in a file of its `src`:
/// `crate::name`, or as many `super::` as the file is deep. What only links of the documentation
/// need is no use.
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
