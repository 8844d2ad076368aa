//! Data directories of database servers, made once and copied: a database that makes its own tables
//! takes seconds on a busy machine, and each of a hundred tests wants an empty one.
//!
//! Two servers of one kind have one identity then. A test that tells two apart makes the second one
//! from the first.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io};

use tempfile::TempDir;

use super::unprivileged::Unprivileged;

/// The tests of a program that run at a time make each template once.
static MAKING: Mutex<()> = Mutex::new(());

/// A folder with a copy of what `create` makes in a folder, which is kept from run to run as long
/// as the server's program is the same.
pub fn copied(server: &Path, create: impl FnOnce(&Path)) -> TempDir {
    let folder = unused();
    let making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let template = place(server, &folder);
    if !template.exists() {
        let made = unused();
        create(made.path());
        // By others under its name only when it is complete.
        let new = template.with_extension(process::id().to_string());
        copy(made.path(), &new);
        if let Err(error) = fs::rename(&new, &template) {
            let by_another_program = error.kind() == io::ErrorKind::DirectoryNotEmpty;
            assert!(by_another_program, "{}: {error}", template.display());
            fs::remove_dir_all(new).unwrap();
        }
    }
    drop(making);
    copy(&template, folder.path());
    folder
}

/// Where servers keep their data, if not where temporary files are.
const DATA: &str = "RANDFLAKE_SERVER_DATA";

/// An empty folder where servers keep their data.
pub fn empty() -> TempDir {
    match env::var_os(DATA) {
        Some(place) => TempDir::new_in(place).unwrap(),
        None => TempDir::new().unwrap(),
    }
}

/// A folder that the server's user may write to.
pub fn unused() -> TempDir {
    let folder = empty();
    if let Some(user) = Unprivileged::needed() {
        chown(folder.path(), Some(user.uid), Some(user.gid)).unwrap();
    }
    folder
}

/// Named after the user and the program, so that another one's is not taken.
fn place(server: &Path, folder: &TempDir) -> PathBuf {
    let user = fs::metadata(folder.path()).unwrap().uid();
    let program = fs::metadata(server).unwrap();
    let name = server.file_name().unwrap().display();
    let (size, modified) = (program.len(), program.mtime());
    // `target/tmp`: what Cargo tells tests, and no library, as `CARGO_TARGET_TMPDIR`. Tests are in
    // `target/PROFILE/deps`, programs in the folder above.
    let program = env::current_exe().unwrap();
    let mut folders = program.ancestors().skip(1);
    let profile = folders.find(|folder| !folder.ends_with("deps")).unwrap();
    let kept = profile.parent().unwrap().join("tmp");
    fs::create_dir_all(&kept).unwrap();
    kept.join(format!("{name}-{user}-{size}-{modified}"))
}

/// Logs are mostly empty space.
#[cfg(target_os = "linux")]
const COPY: &[&str] = &["-a", "--sparse=always"];
#[cfg(not(target_os = "linux"))]
const COPY: &[&str] = &["-a"];

/// All in a folder, with its owners.
fn copy(from: &Path, to: &Path) {
    let mut command = Command::new("cp");
    command.args(COPY).arg(from.join(".")).arg(to);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}
