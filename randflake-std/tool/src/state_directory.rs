//! The directory of the default secret and the default store.

use std::env;
use std::path::{Path, PathBuf};

use randflake_std::private_file;

use crate::failure::Failure;

const ALTERNATIVES: &str = "set XDG_STATE_HOME to the absolute path of a directory that may be written, or \
                            give both --key-file (or RANDFLAKE_KEY) and --store (or RANDFLAKE_STORE)";

/// `$XDG_STATE_HOME/randflake`, or `~/.local/state/randflake` when that variable is not an absolute path
/// (XDG Base Directory Specification 0.8).
pub(crate) fn path() -> Result<PathBuf, Failure> {
    // The specification has relative paths ignored: with them the current directory would choose the secret.
    let is_absolute = |path: &PathBuf| path.is_absolute();
    let state_home = env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(is_absolute);
    let home = || env::home_dir().filter(is_absolute);
    // Services often have no home directory, so the message says what to give instead.
    let Some(state_home) = state_home.or_else(|| Some(home()?.join(".local/state"))) else {
        return Err(Failure::failed(format!(
            "there is no home directory: {ALTERNATIVES}"
        )));
    };
    Ok(state_home.join("randflake"))
}

/// Makes the directory, for its owner alone, if it is not there, and checks whose it is.
pub(crate) fn create(path: &Path) -> Result<(), Failure> {
    private_file::create_directory(path)
        .map_err(|refusal| Failure::failed(format!("state directory {refusal}: {ALTERNATIVES}")))
}
