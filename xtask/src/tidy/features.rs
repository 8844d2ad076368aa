//! Every feature of a library has its comment, its row in the README, and its place in the matrix.

use crate::matrix::{LIBRARIES, Library};

use super::workspace::{Member, Workspace};

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for library in LIBRARIES {
        match workspace
            .members
            .iter()
            .find(|member| member.name == library.name)
        {
            Some(member) => violations.extend(check_library(member, &every_feature(library))),
            None => violations.push(format!("{} is in xtask's matrix only", library.name)),
        }
    }
    for member in &workspace.members {
        if member.name != "xtask" && LIBRARIES.iter().all(|library| library.name != member.name) {
            violations.push(format!("{} is missing in xtask's matrix", member.name));
        }
    }
    violations
}

fn every_feature(library: &Library) -> Vec<&'static str> {
    let exclusive = library.exclusive.iter().map(|exclusive| exclusive.feature);
    let always = library.features.iter().chain(library.integrations());
    always.copied().chain(exclusive).collect()
}

fn check_library(member: &Member, matrix: &[&str]) -> Vec<String> {
    let mut violations = Vec::new();
    for feature in &member.manifest.features {
        let name = feature.name.as_str();
        if !feature.explained {
            violations.push(format!(
                "{}: feature {name} has no comment in Cargo.toml",
                member.name
            ));
        }
        let cell = format!("`{name}`");
        if !member
            .readme
            .lines()
            .any(|line| line.starts_with('|') && line.contains(&cell))
        {
            violations.push(format!(
                "{}: feature {name} has no row in README.md",
                member.name
            ));
        }
        if !matrix.contains(&name) {
            violations.push(format!(
                "{}: feature {name} is missing in xtask's matrix",
                member.name
            ));
        }
    }
    for name in matrix {
        if member
            .manifest
            .features
            .iter()
            .all(|feature| feature.name != *name)
        {
            violations.push(format!(
                "{}: feature {name} is in xtask's matrix only",
                member.name
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_needs_comment_row_and_place() {
        let mut member = Member::planted("x", "[features]\n# Why.\na = []\nb = []\n", &[]);
        member.readme = "| feature | effect |\n| `a` | ... |\n".to_owned();
        assert!(
            check_library(&member, &["a", "b"])
                .iter()
                .all(|violation| violation.contains("feature b"))
        );
        assert_eq!(check_library(&member, &["a", "b"]).len(), 2);
        assert_eq!(check_library(&member, &["a"]).len(), 3);
        assert_eq!(check_library(&member, &["a", "b", "c"]).len(), 3);
    }

    #[test]
    fn a_new_library_needs_a_place() {
        let workspace = Workspace::planted("", vec![Member::planted("new", "", &[])]);
        assert!(check(&workspace).contains(&"new is missing in xtask's matrix".to_owned()));
    }
}
