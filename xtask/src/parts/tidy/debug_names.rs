//! A hand-written `Debug` shows the name of its own type: after a renaming nobody sees the old one in a log.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::source::{each_token, is_word};
use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for (package, source) in workspace.sources() {
        let place = format!("{package}/{}", source.path.display());
        each_token(&source.code, &mut |tokens, at| {
            // `Debug for Name`, whatever is before and after it.
            let [debug, of, TokenTree::Ident(name), rest @ ..] = &tokens[at..] else {
                return;
            };
            if is_word(debug, &["Debug"]) && is_word(of, &["for"]) {
                let shown = rest
                    .iter()
                    .find_map(block)
                    .and_then(|body| shown(&body.stream()));
                let other = shown.filter(|shown| name != shown);
                violations
                    .extend(other.map(|other| format!("{place}: {name} is shown as {other}")));
            }
        });
    }
    violations
}

fn block(token: &TokenTree) -> Option<&Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    }
}

/// The name given to the first `debug_struct` or `debug_tuple`.
fn shown(body: &TokenStream) -> Option<String> {
    let mut name = None;
    each_token(body, &mut |tokens, at| {
        if let [call, TokenTree::Group(group), ..] = &tokens[at..]
            && is_word(call, &["debug_struct", "debug_tuple"])
        {
            name.get_or_insert_with(|| group.stream().to_string().trim_matches('"').to_owned());
        }
    });
    name
}

#[cfg(test)]
mod tests {
    use super::super::workspace::MemberCrate;
    use super::*;

    #[test]
    fn another_name_is_seen() {
        let violations = |text: &str| {
            let source = [("src/a.rs", text)];
            check(&Workspace::planted(
                "",
                vec![MemberCrate::planted("m", "", &source)],
            ))
        };
        let debug = |name: &str| {
            format!(
                "mod a {{ impl<T: Debug> fmt::Debug for Slot<T> where T: Copy {{ fn fmt(&self) {{ \
                 if x {{ f.debug_struct({name:?}).finish() }} }} }} }}"
            )
        };
        assert!(violations(&debug("Slot")).is_empty());
        assert_eq!(
            violations(&debug("Place")),
            ["m/src/a.rs: Slot is shown as Place"]
        );
        assert!(violations("fn a() { f.debug_struct(name) }").is_empty());
    }
}
