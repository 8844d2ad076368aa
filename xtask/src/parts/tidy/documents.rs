//! Documents name only files and items that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proc_macro2::TokenTree;

use super::source::each_token;
use super::workspace::Workspace;
use crate::helpers::cargo::root;
use crate::helpers::matrix::LIBRARIES;

const DOCUMENTS: [&str; 10] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "DESIGN.md",
    "README.md",
    "RELEASING.md",
    "docs/security.md",
    "docs/server.md",
    "docs/testing.md",
    "randflake-core/DESIGN.md",
    "randflake-embedded/DESIGN.md",
];

/// Stand for what differs.
const PLACEHOLDERS: [&str; 2] = ["NAME", "NUMBER"];

/// Words of other programs and of formats, and what stands for a name.
const FOREIGN: [&str; 9] = [
    "BigInteger",
    "Date",
    "NameArgs",
    "OpenAPI",
    "Os",
    "Slaves_running",
    "StatefulSet",
    "Unreleased",
    "bwmarrin/snowflake",
];

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut items = BTreeSet::new();
    for source in workspace.members.iter().flat_map(|member| &member.sources) {
        each_token(&source.code, &mut |tokens, at| {
            if let TokenTree::Ident(name) = &tokens[at] {
                items.insert(name.to_string());
            }
        });
    }
    let mut violations = Vec::new();
    let readmes = LIBRARIES
        .iter()
        .map(|library| format!("{}/README.md", library.folder));
    for document in DOCUMENTS.map(str::to_owned).into_iter().chain(readmes) {
        let path = root().join(&document);
        let folder = path.parent().unwrap_or(&path);
        let text = fs::read_to_string(&path).unwrap_or_default();
        for span in spans(&text) {
            let is_there = match Named::of(span) {
                Some(Named::File(file)) => is_file(workspace, folder, file),
                Some(Named::Item(path)) => path.split("::").all(|name| items.contains(name)),
                None => true,
            };
            if !is_there {
                violations.push(format!("{document}: `{span}` is not there"));
            }
        }
    }
    violations
}

/// What is between backticks, outside of blocks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    let texts = text.split("```").step_by(2);
    texts.flat_map(|text| text.split('`').skip(1).step_by(2))
}

#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    File(&'a str),
    /// A type, or a function of one: `Type::function`.
    Item(&'a str),
}

impl<'a> Named<'a> {
    fn of(span: &'a str) -> Option<Self> {
        if FOREIGN.contains(&span) {
            return None;
        }
        let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let first = span.split('/').next().unwrap_or(span);
        let is_relative = !first.is_empty() && !first.contains('.') || first == span;
        let is_file = span.contains('/')
            || [".rs", ".md", ".toml"]
                .iter()
                .any(|end| span.ends_with(end));
        if span.chars().all(is_path) && is_file {
            let is_checked = is_relative
                && first != "target"
                && !PLACEHOLDERS.iter().any(|name| span.contains(name));
            return is_checked.then_some(Self::File(span));
        }
        let item = span.split(['<', '(']).next().unwrap_or(span);
        let is_item = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let is_type = item.starts_with(|c: char| c.is_ascii_uppercase())
            && item.contains(|c: char| c.is_ascii_lowercase());
        (is_type && item.chars().all(is_item)).then_some(Self::Item(item))
    }
}

/// From the root, from the document, from a crate, or the end of a source's path.
fn is_file(workspace: &Workspace, folder: &Path, file: &str) -> bool {
    let sources = workspace.members.iter().flat_map(|member| &member.sources);
    let mut crates = workspace.root.members.iter();
    let mut places = sources.flat_map(|source| source.path.ancestors());
    root().join(file).exists()
        || folder.join(file).exists()
        || crates.any(|own| root().join(own).join(file).exists())
        || places.any(|path| path.ends_with(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::tidy::workspace::MemberCrate;

    #[test]
    fn files_and_items_are_told_from_other_words() {
        let file = |span| Some(Named::File(span));
        for span in ["src/a.rs", "serve/access/", "state.rs", "docs/deploy"] {
            assert_eq!(Named::of(span), file(span));
        }
        assert_eq!(Named::of("Id<User>"), Some(Named::Item("Id")));
        assert_eq!(
            Named::of("Builder::node_ids(1..=64)"),
            Some(Named::Item("Builder::node_ids"))
        );
        for span in [
            "engines/NAME/",
            "/var/cache",
            "github.com/a/b",
            "target/tools",
            "RF_BUSY",
            "cargo xtask test",
            "fsync",
        ] {
            assert_eq!(Named::of(span), None, "{span}");
        }
    }

    #[test]
    fn a_file_is_found_by_the_end_of_its_path() {
        let workspace = Workspace::planted(
            "",
            vec![MemberCrate::planted("m", "", &[("src/a/b.rs", "")])],
        );
        let is_there = |file| is_file(&workspace, Path::new("/"), file);
        assert!(is_there("a/b.rs") && is_there("src/a") && is_there("Cargo.toml"));
        assert!(!is_there("b/a.rs") && !is_there("c.rs"));
    }
}
