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
        let name = &member.name;
        let Some(library) = published().find(|library| library.name == name) else {
            if !["harness", "secrecy", "xtask"].contains(&&**name) {
                violations.push(format!("{name} is missing in xtask's matrix"));
            }
            continue;
        };
        violations.extend(of_library(member, library.integrations));
        let is_library = LIBRARIES.iter().any(|own| own.name == library.name);
        if is_library && !member.manifest.shows_all_features {
            violations.push(format!("{name}: docs.rs is not told `all-features = true`"));
        }
    }
    let of = |name: &str| workspace.members.iter().find(|member| member.name == name);
    if let (Some(core), Some(std)) = (of("randflake-core"), of("randflake-std")) {
        violations.extend(not_passed_on(core, std));
    }
    violations
}

fn not_passed_on(core: &MemberCrate, std: &MemberCrate) -> Vec<String> {
    let (of_core, of_std) = (&core.manifest.features, &std.manifest.features);
    let mut violations = Vec::new();
    for name in of_core.iter().map(|feature| &*feature.name) {
        let enabled = format!("{}/{name}", core.name);
        let mut named = of_std.iter().filter(|feature| feature.name == name);
        if !NOT_PASSED_ON.contains(&name) && !named.any(|one| one.enables.contains(&enabled)) {
            let std = &std.name;
            violations.push(format!(
                "{std}: its feature {name} does not enable {enabled}"
            ));
        }
    }
    violations
}

/// `named` are those that the matrix treats apart.
fn of_library(member: &MemberCrate, named: &[&str]) -> Vec<String> {
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
    for name in named
        .iter()
        .filter(|name| features.iter().all(|one| one.name != **name))
    {
        violation(name, "is in xtask's matrix only");
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_needs_comment_row_and_place() {
        let manifest = "[features]\n# Why.\na = []\nb = []\n";
        let mut workspace = Workspace::planted(&[("x", manifest, "", "")]);
        let member = &mut workspace.members[0];
        member.readme = "| feature | effect |\n| `a` | ... |\n".to_owned();
        let violations = of_library(member, &["a", "b"]);
        assert_eq!(violations.len(), 2);
        assert!(
            violations
                .iter()
                .all(|violation| violation.contains("feature b"))
        );
        assert_eq!(of_library(member, &["c"]).len(), 3);
    }

    #[test]
    fn std_passes_on_what_core_has() {
        let violations = |features: &str| {
            let core = "[features]\na = []\nb = []\ndefmt = []\n";
            let std = format!("[features]\n{features}\n");
            let both = Workspace::planted(&[("core", core, "", ""), ("std", &std, "", "")]);
            not_passed_on(&both.members[0], &both.members[1])
        };
        assert_eq!(
            violations("a = [\"core/a\"]\nb = [\"x\", \"core/b\"]"),
            [""; 0]
        );
        let found = violations("a = [\"core/a\"]\nb = [\"core/a\"]");
        assert_eq!(found, ["std: its feature b does not enable core/b"]);
        assert_eq!(violations("").len(), 2);
    }

    #[test]
    fn docs_rs_shows_all_features_of_known_libraries() {
        let violations = |name: &str, told: &str| {
            let manifest = format!("[package.metadata.docs.rs]\n{told}\n");
            check(&Workspace::planted(&[(name, &manifest, "", "")]))
        };
        assert_eq!(violations("sparx64", "features = [\"a\"]").len(), 1);
        assert_eq!(violations("sparx64", "all-features = true"), [""; 0]);
        assert_eq!(violations("new", ""), ["new is missing in xtask's matrix"]);
    }
}
