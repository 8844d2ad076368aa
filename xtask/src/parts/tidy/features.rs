//! Every feature of what is published has its comment and its row in the README, and docs.rs shows
//! those of libraries; the matrix names none that is not there; and std passes on those of core, so
//! that a server depends on one crate.

use crate::helpers::matrix::{LIBRARIES, published};

use super::workspace::{MemberCrate, Workspace};

/// Features of core that are not for servers, or that std always has.
const NOT_PASSED_ON: [&str; 1] = ["defmt"];

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
    let of = |name: &str| workspace.members.iter().find(|member| member.name == name);
    if let (Some(core), Some(std)) = (of("randflake-core"), of("randflake-std")) {
        violations.extend(check_passed_on(core, std));
    }
    violations
}

fn check_passed_on(core: &MemberCrate, std: &MemberCrate) -> Vec<String> {
    let names = core.manifest.features.iter().map(|feature| &*feature.name);
    let wanted = names.filter(|name| !NOT_PASSED_ON.contains(name));
    let is_missing = |name: &&str| {
        let enabled = format!("{}/{name}", core.name);
        let mut features = std.manifest.features.iter();
        !features.any(|feature| feature.name == *name && feature.enables.contains(&enabled))
    };
    let missing = wanted.filter(is_missing);
    let (core, std) = (&core.name, &std.name);
    missing
        .map(|name| format!("{std}: its feature {name} does not enable {core}/{name}"))
        .collect()
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
    fn std_passes_on_what_core_has() {
        let core = "[features]\na = []\nb = []\ndefmt = []\n";
        let core = MemberCrate::planted("core", core, &[]);
        let violations = |features: &str| {
            let manifest = format!("[features]\n{features}\n");
            check_passed_on(&core, &MemberCrate::planted("std", &manifest, &[]))
        };
        assert!(violations("a = [\"core/a\"]\nb = [\"x\", \"core/b\"]").is_empty());
        assert_eq!(
            violations("a = [\"core/a\"]\nb = [\"core/a\"]"),
            ["std: its feature b does not enable core/b"]
        );
        assert_eq!(violations("").len(), 2);
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
