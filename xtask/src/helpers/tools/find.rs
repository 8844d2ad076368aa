//! Searches for programs, linkers and libraries of the system.

use std::env;
use std::path::{Path, PathBuf};

use crate::helpers::files;

/// All programs of a name, in the order of `PATH`.
pub(super) fn in_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders
        .into_iter()
        .map(move |folder| folder.join(name))
        .filter(|file| file.is_file())
}

/// A program in `PATH`, or in a folder that only an administrator's `PATH` has.
pub(super) fn program_file(name: &str) -> Option<PathBuf> {
    let others = ["/usr/sbin", "/usr/local/sbin"].map(|folder| Path::new(folder).join(name));
    in_path(name).chain(others).find(|file| file.is_file())
}

/// A cross compiler, if the C library of its machine is there too.
pub(super) fn linker(machine: &str) -> Option<PathBuf> {
    let library = Path::new("/usr").join(machine).join("lib/libc.so");
    let compiler = program_file(&format!("{machine}-gcc"));
    compiler.filter(|_| library.is_file())
}

/// `file` in `folder` or in a folder of it: libraries stand below a folder named after the machine.
pub(super) fn below(folder: &Path, file: &str) -> Option<PathBuf> {
    let places = [folder.to_owned()]
        .into_iter()
        .chain(files::entries(folder));
    places
        .map(|folder| folder.join(file))
        .find(|path| path.is_file())
}
