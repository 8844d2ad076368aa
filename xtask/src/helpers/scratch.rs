//! Temporary directories that go away with their owner.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, io, process};

use crate::helpers::cargo::{output_of, program};
use crate::helpers::files;

/// A fresh directory, removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// In the system's temporary directory; `name` must be unique within this program.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        Self::below(&env::temp_dir(), name)
    }

    /// In memory, where there is plenty of it. Others than root may pass through: database servers
    /// refuse to run as root.
    pub(crate) fn in_memory(name: &str) -> Option<Self> {
        const PLENTY_KIB: u64 = 8 << 20;
        let memory = Path::new("/dev/shm");
        remove_left_behind(memory, name);
        let free = output_of(&mut program("df", "--output=avail /dev/shm"))?;
        if free.lines().nth(1)?.trim().parse::<u64>().ok()? < PLENTY_KIB {
            return None;
        }
        let scratch = Self::below(memory, name).ok()?;
        let passable = Permissions::from_mode(0o755);
        fs::set_permissions(scratch.path(), passable).ok()?;
        Some(scratch)
    }

    fn below(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(format!("randflake-{name}-{}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// Removes what programs had that were killed: in memory it would take that away until the next
/// boot.
fn remove_left_behind(folder: &Path, name: &str) {
    for path in files::entries(folder) {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let owner = file.strip_prefix(&*format!("randflake-{name}-"));
        let owner = owner.and_then(|owner| owner.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            // It may be another user's.
            _ = fs::remove_dir_all(&path);
        }
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

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_killed_program_had_is_removed() {
        let scratch = Scratch::new("left-behind-test").unwrap();
        // Linux gives no process this number.
        let dead = format!("randflake-x-{}", u32::MAX);
        let alive = format!("randflake-x-{}", process::id());
        let names = [&*dead, &*alive, "randflake-x-", "randflake-y-1"];
        let paths = names.map(|name| scratch.path().join(name));
        for path in &paths {
            fs::create_dir(path).unwrap();
        }
        remove_left_behind(scratch.path(), "x");
        assert_eq!(paths.map(|path| path.exists()), [false, true, true, true]);
    }
}
