//! docs.rs documents a library with all of its features.

use crate::matrix::LIBRARIES;

use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let hidden = workspace.members.iter().filter(|member| {
        let is_library = LIBRARIES.iter().any(|library| library.name == member.name);
        is_library && !member.manifest.shows_all_features
    });
    hidden
        .map(|member| {
            format!(
                "{}: `all-features = true` is missing in [package.metadata.docs.rs]",
                member.name
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Member;
    use super::*;

    #[test]
    fn a_library_whose_features_docs_rs_does_not_build_is_named() {
        let docs = "[package.metadata.docs.rs]\n";
        let violations = |said: &str| {
            let member = Member::planted("sparx64", &format!("{docs}{said}\n"), &[]);
            check(&Workspace::planted("", vec![member])).len()
        };
        assert_eq!(violations("features = [\"a\"]"), 1);
        assert_eq!(violations("all-features = true"), 0);
    }
}
