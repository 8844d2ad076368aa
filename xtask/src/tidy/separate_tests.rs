//! A test target that `cargo test` passes over, because of `test = false` in its manifest, is run by a part of its own.

use proc_macro2::{TokenStream, TokenTree};

use super::workspace::Workspace;

/// Whose sources name them.
const TASKS: &str = "xtask";

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let tasks = workspace.members.iter().filter(|own| own.name == TASKS);
    let sources: Vec<_> = tasks.flat_map(|own| &own.sources).collect();
    let mut violations = Vec::new();
    for member in &workspace.members {
        for target in &member.manifest.separate_tests {
            let text = format!("{target:?}");
            if !sources.iter().any(|source| has(&source.code, &text)) {
                let name = &member.name;
                violations.push(format!(
                    "{name}: no part of xtask runs the test target {target}"
                ));
            }
        }
    }
    violations
}

/// Whether a literal is somewhere in code.
fn has(code: &TokenStream, literal: &str) -> bool {
    code.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) => has(&group.stream(), literal),
        TokenTree::Literal(own) => own.to_string() == literal,
        TokenTree::Ident(_) | TokenTree::Punct(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::workspace::MemberCrate;
    use super::*;

    #[test]
    fn a_forgotten_target_is_seen() {
        let target = |name| format!("[[test]]\nname = \"{name}\"\ntest = false\n");
        let planted = target("forgotten") + &target("known");
        let tasks = "fn run() { separate_test(\"known\"); }";
        let members = vec![
            MemberCrate::planted("sparx64", &planted, &[]),
            MemberCrate::planted(TASKS, "", &[("src/a.rs", tasks)]),
        ];
        let found = check(&Workspace::planted("", members));
        assert_eq!(
            found,
            ["sparx64: no part of xtask runs the test target forgotten"]
        );
    }
}
