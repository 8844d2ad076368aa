//! What a front page, the README of a library, leads to and names: rustdoc checks neither.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::pages_of;
use crate::helpers::cargo::root;
use crate::helpers::matrix::Library;

/// Libraries whose names a front page may use too: `randflake-core` passes on the cipher, and the others pass on both.
const PASSED_ON: [&str; 2] = ["sparx64", "randflake-core"];

/// Names of the standard library, of other crates, and of the page's own example.
const FOREIGN: &[&str] = &[
    "AtomicU32",
    "AtomicU64",
    "BigInt",
    "BigInteger",
    "Debug",
    "DelayNs",
    "Format",
    "OpenAPI",
    "Option",
    "Pod",
    "UserId",
    "Uuid",
    "ZeroizeOnDrop",
];

/// Links lead to what is there, and names are those of items.
pub(super) fn check(pages: &Path, library: &Library) -> Result<(), String> {
    let folder = pages_of(pages, library.name);
    let html = read(&folder.join("index.html"))?;
    let lost = links(&html).find(|link| !leads_somewhere(pages, &folder, link));
    if let Some(link) = lost {
        return Err(format!(
            "a link leads to {link:?}, which docs.rs does not have"
        ));
    }
    let mut items = BTreeSet::new();
    for library in PASSED_ON.iter().chain([&library.name]) {
        let html = read(&pages_of(pages, library).join("all.html"))?;
        items.extend(names_of_items(&html));
    }
    let readme = read(&root().join(library.folder).join("README.md"))?;
    if readme.starts_with("# ") {
        return Err("README.md begins with a title, which the page has already".to_owned());
    }
    let is_unknown = |name: &&str| !items.contains(*name) && !FOREIGN.contains(name);
    let unknown: BTreeSet<_> = names(&readme).filter(is_unknown).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(format!("no items are called {unknown:?}"))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn links(html: &str) -> impl Iterator<Item = &str> {
    let rests = html.split("<a ").skip(1);
    let tags = rests.filter_map(|rest| rest.split('>').next());
    tags.filter_map(|tag| tag.split_once("href=\"")?.1.split('"').next())
}

/// Pages of these libraries are looked up, also by their later address; others' are not.
fn leads_somewhere(pages: &Path, folder: &Path, link: &str) -> bool {
    let path = link.split('#').next().unwrap_or_default();
    let (from, path) = match path.strip_prefix("https://docs.rs/") {
        Some(path) => match path.split_once("/latest/") {
            Some((_, page)) => (pages, page),
            // The front page of a crate, or a release of another's.
            None => return true,
        },
        None if path.contains("://") => return true,
        None => (folder, path),
    };
    let found = from.join(path);
    if path.ends_with('/') {
        return found.join("index.html").is_file();
    }
    path.is_empty() || found.is_file()
}

/// Of the page that lists all.
fn names_of_items(html: &str) -> impl Iterator<Item = String> {
    let rests = html.split("<li><a href=\"").skip(1);
    let names = rests.filter_map(|rest| rest.split_once('>')?.1.split('<').next());
    names.map(|path| path.rsplit("::").next().unwrap_or(path).to_owned())
}

/// The types that are named between backticks.
fn names(readme: &str) -> impl Iterator<Item = &str> {
    // Examples are compiled.
    let texts = readme.split("```").step_by(2);
    let spans = texts.flat_map(|text| text.split('`').skip(1).step_by(2));
    spans.filter_map(|span| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = span.split(|c| !is_part(c));
        let is_type = |word: &&str| {
            let mut chars = word.chars();
            chars.next().is_some_and(char::is_uppercase)
                && chars.next().is_some_and(char::is_lowercase)
        };
        let path = span.split(['<', '(', ' ']).next()?;
        is_path(path).then(|| words.find(is_type)).flatten()
    })
}

fn is_path(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || c == '_' || c == ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_between_backticks_are_named() {
        let readme = "`Handle`, `lease::SqliteStore`, `LocalWord<u32>`, `Builder::node_ids(4)`\n```rust\n`Not`\n```\n\
                      `typed_id!`, `UTC`, `a/File.md`, `Segments::builder(..).build()`";
        let found: Vec<_> = names(readme).collect();
        let expected = ["Handle", "SqliteStore", "LocalWord", "Builder", "Segments"];
        assert_eq!(found, expected);
    }

    #[test]
    fn links_are_found_and_looked_up() {
        let html =
            "<a class=\"x\" href=\"struct.X.html#y\">x</a> <a href=\"../docs/server.md\">y</a>";
        let found: Vec<_> = links(html).collect();
        assert_eq!(found, ["struct.X.html#y", "../docs/server.md"]);
        let scratch = crate::helpers::scratch::Scratch::new("front-page").unwrap();
        let folder = scratch.path().join("a");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("struct.X.html"), "").unwrap();
        let leads = |link| leads_somewhere(scratch.path(), &folder, link);
        for link in [
            "struct.X.html#y",
            "#heading",
            "https://eprint.iacr.org/2016/984",
            "https://docs.rs/cipher",
            "https://docs.rs/a-b/latest/a/struct.X.html",
        ] {
            assert!(leads(link), "{link}");
        }
        for link in [
            "../docs/server.md",
            "../a",
            "https://docs.rs/a-b/latest/a/struct.Y.html",
        ] {
            assert!(!leads(link), "{link}");
        }
    }

    #[test]
    fn items_are_called_by_their_last_name() {
        let html =
            "<li><a href=\"a/struct.X.html\">a::X</a></li><li><a href=\"trait.Y.html\">Y</a></li>";
        let found: Vec<_> = names_of_items(html).collect();
        assert_eq!(found, ["X", "Y"]);
    }
}
