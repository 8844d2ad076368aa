//! A test target that `cargo test` passes over, because of `test = false` in its manifest, is run
//! by a part of its own.

use super::workspace::Workspace;

/// Whose sources name them.
const TASKS: &str = "xtask";

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let tasks: String = workspace
        .sources()
        .filter(|(name, _)| *name == TASKS)
        .map(|(_, source)| source.code.to_string())
        .collect();
    let mut violations = Vec::new();
    for member in &workspace.members {
        let targets = member.manifest.separate_tests.iter();
        let forgotten = targets.filter(|target| !tasks.contains(&format!("{target:?}")));
        let name = &member.name;
        let say = |target| format!("{name}: no part of xtask runs the test target {target}");
        violations.extend(forgotten.map(say));
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
