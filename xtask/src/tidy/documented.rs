//! docs.rs documents a library with all of its features, but for those of which a program chooses one.

use crate::matrix::LIBRARIES;

use super::DocsRs;
use super::workspace::{Member, Workspace};

/// What `portable-atomic` is told to do on a processor. They exclude each other there, and add no item here.
const CHOICES: &[&str] = &[
    "portable-atomic-critical-section",
    "portable-atomic-unsafe-assume-single-core",
];

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let is_library = |member: &&Member| LIBRARIES.iter().any(|library| library.name == member.name);
    let libraries = workspace.members.iter().filter(is_library);
    libraries.flat_map(check_library).collect()
}

fn check_library(member: &Member) -> Vec<String> {
    let shown = match &member.manifest.docs_rs {
        DocsRs::All => return Vec::new(),
        DocsRs::These(features) => features.as_slice(),
        DocsRs::Unsaid => &[],
    };
    let features = member
        .manifest
        .features
        .iter()
        .map(|feature| &*feature.name);
    let hidden =
        features.filter(|name| !CHOICES.contains(name) && !shown.iter().any(|shown| shown == name));
    let violation = |name| {
        format!(
            "{}: feature {name} is missing in [package.metadata.docs.rs]",
            member.name
        )
    };
    hidden.map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_docs_rs_does_not_build_is_named() {
        let features = "[features]\na = []\nb = []\nportable-atomic-critical-section = []\n";
        let docs = "[package.metadata.docs.rs]\n";
        let violations = |said: &str| {
            check_library(&Member::planted(
                "x",
                &format!("{features}{docs}{said}\n"),
                &[],
            ))
        };
        assert_eq!(violations("").len(), 2);
        assert_eq!(violations("all-features = true").len(), 0);
        let one = violations("features = [\"a\"]");
        assert_eq!(
            one,
            ["x: feature b is missing in [package.metadata.docs.rs]"]
        );
        assert_eq!(violations("features = [\"a\", \"b\"]").len(), 0);
    }
}
