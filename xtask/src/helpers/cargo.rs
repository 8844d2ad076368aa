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

/// A program with arguments that spaces part, run in the workspace root.
pub(crate) fn program(file: impl AsRef<OsStr>, words: &str) -> Command {
    let mut command = Command::new(file);
    command.current_dir(root()).args(words.split_whitespace());
    command
}

/// The cargo that runs this program, so all parts use one toolchain.
pub(crate) fn cargo(words: &str) -> Command {
    program(
        env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        words,
    )
}

/// Cargo in another workspace, which is built in a directory of its own.
pub(crate) fn cargo_in(workspace: &Path, target: &Path, words: &str) -> Command {
    let mut command = cargo(words);
    command
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", target);
    command
}

/// A program of the nightly toolchain. Not `cargo +nightly`: only rustup's proxy knows that form.
pub(crate) fn nightly(words: &str) -> Command {
    let mut command = program("rustup", "run nightly");
    // A toolchain is installed by the user alone, so that its absence is seen.
    command
        .args(words.split_whitespace())
        .env("RUSTUP_AUTO_INSTALL", "0");
    command
}

/// What the compiler says of itself, with arguments such as `--print sysroot`.
pub(crate) fn rustc(words: &str) -> String {
    output_of(&mut program("rustc", words)).unwrap_or_default()
}

/// What a command printed, if it could be run and succeeded.
pub(crate) fn output_of(command: &mut Command) -> Option<String> {
    Some(answer(command).ok()?.trim_end().to_owned())
}

/// What a command printed, or its complaint.
pub(crate) fn answer(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

/// A command fails, and its complaint has this in it.
pub(crate) fn refuses(command: &mut Command, complaint: &str) -> Result<(), String> {
    match answer(command) {
        Err(printed) if printed.contains(complaint) => Ok(()),
        Ok(printed) | Err(printed) => Err(printed),
    }
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
