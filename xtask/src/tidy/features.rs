//! Every feature of what is published has its comment and its row in the README, and docs.rs shows those of libraries; and
//! the matrix names none that is not there.

use crate::matrix::{LIBRARIES, published};

use super::workspace::{MemberCrate, Workspace};

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        match published().find(|library| library.name == member.name) {
            Some(library) => {
                violations.extend(check_library(member, library.integrations));
                let is_library = LIBRARIES.iter().any(|own| own.name == library.name);
                if is_library && !member.manifest.shows_all_features {
                    let name = library.name;
                    violations.push(format!("{name}: docs.rs is not told `all-features = true`"));
                }
            }
            None if ["harness", "secrecy", "xtask"].contains(&&*member.name) => {}
            None => violations.push(format!("{} is missing in xtask's matrix", member.name)),
        }
    }
    violations
}

/// `named` are those that the matrix treats apart.
fn check_library(member: &MemberCrate, named: &[&str]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut violation = |name: &str, what: &str| {
        violations.push(format!("{}: feature {name} {what}", member.name));
    };
    let features = &member.manifest.features;
    for feature in features {
        let name = feature.name.as_str();
        if !feature.explained {
            violation(name, "has no comment in Cargo.toml");
        }
        let cell = format!("`{name}`");
        let mut lines = member.readme.lines();
        if !lines.any(|line| line.starts_with('|') && line.contains(&cell)) {
            violation(name, "has no row in README.md");
        }
    }
    for name in named {
        if features.iter().all(|feature| feature.name != *name) {
            violation(name, "is in xtask's matrix only");
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_needs_comment_row_and_place() {
        let mut member = MemberCrate::planted("x", "[features]\n# Why.\na = []\nb = []\n", &[]);
        member.readme = "| feature | effect |\n| `a` | ... |\n".to_owned();
        let violations = check_library(&member, &["a", "b"]);
        assert_eq!(violations.len(), 2);
        assert!(
            violations
                .iter()
                .all(|violation| violation.contains("feature b"))
        );
        assert_eq!(check_library(&member, &["c"]).len(), 3);
    }

    #[test]
    fn docs_rs_shows_all_features() {
        let violations = |said: &str| {
            let manifest = format!("[package.metadata.docs.rs]\n{said}\n");
            let member = MemberCrate::planted("sparx64", &manifest, &[]);
            check(&Workspace::planted("", vec![member])).len()
        };
        assert_eq!(violations("features = [\"a\"]"), 1);
        assert_eq!(violations("all-features = true"), 0);
    }

    #[test]
    fn a_new_library_needs_a_place() {
        let workspace = Workspace::planted("", vec![MemberCrate::planted("new", "", &[])]);
        assert!(check(&workspace).contains(&"new is missing in xtask's matrix".to_owned()));
    }
}
