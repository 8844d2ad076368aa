//! A hand-written `Debug` shows the name of its own type: after a renaming nobody sees the old one in a log.

use proc_macro2::{TokenStream, TokenTree};

use super::source::is_word;
use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        for source in &member.sources {
            let place = format!("{}/{}", member.name, source.path.display());
            find(&source.code, &place, &mut violations);
        }
    }
    violations
}

fn find(code: &TokenStream, place: &str, violations: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = code.clone().into_iter().collect();
    let mut debug_of = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            // `Debug for Name`, whatever is before and after it.
            TokenTree::Ident(word) if word == "Debug" => {
                debug_of = match tokens.get(at + 1..at + 3) {
                    Some([word, TokenTree::Ident(name)]) if is_word(word, &["for"]) => {
                        Some(name.to_string())
                    }
                    _ => debug_of,
                };
            }
            TokenTree::Group(group) => match debug_of.take_if(|_| is_block(group)) {
                Some(name) => {
                    let other = shown(&group.stream()).filter(|shown| *shown != name);
                    violations
                        .extend(other.map(|other| format!("{place}: {name} is shown as {other}")));
                }
                None => find(&group.stream(), place, violations),
            },
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn is_block(group: &proc_macro2::Group) -> bool {
    group.delimiter() == proc_macro2::Delimiter::Brace
}

/// The name given to the first `debug_struct` or `debug_tuple`.
fn shown(body: &TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = body.clone().into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        if before.is_some_and(|before| is_word(before, &["debug_struct", "debug_tuple"])) {
            return Some(group.stream().to_string().trim_matches('"').to_owned());
        }
        if let Some(name) = shown(&group.stream()) {
            return Some(name);
        }
    }
    None
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
