//! The file of tokens, as commands change it.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use randflake_std::private_file;

use super::file::{self, TokenLine};
use randflake_common::failure::Failure;
use randflake_common::settings;

/// How often another command may replace it while this one waits for its lock.
const TRIES: usize = 1_000;

/// A file of tokens that no other command changes meanwhile.
#[derive(Debug)]
pub struct TokensFile {
    /// Path of the file, without links.
    place: PathBuf,
    text: String,
    found: Metadata,
    /// Lock of the file that is replaced: who waits for it looks again.
    _locked: File,
}

impl TokensFile {
    /// Opens an existing file.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let place = private_file::follow(path).map_err(Failure::failed)?;
        for _ in 0..TRIES {
            let (mut file, found) = private_file::open_settings(&place).map_err(Failure::failed)?;
            let wrong = |error: io::Error| failed(&place, error);
            file.lock().map_err(wrong)?;
            // Another command may have put a new file in its place.
            let is_there =
                fs::metadata(&place).is_ok_and(|now| private_file::is_same(&now, &found));
            if !is_there {
                continue;
            }
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(wrong)?;
            file::check(&text).map_err(|problem| failed(&place, problem))?;
            return Ok(Self {
                place,
                text,
                found,
                _locked: file,
            });
        }
        Err(failed(&place, "other commands change it all the time"))
    }

    /// Opens the file, and creates it, for its owner alone, if it is missing.
    pub fn open_or_create(path: &Path) -> Result<Self, Failure> {
        let place = private_file::follow(path).map_err(Failure::failed)?;
        let place = private_file::resolve(&place).map_err(Failure::failed)?;
        // Never through a link: that was followed, and who may have made it was looked at.
        let made =
            private_file::write_new(&place, b"").and_then(|()| private_file::sync_name(&place));
        match made {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failed(&place, error)),
            _ => Self::open(&place),
        }
    }

    /// Tokens of the file, in their order.
    pub fn tokens(&self) -> Vec<TokenLine> {
        settings::lines(&self.text)
            .filter_map(|(_, line)| line.parse().ok())
            .collect()
    }

    /// Tokens of a name.
    pub fn named(&self, name: &str) -> Result<Vec<TokenLine>, Failure> {
        let mut tokens = self.tokens();
        let names: Vec<_> = tokens.iter().map(|token| token.name.clone()).collect();
        tokens.retain(|token| token.name == name);
        if !tokens.is_empty() {
            return Ok(tokens);
        }
        let there = if names.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        Err(failed(
            &self.place,
            format!("no token is named {name:?}: {there}"),
        ))
    }

    /// Puts another file in its place at once: each line as `change` says, `None` to remove it, and more at the end. What is
    /// no token stays as it is.
    pub fn replace(
        self,
        change: impl Fn(&TokenLine) -> Option<String>,
        more: Option<&TokenLine>,
    ) -> Result<(), Failure> {
        let mut text = String::with_capacity(self.text.len());
        // Only an empty file: one with tokens but without the line has the same version, and stays
        // as it was written.
        if self.text.is_empty() {
            text.extend([file::VERSION_LINE, "\n"]);
        }
        for line in self.text.lines() {
            let token = settings::lines(line).next();
            let token = token.and_then(|(_, line)| line.parse().ok());
            let after = match &token {
                Some(token) => change(token),
                None => Some(line.to_owned()),
            };
            if let Some(after) = after {
                text.extend([&*after, "\n"]);
            }
        }
        if let Some(line) = more {
            text.extend([&*line.to_string(), "\n"]);
        }
        let wrong = |error: io::Error| failed(&self.place, error);
        // What a running server would refuse must not replace what it accepts.
        file::check(&text).map_err(|problem| failed(&self.place, problem))?;
        let name = self.place.file_name().unwrap_or_default();
        let draft = self
            .place
            .with_file_name(format!(".{}.new", name.to_string_lossy()));
        // What a command has left that was ended in between; no other one is here.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&draft, error)),
            _ => {}
        }
        // Written to the disk before it has the name: after a power cut there is the old file or the new one.
        private_file::write_new(&draft, text.as_bytes()).map_err(|error| failed(&draft, error))?;
        // Owner and mode before the name: a server reads the file as soon as it has it, and cannot
        // open one of root with mode 0600.
        let replaced = keep_owner(&draft, &self.found)
            .and_then(|()| fs::set_permissions(&draft, self.found.permissions()))
            .and_then(|()| fs::rename(&draft, &self.place));
        replaced.map_err(|error| {
            // It is nobody's.
            _ = fs::remove_file(&draft);
            wrong(error)
        })?;
        private_file::sync_name(&self.place).map_err(wrong)
    }
}

/// Root changes a file of the server's user.
#[cfg(unix)]
fn keep_owner(draft: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};

    let made = fs::metadata(draft)?;
    let (uid, gid) = (found.uid(), found.gid());
    if (made.uid(), made.gid()) == (uid, gid) {
        return Ok(());
    }
    chown(draft, Some(uid), Some(gid))
}

/// Rights are kept elsewhere.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "its twin may fail")]
fn keep_owner(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

fn failed(path: &Path, problem: impl core::fmt::Display) -> Failure {
    Failure::failed(format!("{}: {problem}", path.display()))
}
