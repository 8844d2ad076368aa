//! `cfg` stands on items, never inside a function: then an item is wholly present or wholly absent.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::is_word;
use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for (package, source) in workspace.sources() {
        let is_checked = source.path.starts_with("src") && !source.path.ends_with("tests.rs");
        if is_checked && package != "xtask" {
            let mut lines = Vec::new();
            find(&source.code, false, &mut lines);
            violations.extend(source.places(package, &lines));
        }
    }
    violations
}

/// The lines of `cfg` inside functions, up to the unit tests at the file's foot.
fn find(code: &TokenStream, in_function: bool, lines: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    // Between `fn` and its body.
    let mut in_header = false;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        match token {
            TokenTree::Ident(name) => {
                // `fn name`, unlike the type `fn(..)`.
                in_header |= name == "fn" && matches!(next, Some(TokenTree::Ident(_)));
                let is_macro =
                    matches!(next, Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
                if in_function && name == "cfg" && is_macro {
                    lines.push(name.span().start().line);
                }
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                let first = group.stream().into_iter().next();
                let is_cfg = first.is_some_and(|first| is_word(&first, &["cfg", "cfg_attr"]));
                if is_cfg && in_function {
                    lines.push(group.span_open().start().line);
                } else if is_cfg && begins_tests(&group.stream(), next) {
                    return;
                }
                find(&group.stream(), in_function, lines);
            }
            TokenTree::Group(group) => {
                let is_body = in_header && group.delimiter() == Delimiter::Brace;
                in_header &= !is_body;
                find(&group.stream(), in_function || is_body, lines);
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => in_header = false,
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn begins_tests(attribute: &TokenStream, next: Option<&TokenTree>) -> bool {
    next.is_some_and(|next| is_word(next, &["mod"])) && attribute.to_string() == "cfg (test)"
}

#[cfg(test)]
mod tests {
    use super::super::workspace::MemberCrate;
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        find(&text.parse().unwrap(), false, &mut lines);
        lines
    }

    #[test]
    fn cfg_in_a_function_is_seen() {
        let text = "fn a() {\n    #[cfg(x)]\n    b();\n    if cfg!(y) {}\n}\n";
        assert_eq!(lines(text), [2, 4]);
        let workspace = Workspace::planted(
            "",
            vec![MemberCrate::planted("m", "", &[("src/a.rs", text)])],
        );
        assert_eq!(check(&workspace), ["m/src/a.rs:2", "m/src/a.rs:4"]);
    }

    #[test]
    fn cfg_on_items_is_not() {
        let text = "#![cfg_attr(x, no_std)]\n#[cfg(x)]\nmod a;\nimpl A {\n    #[cfg(x)]\n    fn b(c: [u8; 2], d: fn(u8)) -> [u8; { 2 }] {}\n\
                    \n    #[cfg(y)]\n    fn e();\n}\ntrait B {\n    fn f();\n    #[cfg(x)]\n    fn g() {}\n}\n";
        assert_eq!(lines(text), []);
    }

    #[test]
    fn unit_tests_are_free() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { if cfg!(miri) {} }\n}\n";
        assert_eq!(lines(text), []);
    }
}
