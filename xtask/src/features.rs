//! `features`: each library, and its programs, under each set of features that a user is likely to choose; without
//! features its tests and benchmarks too. All features at once, integrations among them, are what `lint` looks at; each
//! integration alone would build its crates once more, so that is left to `msrv`.

use crate::cargo::cargo;
use crate::lint::DENY;
use crate::matrix::LIBRARIES;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    for library in LIBRARIES {
        let mut sets = vec![String::new()];
        sets.extend(library.features());
        for features in &sets {
            let what = if features.is_empty() {
                format!("{} without features", library.name)
            } else {
                format!("{} with {features}", library.name)
            };
            let arguments = [
                "clippy",
                "--package",
                library.name,
                "--no-default-features",
                "--features",
                features,
            ];
            let mut command = cargo(&arguments);
            if features.is_empty() {
                command.arg("--all-targets");
            }
            report.check(&what, command.args(DENY));
        }
    }
}
