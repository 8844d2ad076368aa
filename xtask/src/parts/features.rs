//! `features`: each library, and the tool, without features, and each library with each one alone; without features the tests
//! and benchmarks of those for firmware too, and the libraries by the oldest Rust. All features at once are what `lint` looks
//! at. Pairs, integrations and features of the tool would compile as much once more: they are left to `msrv`.
//! A feature that only passes one of another crate here on changes nothing where it is passed on: it is left to that crate.

use std::{fs, io};

use crate::helpers::cargo::{cargo, root};
use crate::helpers::files;
use crate::helpers::matrix::{HOST_MACROS, LIBRARIES, Library, TOOL, published};
use crate::helpers::report::Report;
use crate::parts::deep::msrv;
use crate::parts::lint::DENY;
use crate::parts::neighbours;

pub(crate) fn run(report: &mut Report) {
    for library in published() {
        check(report, library, "");
    }
    for library in LIBRARIES.iter() {
        each_alone(report, library);
    }
    msrv::once(report);
    neighbours::run(report);
}

/// Of the subcommand `msrv`: what [`run`] passes over.
pub(crate) fn rest(report: &mut Report) {
    each_alone(report, &TOOL);
    let mut command = cargo(&["clippy", "--no-default-features", "--all-targets"]);
    let names = published().filter(|library| !library.no_std);
    command.args(names.flat_map(|library| ["--package", library.name]));
    report.check("tests without features", command.args(DENY));
}

fn each_alone(report: &mut Report, library: &Library) {
    match own_features(library) {
        Ok(features) => {
            for feature in features {
                check(report, library, &feature);
            }
        }
        Err(error) => _ = report.verdict(library.name, Err(error.to_string())),
    }
}

fn check(report: &mut Report, library: &Library, features: &str) {
    let mut command = cargo(&["clippy", "--no-default-features"]);
    command.args(["--package", library.name, "--package", HOST_MACROS]);
    if features.is_empty() {
        // The tests of the others stand on clients of servers, which would be compiled once more.
        command.args(library.no_std.then_some("--all-targets"));
        let what = format!("{} without features", library.name);
        report.check(&what, command.args(DENY));
    } else {
        command.args(["--features", &format!("{}/{features}", library.name)]);
        let what = format!("{} with {features}", library.name);
        report.check(&what, command.args(DENY));
    }
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
        let [etcd, tool] = ["randflake-etcd", "randflake"].map(of);
        let has = |features: &[String], name: &str| features.iter().any(|feature| feature == name);
        assert!(has(&etcd, "tls") && !has(&tool, "etcd"));
        assert!(has(&tool, "serve"));
    }
}
