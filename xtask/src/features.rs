//! `features`: each library, and its programs, under each set of features that a user is likely to choose; without
//! features its tests and benchmarks too. All features at once are what `lint` looks at.

use crate::cargo::cargo;
use crate::lint::DENY;
use crate::matrix::LIBRARIES;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    for library in LIBRARIES {
        let mut sets = vec![String::new()];
        sets.extend(library.features());
        // Those are of core; whoever passes them on adds no code.
        let integrations = library.integrations().filter(|_| library.no_std);
        sets.extend(integrations.map(str::to_owned));
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
