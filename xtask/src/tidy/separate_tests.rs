//! A test target that `cargo test` passes over is run by another part, and the parts name no target that is not there.

use crate::matrix::SEPARATE_TESTS;

use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        for target in &member.manifest.separate_tests {
            if !SEPARATE_TESTS
                .iter()
                .any(|(package, name, _)| *package == member.name && name == target)
            {
                violations.push(format!(
                    "{}: no part of xtask runs the test target {target}",
                    member.name
                ));
            }
        }
    }
    for (package, target, part) in SEPARATE_TESTS {
        let mut members = workspace
            .members
            .iter()
            .filter(|member| member.name == *package);
        if !members.any(|member| {
            member
                .manifest
                .separate_tests
                .iter()
                .any(|name| name == target)
        }) {
            violations.push(format!(
                "{package}: give the test target {target} `test = false`, the part {part} runs it"
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Member;
    use super::*;

    #[test]
    fn both_directions_are_seen() {
        let planted = "[[test]]\nname = \"forgotten\"\ntest = false\n";
        let violations = check(&Workspace::planted(
            "",
            vec![Member::planted("sparx64", planted, &[])],
        ));
        assert_eq!(violations.len(), 1 + SEPARATE_TESTS.len());
    }
}
