//! Temporary directories that go away with their owner.

use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use crate::report::Report;

/// A fresh directory, removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// In the system's temporary directory; `name` must be unique within this program.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let path = env::temp_dir().join(format!("randflake-{name}-{}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// The same, or a report of why there is none.
    pub(crate) fn reported(report: &mut Report, name: &str) -> Option<Self> {
        let made = Self::new(name);
        made.map_err(|error| report.verdict("temporary directory", Err(error.to_string())))
            .ok()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            println!("could not remove {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_goes_away_with_its_content() {
        let scratch = Scratch::new("scratch-test").unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "content").unwrap();
        assert!(Scratch::new("scratch-test").is_err());
        drop(scratch);
        assert!(!path.exists());
    }
}
