//! Every dependency is used. Textual, so it holds for all features, targets and kinds at once, and needs no build.

use super::manifest::DependencyKind;
use super::source::uses;
use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        for dependency in &member.manifest.dependencies {
            let name = dependency.name.replace('-', "_");
            let used = member.sources.iter().any(|source| {
                let may_use = match dependency.kind {
                    DependencyKind::Normal => source.path.starts_with("src"),
                    DependencyKind::Dev => !source.path.ends_with("build.rs"),
                    DependencyKind::Build => source.path.ends_with("build.rs"),
                };
                may_use && uses(&source.code, &name)
            });
            if !used {
                violations.push(format!("{} does not use {}", member.name, dependency.name));
            }
        }
    }
    for shared in &workspace.root.shared {
        let mut users = workspace
            .members
            .iter()
            .flat_map(|member| &member.manifest.dependencies);
        if !users.any(|dependency| dependency.name == *shared) {
            violations.push(format!("no crate uses the workspace's {shared}"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::workspace::MemberCrate;
    use super::*;

    fn violations(manifest: &str, path: &str, text: &str) -> Vec<String> {
        let member = MemberCrate::planted("x", manifest, &[(path, text)]);
        check(&Workspace::planted("", vec![member]))
    }

    #[test]
    fn an_unused_dependency_is_seen() {
        let manifest = "[dependencies]\na-b = \"1\"\n";
        assert_eq!(
            violations(manifest, "src/lib.rs", "// a_b::c()"),
            ["x does not use a-b"]
        );
        assert!(violations(manifest, "src/lib.rs", "use a_b::c;").is_empty());
    }

    #[test]
    fn a_test_does_not_use_a_normal_dependency() {
        assert_eq!(
            violations("[dependencies]\na = \"1\"\n", "tests/t.rs", "use a::b;").len(),
            1
        );
        assert_eq!(
            violations("[dev-dependencies]\na = \"1\"\n", "tests/t.rs", "use a::b;").len(),
            0
        );
    }

    #[test]
    fn a_shared_version_nobody_asks_for_is_seen() {
        let root = "[workspace.dependencies]\na = \"1\"\n";
        let member = |manifest| MemberCrate::planted("x", manifest, &[("src/lib.rs", "use a::b;")]);
        assert_eq!(check(&Workspace::planted(root, vec![member("")])).len(), 1);
        assert_eq!(
            check(&Workspace::planted(
                root,
                vec![member("[dependencies]\na.workspace = true\n")]
            ))
            .len(),
            0
        );
    }
}
