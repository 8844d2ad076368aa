//! Rules about crates: which may use which, what they bring, and what is in their packages.

use crate::helpers::prelude::*;

use super::workspace::Workspace;

/// `sparx64 <- randflake-core <- {randflake-lease <- engines <- randflake-std <- randflake-common
/// <- randflake-serve <- randflake, randflake-embedded}`; the tasks know none of them.
#[rustfmt::skip]
const ARROWS: &[(&str, &[&str])] = &[
    ("sparx64", &[]),
    ("randflake-core", &["sparx64"]),
    ("randflake-lease", &["sparx64", "randflake-core"]),
    ("randflake-std", &["sparx64", "randflake-core", "randflake-lease", "harness"]),
    ("randflake-common", &["randflake-std"]),
    ("randflake-serve", &["randflake-std", "randflake-common"]),
    ("randflake", &["randflake-std", "randflake-common", "randflake-serve", "harness"]),
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
    let found = ARROWS.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, allowed)| *allowed)
        .or_else(|| is_engine(name).then_some(OF_ENGINES))
}

pub(crate) fn arrows(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        let own = &member.name;
        let Some(allowed) = allowed(own) else {
            violations.push(format!("{own}: say in xtask which crates it may know"));
            continue;
        };
        for name in &member.manifest.dependencies {
            let is_of_facade = own == "randflake-std" && is_engine(name);
            if self::allowed(name).is_some() && !allowed.contains(&&**name) && !is_of_facade {
                violations.push(format!("{own} must not know {name}"));
            }
        }
    }
    violations
}

/// A test target that `cargo test` passes over, because of `test = false` in its manifest, is run
/// by a part of its own, which names it.
pub(crate) fn separate_tests(workspace: &Workspace) -> Vec<String> {
    let tasks: String = workspace
        .sources()
        .filter(|(name, _)| *name == "xtask")
        .map(|(_, source)| source.code.to_string())
        .collect();
    let mut violations = Vec::new();
    for member in &workspace.members {
        for target in &member.manifest.separate_tests {
            if !tasks.contains(&format!("{target:?}")) {
                let name = &member.name;
                violations.push(format!(
                    "{name}: no part of xtask runs the test target {target}"
                ));
            }
        }
    }
    violations
}

/// All that these crates bring with them when no feature is chosen.
const LIGHT: &[(&str, &[&str])] = &[
    ("sparx64", &["sparx64"]),
    ("randflake-core", &["randflake-core", "sparx64"]),
];

pub(crate) fn light() -> Vec<String> {
    let of = |(package, expected): &(&str, &[&str])| {
        let found = unexpected(expected, &tree(&format!("all --package {package}")));
        found
            .into_iter()
            .map(move |what| format!("{package}: {what}"))
            .collect::<Vec<_>>()
    };
    LIGHT.iter().flat_map(of).collect()
}

/// `cargo randflake` builds the package with the least features: what it compiles on Linux stands
/// in a list.
pub(crate) fn lean_tool() -> Vec<String> {
    const CHOICE: &str = "--package randflake --bin randflake --no-default-features";
    let config = files::read(&root().join(".cargo/config.toml")).unwrap_or_default();
    if !config.contains(&format!("{CHOICE} --\"")) {
        return vec![format!("the alias `randflake` has no `{CHOICE}`")];
    }
    let crates: Vec<_> = include_str!("lean_tool.txt").lines().collect();
    let linux = "x86_64-unknown-linux-gnu";
    unexpected(
        &crates,
        &tree(&format!(
            "{linux} --package randflake --no-default-features"
        )),
    )
}

/// Dependencies for a target, as `cargo tree` lists them.
fn tree(of: &str) -> String {
    let words = format!("tree --edges normal,build --prefix none --target {of}");
    output_of(&mut cargo(&words)).unwrap_or_default()
}

fn unexpected(expected: &[&str], tree: &str) -> Vec<String> {
    let mut found: Vec<_> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    found.sort_unstable();
    found.dedup();
    let new = found.iter().filter(|name| !expected.contains(name));
    let gone = expected.iter().filter(|name| !found.contains(name));
    let new = new.map(|name| format!("{name} is new"));
    new.chain(gone.map(|name| format!("{name} is gone")))
        .collect()
}

