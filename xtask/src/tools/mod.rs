//! Tools from outside Rust: how each is found, and what brings it.

mod apt;
mod ask;
mod bring;
mod cargo_deny;
mod debian;
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
use debian::Debian;
pub(crate) use debian::Unpacked;
pub(crate) use table::*;

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// Where the system has it.
    pub(crate) find: fn() -> Option<PathBuf>,
    pub(crate) source: Source,
}

/// What brings a tool.
pub(crate) enum Source {
    Packages(Debian),
    CargoDeny,
}

/// These packages bring it, and this is how it is run where they could only be unpacked.
pub(crate) const fn packages(names: &'static [&'static str], unpacked: Unpacked) -> Source {
    Source::Packages(Debian::new(names, unpacked))
}

impl Tool {
    pub(crate) fn find(&self) -> Option<PathBuf> {
        (self.find)().or_else(|| self.packages()?.find_unpacked())
    }

    /// What stands for `/` in its paths.
    pub(crate) fn root(&self) -> PathBuf {
        let is_unpacked = (self.find)().is_none() && self.find().is_some();
        let packages = self.packages().filter(|_| is_unpacked);
        packages.map_or_else(|| "/".into(), Debian::folder)
    }

    /// What a user types to get it.
    pub(crate) fn command(&self) -> String {
        match &self.source {
            Source::Packages(packages) => packages.command(),
            Source::CargoDeny => cargo_deny::COMMAND.to_owned(),
        }
    }

    fn packages(&self) -> Option<&Debian> {
        match &self.source {
            Source::Packages(packages) => Some(packages),
            Source::CargoDeny => None,
        }
    }
}

/// Brings tools that are missing, one by one, so that what stands against one takes no other down. Tells of each what was
/// done, or why it is still missing.
pub(crate) fn bring(tools: &[&'static Tool], mut tell: impl FnMut(&Tool, Result<String, String>)) {
    let (packages, others): (Vec<&Tool>, Vec<&Tool>) =
        tools.iter().partition(|tool| tool.packages().is_some());
    let uses_apt = !packages.is_empty() && find::in_path("apt-get").next().is_some();
    let apt = Apt {
        ask: &ask::ask,
        is_root: is_root(),
        lists: folder().join("apt"),
    };
    let offline = uses_apt.then(|| apt.update()).flatten();
    let nothing_starts = (uses_apt && apt.is_root).then(services::NothingStarts::new);
    // Python comes before what it brings.
    for tool in packages.into_iter().chain(others) {
        let done = match &tool.source {
            // The packages of another one had it.
            _ if tool.find().is_some() => Ok("came with another tool".to_owned()),
            Source::Packages(packages) if uses_apt => packages.bring(&apt),
            Source::Packages(_) => Err("it is not in PATH, and there is no apt-get".to_owned()),
            Source::CargoDeny => cargo_deny::bring(),
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
