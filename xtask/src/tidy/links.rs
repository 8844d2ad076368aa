//! Links of documents lead to files and headings that are there. Those of the web are not looked at, nor names of items,
//! which rustdoc resolves.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::root;
use crate::files;

pub(crate) fn check() -> Vec<String> {
    match documents(&root()) {
        Ok(paths) => violations(&root(), &paths),
        Err(error) => vec![error.to_string()],
    }
}

/// Every document of the repository, not of what was built or brought.
fn documents(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let is_ours = |folder: &Path| {
        let name = folder.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| {
            !["target", "node_modules"].contains(&name) && !name.starts_with('.')
        })
    };
    let mut paths = files::below(root, &is_ours)?;
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "md"));
    Ok(paths)
}

fn violations(root: &Path, documents: &[PathBuf]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut texts = HashMap::new();
    for path in documents {
        let text = fs::read_to_string(path).and_then(|text| Ok((path.canonicalize()?, text)));
        match text {
            Ok((path, text)) => _ = texts.insert(path, text),
            Err(error) => {
                let path = path.strip_prefix(root).unwrap_or(path);
                violations.push(format!("{}: {error}", path.display()));
            }
        }
    }
    for (document, text) in &texts {
        for target in links(text) {
            if !leads_somewhere(&texts, document, target) {
                let document = document.strip_prefix(root).unwrap_or(document);
                violations.push(format!("{}: no {target}", document.display()));
            }
        }
    }
    violations.sort();
    violations
}

fn leads_somewhere(texts: &HashMap<PathBuf, String>, document: &Path, target: &str) -> bool {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let found = match (file, document.parent()) {
        ("", _) | (_, None) => document.to_owned(),
        (file, Some(folder)) => folder.join(file),
    };
    let Ok(found) = found.canonicalize() else {
        return false;
    };
    // Only documents have headings; lines of other files would move under the link.
    heading.is_empty()
        || texts
            .get(&found)
            .is_some_and(|text| headings(text).any(|own| anchor(own) == heading))
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    let rests = prose(text).flat_map(|text| text.split("](").skip(1));
    let targets = rests.filter_map(|rest| rest.split(')').next());
    // A function is called in the name of its item.
    targets.filter(|target| {
        !target.contains("::") && !target.contains("://") && !target.ends_with('(')
    })
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    let lines = prose(text).flat_map(str::lines);
    lines.filter(|line| line.starts_with('#'))
}

/// What is outside of blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2)
}

/// As GitHub names a heading in a link.
fn anchor(heading: &str) -> String {
    let name = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = name
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn links_to_nothing_are_found_in_each_folder() {
        let scratch = Scratch::new("links").unwrap();
        let folder = scratch.path().canonicalize().unwrap();
        let good = "# One\n[a](b/c.md#d-e), [f](#one), [g](https://h.example/i), [j](k::L), [`j`](k()), [m](b)\n\
                    ```text\n# Two\n[n](o.md)\n```\n";
        let bad = "## `D`: e?\n[a](../a.md#two), [b](c.md#e), [c](d.md)\n";
        for (path, text) in [
            ("a.md", good),
            ("b/c.md", "# D e"),
            ("b/bad.md", bad),
            ("target/t.md", bad),
        ] {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::write(folder.join("latin.md"), b"\xE9").unwrap();
        let found = violations(&folder, &documents(&folder).unwrap());
        let links = ["../a.md#two", "c.md#e", "d.md"].map(|link| format!("b/bad.md: no {link}"));
        let unread = "latin.md: stream did not contain valid UTF-8".to_owned();
        assert_eq!(found, [&links[..], &[unread]].concat());
    }

    #[test]
    fn a_heading_is_named_as_in_a_link() {
        assert_eq!(anchor("## `D`: e-f, g_h?"), "d-e-f-g_h");
    }
}
