//! Tools from outside Rust: how each is found, and what brings it.

mod apt;
mod ask;
mod bring;
mod find;
mod plan;
mod services;
mod table;
#[cfg(test)]
mod tests;
mod unpack;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::cargo::{output_of, program, target};
use apt::Apt;
pub(crate) use table::*;

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// Where the system has it, given the name.
    find: fn(&str) -> Option<PathBuf>,
    /// Packages of Debian and its kin that bring it.
    packages: &'static [&'static str],
    unpacked: Unpacked,
}

/// How a tool is run from a folder that its packages were unpacked into.
pub(crate) enum Unpacked {
    /// A program, run by a script with these arguments: a shell's words, where `"$@"` stands for what the script was
    /// given and `$root` for the folder.
    Program(&'static str, &'static str),
    /// Several programs; who uses the tool is told their folder.
    Folder(&'static [&'static str]),
    /// A file of `usr/lib`, or of a folder there, which is used as it is.
    Library(&'static str),
    /// A kernel for machines that are emulated. It is never installed; who uses it is told the folder with its `boot`.
    Kernel,
    /// Not at all: why.
    Never(&'static str),
}

/// A program of its own name, which needs no other arguments where it is unpacked.
pub(crate) const fn debian(name: &'static str, packages: &'static [&'static str]) -> Tool {
    Tool {
        name,
        find: find::program_file,
        packages,
        unpacked: Unpacked::Program(name, r#""$@""#),
    }
}

impl Tool {
    pub(crate) fn find(&self) -> Option<PathBuf> {
        self.find_installed().or_else(|| self.find_unpacked())
    }

    fn find_installed(&self) -> Option<PathBuf> {
        (self.find)(self.name)
    }

    fn find_unpacked(&self) -> Option<PathBuf> {
        let folder = self.folder();
        let scripts = folder.join(unpack::SCRIPTS);
        let has = |name: &&str| scripts.join(name).is_file();
        match &self.unpacked {
            Unpacked::Program(name, _) => has(name).then(|| scripts.join(name)),
            Unpacked::Folder(names) => names.iter().all(has).then_some(scripts),
            Unpacked::Library(file) => find::below(&folder.join("usr/lib"), file),
            Unpacked::Kernel => folder.join("boot").is_dir().then_some(folder),
            Unpacked::Never(_) => None,
        }
    }

    /// Where its packages are, if they are unpacked.
    fn folder(&self) -> PathBuf {
        folder().join(self.packages.join("+"))
    }

    /// What stands for `/` in its paths.
    pub(crate) fn root(&self) -> PathBuf {
        let is_unpacked = self.find_installed().is_none() && self.find_unpacked().is_some();
        if is_unpacked {
            self.folder()
        } else {
            "/".into()
        }
    }

    /// What a user types to get it.
    pub(crate) fn command(&self) -> String {
        let packages = self.packages.join(" ");
        format!("sudo apt-get install --no-install-recommends {packages}")
    }
}

/// Brings tools that are missing, one by one, so that what stands against one takes no other down. Tells of each what was
/// done, or why it is still missing.
pub(crate) fn bring(tools: &[&'static Tool], mut tell: impl FnMut(&Tool, Result<String, String>)) {
    let uses_apt = find::in_path("apt-get").next().is_some();
    let apt = Apt {
        ask: &ask::ask,
        is_root: is_root(),
        lists: folder().join("apt"),
    };
    let offline = uses_apt.then(|| apt.update()).flatten();
    let nothing_starts = (uses_apt && apt.is_root).then(services::NothingStarts::new);
    for tool in tools {
        let done = if tool.find().is_some() {
            // The packages of another one had it.
            Ok("came with another tool".to_owned())
        } else if uses_apt {
            bring::bring(&apt, tool.packages, &tool.unpacked, &tool.folder())
        } else {
            Err("it is not in PATH, and there is no apt-get".to_owned())
        };
        let done = done.and_then(|done| match tool.find() {
            Some(_) => Ok(done),
            None => Err(format!("{done}, yet it was not found")),
        });
        tell(
            tool,
            done.map_err(|why| match &offline {
                Some(complaint) => format!("{why}; apt-get update: {complaint}"),
                None => why,
            }),
        );
    }
    drop(nothing_starts);
    services::disable(tools);
    _ = fs::remove_dir_all(&apt.lists);
}

/// Where tools are unpacked. Some servers refuse to be run by root, and the tests run them as another user, who must be
/// able to read that folder: a clone in root's home cannot have it.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let own = target().join("tools");
        if is_root() && !others_may_enter(&own) {
            "/var/cache/randflake-tools".into()
        } else {
            own
        }
    })
}

fn others_may_enter(folder: &Path) -> bool {
    const ENTER: u32 = 0o001;
    let mut there = folder
        .ancestors()
        .filter_map(|path| fs::metadata(path).ok());
    there.all(|folder| folder.permissions().mode() & ENTER != 0)
}

pub(crate) fn is_root() -> bool {
    output_of(&mut program("id", &["-u"])).is_some_and(|id| id == "0")
}

#[cfg(test)]
mod readable {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::others_may_enter;
    use crate::scratch::Scratch;

    #[test]
    fn a_closed_folder_above_keeps_others_out() {
        let scratch = Scratch::new("tools-closed").unwrap();
        let folder = scratch.path().join("clone/target/tools");
        for (mode, open) in [(0o755, true), (0o750, false), (0o711, true)] {
            set_permissions(scratch.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(others_may_enter(&folder), open, "{mode:o}");
        }
    }
}
