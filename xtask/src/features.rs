//! `features`: each library, and its programs, under each set of features that a user is likely to choose.

use crate::cargo::{NOT_AT_EACH_EDIT, cargo};
use crate::lint::DENY;
use crate::matrix::LIBRARIES;
use crate::report::Report;

pub(crate) fn run(report: &mut Report) {
    for library in LIBRARIES {
        let mut features = library.features.to_vec();
        // They are of core; whoever passes them on adds no code.
        if library.no_std {
            features.extend(library.integrations());
        }
        for features in sets(&features) {
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
                &features,
            ];
            let mut command = cargo(&arguments);
            report.check(&what, command.args(DENY).envs(NOT_AT_EACH_EDIT));
        }
    }
}

/// None, each alone, all.
fn sets(features: &[&str]) -> Vec<String> {
    let mut sets = vec![String::new()];
    sets.extend(features.iter().map(|feature| (*feature).to_owned()));
    if features.len() > 1 {
        sets.push(features.join(","));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::sets;

    #[test]
    fn sets_are_none_each_and_all() {
        assert_eq!(sets(&[]), [""]);
        assert_eq!(sets(&["a"]), ["", "a"]);
        assert_eq!(sets(&["a", "b"]), ["", "a", "b", "a,b"]);
    }
}
