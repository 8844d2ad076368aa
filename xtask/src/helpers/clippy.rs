//! Clippy as the compiler of what is tested.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::cargo::{output_of, program};

/// What cargo calls for the crates of a workspace, instead of the compiler and with it.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";
/// What clippy reads when it is called so.
const ARGUMENTS: &str = "CLIPPY_ARGS";

/// Lets clippy build the crates of a workspace, and look at them meanwhile: what they stand on, which is most of the work, is
/// then compiled once and not checked once more.
pub(crate) fn while_building(command: &mut Command) -> &mut Command {
    // As `cargo clippy -- -D warnings` says it.
    command
        .env(WRAPPER, driver())
        .env(ARGUMENTS, "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__")
}

/// Leaves it to the compiler alone, which optimises more.
pub(crate) fn not_while_building(command: &mut Command) -> &mut Command {
    command.env_remove(WRAPPER).env_remove(ARGUMENTS)
}

/// The compiler that lints what it compiles.
pub(crate) fn driver() -> PathBuf {
    let sysroot = output_of(&mut program("rustc", &["--print", "sysroot"])).unwrap_or_default();
    Path::new(&sysroot).join("bin/clippy-driver")
}
