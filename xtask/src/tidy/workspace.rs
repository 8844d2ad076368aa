//! The files the rules look at.

use core::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use proc_macro2::TokenStream;

use super::manifest::Manifest;

pub(crate) struct Workspace {
    pub(crate) root: Manifest,
    pub(crate) members: Vec<Member>,
}

pub(crate) struct Member {
    /// The folder, which is also the package's name.
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
    pub(crate) readme: String,
    pub(crate) sources: Vec<Source>,
}

pub(crate) struct Source {
    /// Below the member's folder.
    pub(crate) path: PathBuf,
    pub(crate) code: TokenStream,
}

impl Workspace {
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut members = Vec::new();
        for entry in fs::read_dir(root)? {
            let folder = entry?.path();
            let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else {
                continue;
            };
            let mut sources = Vec::new();
            collect(&folder, &folder, &mut sources)?;
            members.push(Member {
                name: folder
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                manifest: parsed(&folder, Manifest::parse(&manifest))?,
                readme: fs::read_to_string(folder.join("README.md")).unwrap_or_default(),
                sources,
            });
        }
        members.sort_by(|one, other| one.name.cmp(&other.name));
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let root = parsed(root, Manifest::parse(&manifest))?;
        Ok(Self { root, members })
    }
}

/// A crate in a crate (`fuzz/`, `firmware/`) is a workspace of its own, with its own dependencies.
fn collect(base: &Path, folder: &Path, sources: &mut Vec<Source>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.join("Cargo.toml").exists() {
                collect(base, &path, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let code = parsed(&path, fs::read_to_string(&path)?.parse())?;
            let path = path.strip_prefix(base).unwrap_or(&path).to_owned();
            sources.push(Source { path, code });
        }
    }
    Ok(())
}

/// Says where an error is.
fn parsed<T, E: fmt::Display>(place: &Path, parsed: Result<T, E>) -> io::Result<T> {
    parsed.map_err(|error| io::Error::other(format!("{}: {error}", place.display())))
}

#[cfg(test)]
impl Member {
    /// A member made of text.
    pub(crate) fn planted(name: &str, manifest: &str, sources: &[(&str, &str)]) -> Self {
        let sources = sources.iter().map(|(path, text)| Source {
            path: path.into(),
            code: text.parse().unwrap(),
        });
        Self {
            name: name.to_owned(),
            manifest: Manifest::parse(manifest).unwrap(),
            readme: String::new(),
            sources: sources.collect(),
        }
    }
}

#[cfg(test)]
impl Workspace {
    pub(crate) fn planted(root: &str, members: Vec<Member>) -> Self {
        Self {
            root: Manifest::parse(root).unwrap(),
            members,
        }
    }
}
