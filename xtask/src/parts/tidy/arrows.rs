//! Rule: which crates may use which, and how few dependencies the lower ones have.

use crate::helpers::cargo::{cargo, output_of};
use crate::helpers::matrix::is_engine;

use super::workspace::Workspace;

/// `sparx64 <- randflake-core <- {randflake-lease <- engines <- randflake-std <- randflake-common
/// <- randflake-serve <- randflake, randflake-embedded}`; the tasks know none of them.
const ARROWS: &[(&str, &[&str])] = &[
    ("sparx64", &[]),
    ("randflake-core", &["sparx64"]),
    ("randflake-lease", &["sparx64", "randflake-core"]),
    (
        "randflake-std",
        &["sparx64", "randflake-core", "randflake-lease", "harness"],
    ),
    ("randflake-common", &["randflake-std"]),
    ("randflake-serve", &["randflake-std", "randflake-common"]),
    (
        "randflake",
        &[
            "randflake-std",
            "randflake-common",
            "randflake-serve",
            "harness",
        ],
    ),
    ("randflake-embedded", &["sparx64", "randflake-core"]),
    // Servers for tests. Without an arrow to a library, it is in no circle with those whose tests
    // start them.
    ("harness", &[]),
    ("secrecy", &["sparx64", "randflake-std"]),
    ("xtask", &[]),
];

/// What an engine of lease stores may know, each of which `randflake-std` may.
const OF_ENGINES: &[&str] = &[
    "randflake-core",
    "randflake-lease",
    "randflake-sql",
    "harness",
];

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    if is_engine(name) {
        return Some(OF_ENGINES);
    }
    let found = ARROWS.iter().find(|(known, _)| *known == name);
    found.map(|(_, allowed)| *allowed)
}

/// All that these crates bring with them when no feature is chosen.
pub(crate) const LIGHT: &[(&str, &[&str])] = &[
    ("sparx64", &["sparx64"]),
    ("randflake-core", &["randflake-core", "sparx64"]),
];

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        let Some(allowed) = allowed(&member.name) else {
            violations.push(format!(
                "{}: say in xtask which crates it may know",
                member.name
            ));
            continue;
        };
        for dependency in &member.manifest.dependencies {
            let name = dependency.as_str();
            let is_of_facade = member.name == "randflake-std" && is_engine(name);
            if self::allowed(name).is_some() && !allowed.contains(&name) && !is_of_facade {
                violations.push(format!("{} must not know {name}", member.name));
            }
        }
    }
    violations
}

/// As `cargo tree` lists them, the crate itself first.
pub(crate) fn default_dependencies(package: &str) -> String {
    let arguments = "tree --edges normal,build --prefix none --target all --package";
    let mut command = cargo(&arguments.split(' ').collect::<Vec<_>>());
    output_of(command.arg(package)).unwrap_or_default()
}

pub(crate) fn unexpected(expected: &[&str], tree: &str) -> Vec<String> {
    let mut found: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    found.sort_unstable();
    found.dedup();
    let new = found.iter().filter(|name| !expected.contains(name));
    let gone = expected.iter().filter(|name| !found.contains(name));
    new.map(|name| format!("{name} is new"))
        .chain(gone.map(|name| format!("{name} is gone")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::workspace::MemberCrate;
    use super::*;

    fn violations(name: &str, dependency: &str) -> usize {
        let manifest = format!("[dev-dependencies]\n{dependency} = \"1\"\n");
        check(&Workspace::planted(
            "",
            vec![MemberCrate::planted(name, &manifest, &[])],
        ))
        .len()
    }

    #[test]
    fn arrows_only_point_left() {
        assert_eq!(violations("randflake-core", "sparx64"), 0);
        assert_eq!(violations("randflake-core", "proptest"), 0);
        assert_eq!(violations("sparx64", "randflake-core"), 1);
        assert_eq!(violations("randflake-std", "randflake-embedded"), 1);
        assert_eq!(violations("randflake-embedded", "randflake-std"), 1);
        assert_eq!(violations("randflake", "randflake-std"), 0);
        assert_eq!(violations("randflake-std", "randflake"), 1);
        assert_eq!(violations("harness", "randflake-std"), 1);
        assert_eq!(violations("randflake-std", "randflake-redis"), 0);
        assert_eq!(violations("randflake-redis", "randflake-lease"), 0);
        assert_eq!(violations("randflake-redis", "randflake-std"), 1);
        assert_eq!(violations("randflake-redis", "randflake-etcd"), 1);
        assert_eq!(violations("randflake-lease", "randflake-redis"), 1);
        assert_eq!(violations("xtask", "sparx64"), 1);
        assert_eq!(violations("a-new-crate", "x"), 1);
    }

    #[test]
    fn a_new_default_dependency_is_seen() {
        let (name, expected) = LIGHT[1];
        assert_eq!(name, "randflake-core");
        assert_eq!(
            unexpected(expected, "randflake-core v0.1.0 (/x)\nsparx64 v0.1.0 (/y)").len(),
            0
        );
        assert_eq!(
            unexpected(
                expected,
                "randflake-core v0.1.0 (/x)\nsparx64 v0.1.0 (/y)\nserde v1.0.0"
            )
            .len(),
            1
        );
        assert_eq!(unexpected(expected, "").len(), 2);
    }
}
