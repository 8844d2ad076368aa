//! `features`: each library, and the tool, under each set of features that a user is likely to choose; without
//! features its tests and benchmarks too. All features at once, integrations among them, are what `lint` looks at; each
//! integration alone would build its crates once more, so that is left to `msrv`. Without features also by the oldest Rust.

use crate::cargo::cargo;
use crate::lint::DENY;
use crate::matrix::{HOST_MACROS, published};
use crate::msrv;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    for library in published() {
        let mut sets = vec![String::new()];
        sets.extend(library.features());
        for features in &sets {
            let what = if features.is_empty() {
                format!("{} without features", library.name)
            } else {
                format!("{} with {features}", library.name)
            };
            let mut command = cargo(&["clippy", "--no-default-features"]);
            command.args(["--package", library.name, "--package", HOST_MACROS]);
            if features.is_empty() {
                command.arg("--all-targets");
            } else {
                command.args(["--features", &format!("{}/{features}", library.name)]);
            }
            report.check(&what, command.args(DENY));
        }
    }
    msrv::once(report);
}
