//! A test target that `cargo test` passes over, because of `test = false` in its manifest, is run by a part of its own.

use std::collections::BTreeSet;

use proc_macro2::TokenTree;

use super::source::each_token;
use super::workspace::Workspace;

/// Whose sources name them.
const TASKS: &str = "xtask";

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut literals = BTreeSet::new();
    for (_, source) in workspace.sources().filter(|(name, _)| *name == TASKS) {
        each_token(&source.code, &mut |tokens, at| {
            if let TokenTree::Literal(literal) = &tokens[at] {
                literals.insert(literal.to_string());
            }
        });
    }
    let mut violations = Vec::new();
    for member in &workspace.members {
        let targets = member.manifest.separate_tests.iter();
        let forgotten = targets.filter(|target| !literals.contains(&format!("{target:?}")));
        let name = &member.name;
        violations.extend(
            forgotten
                .map(|target| format!("{name}: no part of xtask runs the test target {target}")),
        );
    }
    violations
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
