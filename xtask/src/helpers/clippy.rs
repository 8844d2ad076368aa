//! Clippy as the compiler of what is tested, and the commands by which it compiled each library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::helpers::cargo::{program, rustc, target};
use crate::helpers::files::write_script;

/// What cargo calls for the crates of a workspace, instead of the compiler and with it.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";
/// What clippy reads when it is called so.
const ARGUMENTS: &str = "CLIPPY_ARGS";

/// Calls clippy, and keeps how it was called for a library or a program, beside itself: the
/// environment, which may hold tokens, for this user alone, and an argument a line. A build for
/// `check`, which is incremental, has other features.
const RECORDER: &str = r#"#!/bin/sh
case "$*" in
*incremental=* | *"--cfg test"*) ;;
*"--crate-type lib --emit"* | *"--crate-type bin --emit"*)
    umask 077
    export -p > "$0-$CARGO_PKG_NAME.env"
    printf '%s\n' "$@" > "$0-$CARGO_PKG_NAME.args" ;;
esac
exec "#;

/// Lets clippy build the crates of a workspace, and look at them meanwhile: what they stand on,
/// which is most of the work, is then compiled once and not checked once more.
pub(crate) fn while_building(command: &mut Command) -> &mut Command {
    // As `cargo clippy -- -D warnings` says it.
    command
        .env(WRAPPER, recorder())
        .env(ARGUMENTS, "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__")
}

/// Leaves it to the compiler alone, which optimises more.
pub(crate) fn not_while_building(command: &mut Command) -> &mut Command {
    command.env_remove(WRAPPER).env_remove(ARGUMENTS)
}

/// The compiler that lints what it compiles.
pub(crate) fn driver() -> PathBuf {
    Path::new(&rustc("--print sysroot")).join("bin/clippy-driver")
}

/// The script that records. Without it, cargo says that it cannot run it.
fn recorder() -> PathBuf {
    let path = target().join("recorder");
    let text = format!("{RECORDER}'{}' \"$@\"\n", driver().display());
    if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
        _ = fs::create_dir_all(target()).and_then(|()| write_script(&path, &text));
    }
    path
}

/// How a crate was built last: its source can be looked at once more, against the same
/// dependencies.
pub(crate) struct Recorded {
    environment: PathBuf,
    arguments: Vec<String>,
}

impl Recorded {
    pub(crate) fn of(package: &str) -> io::Result<Self> {
        let file = |ending| target().join(format!("recorder-{package}.{ending}"));
        let arguments = fs::read_to_string(file("args"))?;
        Ok(Self {
            environment: file("env"),
            // The first is the compiler that the wrapper was to call.
            arguments: arguments.lines().skip(1).map(str::to_owned).collect(),
        })
    }

    /// Clippy's look at it with other features.
    pub(crate) fn clippy(&self, features: &[&str], out: &Path) -> io::Result<Command> {
        let mut command = self.with(
            &[&driver(), Path::new("rustc")],
            features,
            CLIPPY_DROPS,
            out,
        )?;
        command.args(["--emit", "metadata"]);
        Ok(command)
    }

    /// Its pages with other features.
    pub(crate) fn rustdoc(&self, features: &[&str], out: &Path) -> io::Result<Command> {
        let mut command = self.with(&[Path::new("rustdoc")], features, RUSTDOC_DROPS, out)?;
        command.arg("-Dwarnings");
        Ok(command)
    }

    fn with(
        &self,
        words: &[&Path],
        features: &[&str],
        dropped: &[&str],
        out: &Path,
    ) -> io::Result<Command> {
        // They are long, so that a message has their file's name.
        let file = out.join("arguments");
        fs::write(&file, without(&self.arguments, dropped).join("\n"))?;
        let mut command = program("sh", "-c");
        // Not the jobserver of the cargo that has ended.
        command.arg(r#". "$0" && unset CARGO_MAKEFLAGS MAKEFLAGS && exec "$@""#);
        command
            .arg(&self.environment)
            .args(words)
            .arg(format!("@{}", file.display()));
        for name in features {
            command.args(["--cfg", &format!("feature=\"{name}\"")]);
        }
        command.arg("--out-dir").arg(out);
        Ok(command)
    }
}

/// Flags that a call of clippy has of its own, or should not have.
const CLIPPY_DROPS: &[&str] = &["--emit", "--out-dir", "--error-format", "--json"];
const RUSTDOC_DROPS: &[&str] = &["--emit", "--out-dir", "--error-format", "--json", "-C"];

/// Arguments without features, and without some flags and their values.
fn without<'a>(arguments: &'a [String], flags: &[&str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        if word == "--cfg"
            && rest
                .next_if(|value: &&str| value.starts_with("feature="))
                .is_some()
        {
            continue;
        }
        let flag = word.split('=').next().unwrap_or(word);
        if !flags.contains(&flag) {
            kept.push(word);
        } else if flag == word {
            // Its value is the next word.
            rest.next();
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_and_flags_are_left_out() {
        let words: Vec<String> =
            "--cfg feature=\"a\" --cfg unix -C opt-level=1 --json=x --out-dir o src/lib.rs"
                .split(' ')
                .map(str::to_owned)
                .collect();
        assert_eq!(
            without(&words, CLIPPY_DROPS),
            ["--cfg", "unix", "-C", "opt-level=1", "src/lib.rs"]
        );
        assert_eq!(
            without(&words, RUSTDOC_DROPS),
            ["--cfg", "unix", "src/lib.rs"]
        );
    }
}
