//! `features`: each library, and the tool, under each set of features that a user is likely to choose; without features the
//! tests and benchmarks of those for firmware too. All features at once, integrations among them, are what `lint` looks at;
//! each integration alone would build its crates once more, so that is left to `msrv`. The libraries without features also by
//! the oldest Rust.
//! A feature that only passes one of another crate here on changes nothing where it is passed on: it is left to that crate.

use std::{fs, io};

use crate::cargo::{cargo, root};
use crate::files;
use crate::lint::DENY;
use crate::matrix::{HOST_MACROS, Library, published};
use crate::msrv;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    for library in published() {
        let mut sets = vec![String::new()];
        match own_features(library) {
            Ok(features) => sets.extend(features),
            Err(error) => _ = report.verdict(library.name, Err(error.to_string())),
        }
        sets.extend(library.together.iter().copied().map(str::to_owned));
        for features in &sets {
            let what = if features.is_empty() {
                format!("{} without features", library.name)
            } else {
                format!("{} with {features}", library.name)
            };
            let mut command = cargo(&["clippy", "--no-default-features"]);
            command.args(["--package", library.name, "--package", HOST_MACROS]);
            if features.is_empty() {
                // The tests of the others stand on clients of servers, which would be compiled once more.
                command.args(library.no_std.then_some("--all-targets"));
            } else {
                command.args(["--features", &format!("{}/{features}", library.name)]);
            }
            report.check(&what, command.args(DENY));
        }
    }
    msrv::once(report);
}

/// Of the subcommand `msrv`: the tests that [`run`] passes over.
pub(crate) fn tests_without(report: &mut Report) {
    let mut command = cargo(&["clippy", "--no-default-features", "--all-targets"]);
    let names = published().filter(|library| !library.no_std);
    command.args(names.flat_map(|library| ["--package", library.name]));
    report.check("tests without features", command.args(DENY));
}

/// Without those that enable features of crates here and nothing else, and that no source asks for.
fn own_features(library: &Library) -> io::Result<Vec<String>> {
    let manifest = library.manifest();
    let sources = files::sources(&root().join(library.folder).join("src"))?;
    let code: String = sources
        .iter()
        .map(fs::read_to_string)
        .collect::<Result<_, _>>()?;
    let is_passed_on = |name: &str| {
        let mut named = manifest
            .features
            .iter()
            .filter(|feature| feature.name == name);
        let is_of_others = |enabled: &String| {
            published().any(|other| enabled.starts_with(&format!("{}/", other.name)))
        };
        named.any(|feature| feature.enables.iter().all(is_of_others))
            && !code.contains(&format!("feature = \"{name}\""))
    };
    let mut features = library.features();
    features.retain(|name| !is_passed_on(name));
    Ok(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_passed_on_is_left_to_its_crate() {
        let of = |name: &str| own_features(published().find(|l| l.name == name).unwrap()).unwrap();
        let [std, tool] = ["randflake-std", "randflake"].map(of);
        let has = |features: &[String], name: &str| features.iter().any(|feature| feature == name);
        assert!(has(&std, "etcd") && !has(&tool, "etcd"));
        assert!(has(&tool, "serve"));
    }
}
