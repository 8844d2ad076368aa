//! The commands the parts are made of. All run in the workspace root; the environment,
//! `CARGO_TARGET_DIR` with it, is inherited.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace root. Cargo says at run time where this crate stands: a binary in a target
/// directory shared by two clones may have been built in the other one.
pub(crate) fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// The target directory of cargo.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A program, run in the workspace root.
pub(crate) fn program<S: AsRef<str>>(name: &str, arguments: &[S]) -> Command {
    let mut command = Command::new(name);
    command
        .current_dir(root())
        .args(arguments.iter().map(AsRef::as_ref));
    command
}

/// The cargo that runs this program, so all parts use one toolchain.
pub(crate) fn cargo<S: AsRef<str>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(root())
        .args(arguments.iter().map(AsRef::as_ref));
    command
}

/// A program of the nightly toolchain. Not `cargo +nightly`: only rustup's proxy knows that form.
pub(crate) fn nightly<S: AsRef<str>>(arguments: &[S]) -> Command {
    let mut command = program("rustup", &["run", "nightly"]);
    // A toolchain is installed by the user alone, so that its absence is seen.
    command
        .args(arguments.iter().map(AsRef::as_ref))
        .env("RUSTUP_AUTO_INSTALL", "0");
    command
}

/// What a command printed, if it could be run and succeeded.
pub(crate) fn output_of(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output.status.success().then(|| {
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    })
}

/// Whether a command is cargo's own, of whatever toolchain, or runs one that its arguments name.
pub(crate) fn is_cargo(command: &Command) -> bool {
    let is_it = |word: &OsStr| {
        Path::new(word)
            .file_stem()
            .is_some_and(|stem| stem == "cargo")
    };
    is_it(command.get_program()) || command.get_args().any(is_it)
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!(
                "{}={}",
                name.display(),
                quoted(&value.to_string_lossy())
            ));
        }
    }
    let program = Path::new(command.get_program());
    words.push(if program.file_stem().is_some_and(|stem| stem == "cargo") {
        "cargo".to_owned()
    } else {
        program.display().to_string()
    });
    words.extend(
        command
            .get_args()
            .map(|argument| quoted(&argument.to_string_lossy())),
    );
    words.join(" ")
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains([' ', '*']) {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}