/// A published crate has its own files, and no test that only this repository can run.
pub(crate) fn packages() -> Vec<String> {
    let mut violations = Vec::new();
    for library in published() {
        let name = library.name;
        let list = output_of(&mut cargo(&format!(
            "package --list --allow-dirty --package {name}"
        )));
        let Some(list) = list else {
            violations.push(format!("{name}: `cargo package --list` failed"));
            continue;
        };
        let folder = root().join(library.folder);
        let wrong = list.lines().filter_map(|path| {
            wrong(path, |path: &str| {
                files::read(&folder.join(path)).unwrap_or_default()
            })
        });
        violations.extend(wrong.map(|why| format!("{name}: {why}: add it to `exclude`")));
    }
    violations
}

/// Why a file does not belong in a package. That of the servers that tests start is not published,
/// so tests that need it do not compile elsewhere.
fn wrong(path: &str, read: impl Fn(&str) -> String) -> Option<String> {
    if path.ends_with("/Cargo.toml") {
        return Some(format!("{path} is of another crate"));
    }
    let is_test = path.starts_with("tests/") || path.starts_with("benches/");
    let is_wrong = is_test && read(path).contains("harness::");
    is_wrong.then(|| format!("{path} needs the package `harness`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_only_point_left() {
        for (name, dependency, expected) in [
            ("randflake-core", "sparx64", 0),
            ("randflake-core", "proptest", 0),
            ("sparx64", "randflake-core", 1),
            ("randflake-std", "randflake-embedded", 1),
            ("randflake-embedded", "randflake-std", 1),
            ("randflake", "randflake-std", 0),
            ("randflake-std", "randflake", 1),
            ("harness", "randflake-std", 1),
            ("randflake-std", "randflake-redis", 0),
            ("randflake-redis", "randflake-lease", 0),
            ("randflake-redis", "randflake-std", 1),
            ("randflake-redis", "randflake-etcd", 1),
            ("randflake-lease", "randflake-redis", 1),
            ("xtask", "sparx64", 1),
            ("a-new-crate", "x", 1),
        ] {
            let manifest = format!("[dev-dependencies]\n{dependency} = \"1\"\n");
            let found = arrows(&Workspace::planted(&[(name, &manifest, "", "")]));
            assert_eq!(found.len(), expected, "{name}, {dependency}");
        }
    }

    #[test]
    fn a_new_default_dependency_is_seen() {
        let (name, expected) = LIGHT[1];
        assert_eq!(name, "randflake-core");
        let tree = "randflake-core v0.1.0 (/x)\nsparx64 v0.1.0 (/y)";
        assert_eq!(unexpected(expected, tree), [""; 0]);
        let more = format!("{tree}\nserde v1.0.0");
        assert_eq!(unexpected(expected, &more), ["serde is new"]);
        assert_eq!(unexpected(expected, "").len(), 2);
    }

    #[test]
    fn a_forgotten_target_is_seen() {
        let target = |name| format!("[[test]]\nname = \"{name}\"\ntest = false\n");
        let targets = target("forgotten") + &target("known");
        let tasks = "fn run() { separate_test(\"known\"); }";
        let members = [
            ("sparx64", &*targets, "", ""),
            ("xtask", "", "src/a.rs", tasks),
        ];
        let found = separate_tests(&Workspace::planted(&members));
        assert_eq!(
            found,
            ["sparx64: no part of xtask runs the test target forgotten"]
        );
    }

    #[test]
    fn what_only_this_repository_can_use_is_found() {
        let read = |path: &str| match path {
            "tests/engines.rs" | "src/text.rs" => "use harness::Redis;".to_owned(),
            _ => "use std::fs;".to_owned(),
        };
        for fine in [
            "Cargo.toml",
            "src/lib.rs",
            "src/text.rs",
            "tests/offline.rs",
        ] {
            assert_eq!(wrong(fine, read), None);
        }
        for found in ["fuzz/Cargo.toml", "tests/engines.rs"] {
            assert!(wrong(found, read).is_some_and(|why| why.contains(found)));
        }
    }
}
