//! Names of types that mean two things, and doc comments that say nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::source::{LineKind, SourceLines};

const KINDS: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// Names with more than one definition, and where these are. Twins of which `cfg` chooses one count once.
pub(super) fn of_two_meanings<'s>(
    sources: impl Iterator<Item = (&'s str, &'s SourceLines)> + Clone,
) -> BTreeMap<String, Vec<PathBuf>> {
    let chosen: BTreeSet<PathBuf> = sources
        .clone()
        .flat_map(|(package, source)| chosen(&Path::new(package).join(&source.path), source))
        .collect();
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (package, source) in sources {
        let path = Path::new(package).join(&source.path);
        for name in source.of_kind(LineKind::Code).filter_map(defined) {
            let places = found.entry(name.to_owned()).or_default();
            let is_twin = |other: &PathBuf| {
                let both = chosen.contains(other) && chosen.contains(&path);
                other == &path || both && home(other) == home(&path)
            };
            if !places.iter().any(is_twin) {
                places.push(path.clone());
            }
        }
    }
    found.retain(|_, places| places.len() > 1);
    found
}

/// The folder in which a module is declared.
fn home(path: &Path) -> Option<&Path> {
    let is_folder = path.ends_with("mod.rs");
    if is_folder {
        path.parent()?.parent()
    } else {
        path.parent()
    }
}

/// The type that a line defines; not one that is associated with another.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    if word.starts_with("pub") {
        word = words.by_ref().find(|word| !word.ends_with(')'))?;
    }
    let is_nested_type = word == "type" && line.starts_with(' ');
    if !KINDS.contains(&word) || is_nested_type {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &name[..end.unwrap_or(name.len())];
    name.starts_with(char::is_uppercase).then_some(name)
}

/// The files of modules behind a `cfg`.
fn chosen(path: &Path, source: &SourceLines) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(path);
    let mut files = Vec::new();
    let mut attributes: Vec<&str> = Vec::new();
    for line in source.of_kind(LineKind::Code).map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        let name = line
            .strip_suffix(';')
            .and_then(|line| line.rsplit_once("mod "));
        let is_chosen = attributes.iter().any(|line| line.starts_with("#[cfg"));
        if let Some((_, name)) = name.filter(|_| is_chosen) {
            let given = attributes
                .iter()
                .filter_map(|line| line.split_once("path = \""));
            let given = given.filter_map(|(_, rest)| rest.split('"').next());
            files.extend(given.map(|given| folder.join(given)));
            files.push(folder.join(name).with_extension("rs"));
            files.push(folder.join(name).join("mod.rs"));
        }
        attributes.clear();
    }
    files
}

/// Doc comments of at most three words.
pub(super) fn short_docs(source: &SourceLines) -> Vec<String> {
    let mut comments: Vec<String> = Vec::new();
    let mut is_open = false;
    for (kind, line) in &source.lines {
        let text = line.trim_start().trim_start_matches(['/', '!']).trim();
        match (kind, is_open) {
            (LineKind::Doc, true) => comments.last_mut().into_iter().for_each(|last| {
                last.push(' ');
                last.push_str(text);
            }),
            (LineKind::Doc, false) => comments.push(text.to_owned()),
            _ => {}
        }
        is_open = *kind == LineKind::Doc;
    }
    comments.retain(|comment| comment.split_whitespace().count() <= 3);
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_and_twins_are_one() {
        let files = [
            (
                "a/mod.rs",
                "#[cfg(x)]\nmod one;\n#[cfg(not(x))]\nmod other;\npub struct Place;",
            ),
            ("a/one.rs", "pub(crate) struct Twin<T>(T);"),
            (
                "a/other.rs",
                "pub(crate) struct Twin;\nimpl Y for X {\n    type Z = u8;\n}",
            ),
            ("b.rs", "enum Place { A }\nstruct Z;"),
        ];
        let sources = files.map(|(path, text)| SourceLines::of(Path::new(path), text));
        let found = of_two_meanings(sources.iter().map(|source| ("p", source)));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["Place"]);
        assert_eq!(found["Place"].len(), 2);
    }

    #[test]
    fn short_comments_are_found_whole() {
        let text = "/// Which.\nfn a() {}\n/// One\n/// two three four.\nfn b() {}\n// Why.\n";
        let source = SourceLines::of(Path::new("a.rs"), text);
        assert_eq!(short_docs(&source), ["Which."]);
    }
}
