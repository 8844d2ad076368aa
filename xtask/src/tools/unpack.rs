//! Packages unpacked into a folder, and run from there: for what apt could not install without removing or upgrading
//! something, and for users who are not root.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{io, process};

use super::apt::Apt;
use super::find::folders_of;
use super::plan::DebianPackage;
use crate::cargo::program;
use crate::files;

/// Where scripts stand in such a folder.
pub(super) const SCRIPTS: &str = "run";

/// Downloads and unpacks packages into `folder`, which appears when it is whole. Other users can read it: some servers
/// refuse to be run by root.
pub(super) fn unpack(
    apt: &Apt<'_>,
    packages: &[DebianPackage],
    folder: &Path,
) -> Result<(), String> {
    let fresh = folder.with_file_name(format!("unfinished-{}", process::id()));
    let unpacked = unpack_into(apt, packages, &fresh).and_then(|()| {
        _ = fs::remove_dir_all(folder);
        fs::rename(&fresh, folder).map_err(|error| said(folder, &error))
    });
    if unpacked.is_err() {
        _ = fs::remove_dir_all(&fresh);
    }
    unpacked
}

fn unpack_into(apt: &Apt<'_>, packages: &[DebianPackage], folder: &Path) -> Result<(), String> {
    let archives = folder.join("archives");
    readable_folder(&archives).map_err(|error| said(&archives, &error))?;
    apt.download(packages, &archives)?;
    let files = fs::read_dir(&archives).map_err(|error| said(&archives, &error))?;
    for file in files.flatten() {
        let mut extract = program("dpkg-deb", &["--extract"]);
        let answer = (apt.ask)(extract.arg(file.path()).arg(folder));
        if !answer.succeeded() {
            return Err(answer.complaint());
        }
    }
    fs::remove_dir_all(&archives).map_err(|error| said(&archives, &error))
}

/// Makes a script that runs a program of an unpacked folder with the libraries beside it. `arguments` are a shell's
/// words: `"$@"` is what the script was given, `$root` the folder.
pub(super) fn write_script(folder: &Path, name: &str, arguments: &str) -> Result<PathBuf, String> {
    let program = program_of(folder, name).ok_or(format!("its packages have no {name}"))?;
    let libraries = libraries_of(folder);
    let libraries: Vec<_> = libraries
        .iter()
        .map(|library| format!("$root/{}", library.display()))
        .collect();
    let text = format!(
        "#!/bin/sh\n\
         # Runs an unpacked program with the libraries and data beside it.\n\
         root=${{0%/*}}/..\n\
         LD_LIBRARY_PATH=\"{}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"\n\
         export LD_LIBRARY_PATH\n\
         exec \"$root/{}\" {arguments}\n",
        libraries.join(":"),
        program.display(),
    );
    let scripts = folder.join(SCRIPTS);
    let script = scripts.join(name);
    readable_folder(&scripts)
        .and_then(|()| files::write_script(&script, &text))
        .map_err(|error| said(&script, &error))?;
    Ok(script)
}

/// Where a program stands in an unpacked folder, relative to it.
fn program_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut places: Vec<_> = ["usr/bin", "usr/sbin", "bin", "sbin"]
        .iter()
        .map(|place| folder.join(place))
        .collect();
    let versions = folders_of(&folder.join("usr/lib/postgresql"));
    places.extend(versions.iter().map(|version| version.join("bin")));
    let files = places.iter().map(|place| place.join(name));
    let mut found = files.filter(|file| file.is_file());
    Some(found.next()?.strip_prefix(folder).ok()?.to_owned())
}

/// The folders of shared libraries, relative to an unpacked folder.
fn libraries_of(folder: &Path) -> Vec<PathBuf> {
    let bases = ["usr/lib", "lib"].map(|base| folder.join(base));
    let inner = bases.iter().flat_map(|base| folders_of(base));
    let of_machine = inner.filter(|path| path.to_string_lossy().contains("-linux-gnu"));
    of_machine
        .chain(bases.iter().filter(|base| base.is_dir()).cloned())
        .filter_map(|path| Some(path.strip_prefix(folder).ok()?.to_owned()))
        .collect()
}

/// A folder that all users can read, whatever the umask.
pub(super) fn readable_folder(path: &Path) -> io::Result<()> {
    let absent: Vec<_> = path.ancestors().take_while(|path| !path.exists()).collect();
    for folder in absent.iter().rev() {
        fs::create_dir(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn said(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
