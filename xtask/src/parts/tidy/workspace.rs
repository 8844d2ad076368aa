//! The files the rules look at.

use core::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use proc_macro2::TokenStream;

use crate::helpers::files;
use crate::helpers::manifest::Manifest;
use crate::helpers::matrix::HOST_MACROS;

pub(crate) struct Workspace {
    pub(crate) root: Manifest,
    pub(crate) members: Vec<MemberCrate>,
}

pub(crate) struct MemberCrate {
    /// Name of the package.
    pub(crate) name: String,
    pub(crate) manifest: Manifest,
    pub(crate) readme: String,
    pub(crate) sources: Vec<SourceFile>,
}

pub(crate) struct SourceFile {
    /// Below the member's folder.
    pub(crate) path: PathBuf,
    pub(crate) code: TokenStream,
}

/// The folders of members, of which `FOLDER/*` are several.
fn folders(root: &Path, members: &[String]) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for member in members {
        let Some(parent) = member.strip_suffix("/*") else {
            folders.push(root.join(member));
            continue;
        };
        let entries = fs::read_dir(root.join(parent))?;
        let mut found: Vec<_> = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<_>>()?;
        found.sort_unstable();
        folders.extend(found);
    }
    Ok(folders)
}

impl Workspace {
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let read = |folder: &Path| {
            let text = fs::read_to_string(folder.join("Cargo.toml"))?;
            parsed(folder, Manifest::parse(&text))
        };
        let manifest = read(root)?;
        let mut members = Vec::new();
        for folder in folders(root, &manifest.members)? {
            // It has nothing but dependencies.
            if folder.ends_with(HOST_MACROS) {
                continue;
            }
            let manifest = read(&folder)?;
            let source = |path: &PathBuf| {
                let code = parsed(path, fs::read_to_string(path)?.parse())?;
                let path = path.strip_prefix(&folder).unwrap_or(path).to_owned();
                Ok::<_, io::Error>(SourceFile { path, code })
            };
            let sources = files::sources(&folder)?
                .iter()
                .map(source)
                .collect::<Result<_, _>>()?;
            members.push(MemberCrate {
                name: manifest.name.clone(),
                manifest,
                readme: fs::read_to_string(folder.join("README.md")).unwrap_or_default(),
                sources,
            });
        }
        let root = manifest;
        Ok(Self { root, members })
    }

    /// Each source with the name of its package.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &SourceFile)> {
        let members = self.members.iter();
        members.flat_map(|member| member.sources.iter().map(|source| (&*member.name, source)))
    }
}

impl SourceFile {
    /// These lines of it, for a message.
    pub(crate) fn places(&self, package: &str, lines: &[usize]) -> Vec<String> {
        let path = self.path.display();
        let place = |line: &usize| format!("{package}/{path}:{line}");
        lines.iter().map(place).collect()
    }
}

/// Says where an error is.
fn parsed<T, E: fmt::Display>(place: &Path, parsed: Result<T, E>) -> io::Result<T> {
    parsed.map_err(|error| io::Error::other(format!("{}: {error}", place.display())))
}

#[cfg(test)]
impl MemberCrate {
    /// A member made of text.
    pub(crate) fn planted(name: &str, manifest: &str, sources: &[(&str, &str)]) -> Self {
        let sources = sources.iter().map(|(path, text)| SourceFile {
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
    pub(crate) fn planted(root: &str, members: Vec<MemberCrate>) -> Self {
        Self {
            root: Manifest::parse(root).unwrap(),
            members,
        }
    }
}
