//! Rust source as tokens: comments are gone, and what stands in literals is none.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

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

/// Whether the token at a place is this word or sign.
pub(crate) fn is(tokens: &[TokenTree], at: Option<usize>, word: &str) -> bool {
    let token = at.and_then(|at| tokens.get(at));
    token.is_some_and(|token| !matches!(token, TokenTree::Group(_)) && token.to_string() == word)
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
    let is_path = |at: usize| is(&tokens, Some(at), ":") && is(&tokens, Some(at + 1), ":");
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if token.to_string() == "[cfg (doc)]" {
            at += tokens[at..]
                .iter()
                .take_while(|token| token.to_string() != ";")
                .count();
        }
        if let TokenTree::Group(group) = token {
            let is_module = is(&tokens, at.checked_sub(3), "mod");
            collect_names(group.stream(), depth + usize::from(is_module), names);
        }
        let mut supers = 0;
        while is(&tokens, Some(at - 1), "super") && is_path(at) {
            supers += 1;
            if !is(&tokens, Some(at + 2), "super") {
                break;
            }
            at += 3;
        }
        let is_root = token.to_string() == "crate" || supers == depth && supers > 0;
        if let (true, true, Some(path)) = (is_root, is_path(at), tokens.get(at + 2)) {
            heads(path, names);
        }
    }
}

/// The first name of a path, or of each path in braces.
fn heads(path: &TokenTree, names: &mut Vec<(usize, String)>) {
    match path {
        TokenTree::Ident(name) => names.push((name.span().start().line, name.to_string())),
        TokenTree::Group(group) => {
            let tokens: Vec<_> = group.stream().into_iter().collect();
            let paths = tokens.split(|token| token.to_string() == ",");
            paths
                .filter_map(|path| path.first())
                .for_each(|first| heads(first, names));
        }
        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
    }
}
