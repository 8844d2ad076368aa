//! Packages of Debian and its kin.

use std::path::PathBuf;

use super::apt::Apt;
use super::{bring, find, folder, unpack};

pub(crate) struct Debian {
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

impl Debian {
    pub(super) const fn new(packages: &'static [&'static str], unpacked: Unpacked) -> Self {
        Self { packages, unpacked }
    }

    pub(super) fn packages(&self) -> &'static [&'static str] {
        self.packages
    }

    pub(super) fn command(&self) -> String {
        let packages = self.packages.join(" ");
        format!("sudo apt-get install --no-install-recommends {packages}")
    }

    /// Where its packages are, if they are unpacked.
    pub(super) fn folder(&self) -> PathBuf {
        folder().join(self.packages.join("+"))
    }

    pub(super) fn find_unpacked(&self) -> Option<PathBuf> {
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

    pub(super) fn bring(&self, apt: &Apt<'_>) -> Result<String, String> {
        bring::bring(apt, self.packages, &self.unpacked, &self.folder())
    }
}
