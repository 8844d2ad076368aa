//! The files of a folder, and of those in it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::helpers::cargo::root;

/// All files below a folder, sorted, but not those in folders that are refused.
pub(crate) fn below(folder: &Path, enters: &dyn Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_dir() {
            files.push(path);
        } else if enters(&path) {
            files.extend(below(&path, enters)?);
        }
    }
    files.sort();
    Ok(files)
}

/// The sources of Rust below a folder. A crate in a crate (`fuzz/`, `firmware/`) has its own.
pub(crate) fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_of_crate = |path: &Path| !path.ends_with("target") && !path.join("Cargo.toml").exists();
    let mut files = below(folder, &is_of_crate)?;
    files.retain(|path| path.extension().is_some_and(|kind| kind == "rs"));
    Ok(files)
}

/// The text of a file, or an error that names it.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(of(path))
}

/// Writes a file into a folder that need not be there yet, or returns an error that names it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(of(folder))?;
    fs::write(path, text).map_err(of(path))
}

/// Copies a file into a folder that need not be there yet.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(of(folder))?;
    fs::copy(from, to).map(drop).map_err(of(from))
}

/// Says what an error is about.
pub(crate) fn of(path: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// What is in a folder, sorted; nothing if it is not there.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Writes a program for the shell.
pub(crate) fn write_script(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// A document with other text between two marks; `None` if it has not both.
fn replaced(document: &str, [begin, end]: [&str; 2], text: &str) -> Option<String> {
    let (before, rest) = document.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

/// Puts text between two marks of a document of the project.
pub(crate) fn put_into(document: &str, marks: [&str; 2], text: &str) -> Result<(), String> {
    let path = root().join(document);
    let new = replaced(&read(&path)?, marks, text);
    write(
        &path,
        new.ok_or_else(|| format!("{document} has no {marks:?}"))?,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::helpers::scratch::Scratch;

    #[test]
    fn another_crates_sources_are_left_out() {
        let scratch = Scratch::new("sources").unwrap();
        let folder = scratch.path();
        for path in ["b.rs", "a/c.rs", "a/d.md", "fuzz/Cargo.toml", "fuzz/e.rs"] {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let found = sources(folder).unwrap();
        assert_eq!(found, ["a/c.rs", "b.rs"].map(|path| folder.join(path)));
    }

    #[test]
    fn a_new_table_takes_the_place_of_the_last_one() {
        let marks = ["<!-- begin -->\n", "<!-- end -->\n"];
        let document = |table| format!("Before\n{}{table}{}after\n", marks[0], marks[1]);
        let written = replaced(&document("old\n"), marks, "new\n");
        assert_eq!(written, Some(document("new\n")));
        assert_eq!(replaced("none", marks, "new\n"), None);
    }
}
