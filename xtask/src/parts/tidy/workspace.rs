//! The files the rules look at.

use core::fmt::Display;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use super::tokens::each_token;
use crate::helpers::prelude::*;

pub(crate) struct Workspace {
    pub(crate) members: Vec<MemberCrate>,
}

pub(crate) struct MemberCrate {
    /// Name of the package.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) readme: String,
    pub(crate) sources: Vec<SourceFile>,
}

pub(crate) struct SourceFile {
    /// Below the member's folder.
    pub(crate) path: PathBuf,
    pub(crate) code: TokenStream,
}

impl Workspace {
    pub(crate) fn read() -> Result<Self, String> {
        let mut folders = Vec::new();
        for member in manifest(&root())?.members {
            match member.strip_suffix("/*") {
                Some(parent) => folders.extend(files::entries(&root().join(parent))),
                None => folders.push(root().join(member)),
            }
        }
        // It has nothing but dependencies.
        folders.retain(|folder| !folder.ends_with(HOST_MACROS));
        let members = folders
            .into_iter()
            .map(MemberCrate::read)
            .collect::<Result<_, _>>()?;
        Ok(Self { members })
    }

    /// Each source with the name of its package.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &SourceFile)> {
        let members = self.members.iter();
        members.flat_map(|member| member.sources.iter().map(|source| (&*member.name, source)))
    }

    /// All names; with texts, also the words in those.
    pub(crate) fn words(&self, with_texts: bool) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        for (_, source) in self.sources() {
            each_token(&source.code, &mut |tokens, at| match &tokens[at] {
                TokenTree::Ident(name) => _ = words.insert(name.to_string()),
                TokenTree::Literal(text) if with_texts => {
                    let text = text.to_string();
                    let found = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    words.extend(found.map(str::to_owned));
                }
                _ => {}
            });
        }
        words
    }
}

impl MemberCrate {
    fn read(folder: PathBuf) -> Result<Self, String> {
        let manifest = manifest(&folder)?;
        let source = |path: &PathBuf| {
            let code = parsed(path, files::read(path)?.parse())?;
            Ok(SourceFile {
                path: path.strip_prefix(&folder).unwrap_or(path).to_owned(),
                code,
            })
        };
        let sources = files::sources(&folder).map_err(files::of(&folder))?;
        Ok(Self {
            name: manifest.name.clone(),
            manifest,
            readme: files::read(&folder.join("README.md")).unwrap_or_default(),
            sources: sources.iter().map(source).collect::<Result<_, String>>()?,
            folder,
        })
    }
}

impl SourceFile {
    /// These lines of it, for a message.
    pub(crate) fn places(&self, package: &str, lines: &[usize]) -> Vec<String> {
        let path = self.path.display();
        lines
            .iter()
            .map(|line| format!("{package}/{path}:{line}"))
            .collect()
    }
}

fn manifest(folder: &Path) -> Result<Manifest, String> {
    let path = folder.join("Cargo.toml");
    parsed(&path, Manifest::parse(&files::read(&path)?))
}

/// Says where an error is.
fn parsed<T, E: Display>(place: &Path, parsed: Result<T, E>) -> Result<T, String> {
    parsed.map_err(|error| format!("{}: {error}", place.display()))
}

#[cfg(test)]
impl Workspace {
    /// Members made of text: name, manifest, and a source with its path.
    pub(crate) fn planted(members: &[(&str, &str, &str, &str)]) -> Self {
        let member = |(name, manifest, path, code): &(&str, &str, &str, &str)| MemberCrate {
            name: (*name).to_owned(),
            folder: PathBuf::new(),
            manifest: Manifest::parse(manifest).unwrap(),
            readme: String::new(),
            sources: vec![SourceFile {
                path: path.into(),
                code: code.parse().unwrap(),
            }],
        };
        Self {
            members: members.iter().map(member).collect(),
        }
    }

    /// One source.
    pub(crate) fn of_source(package: &str, path: &str, code: &str) -> Self {
        Self::planted(&[(package, "", path, code)])
    }
}
