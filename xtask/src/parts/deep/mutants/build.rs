//! Builds the copy; leaves out what does not compile, such as `+` where a type has only `-`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tree::Tree;
use crate::helpers::prelude::*;

/// How often errors may lead to others.
const ROUNDS: u32 = 12;
/// Lets these crates, and no other, use what only nightly compilers have, and say nothing of what
/// changed lines look like. Only they pass through it, so that their dependencies are those of
/// other parts.
const WRAPPER: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec \"$@\" --cap-lints allow\n";

/// The programs with tests that can tell, beside those of core: without servers, and within
/// seconds.
const PROGRAMS: &str = "async_horizon copied_process flash_part fork lease_store observability offline prefetch \
                        provisioned sleep sqlite words";

/// A program with tests, and where it runs.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
}

/// The programs with core's tests.
pub(crate) fn tests_of_core() -> Vec<String> {
    let core = published().find(|library| library.name == "randflake-core");
    core.map(Library::test_programs).unwrap_or_default()
}

/// The same, and those of std that can tell.
pub(crate) fn all_tests() -> Vec<String> {
    tests_of_core()
        .into_iter()
        .chain(PROGRAMS.split(' ').map(str::to_owned))
        .collect()
}

/// Builds what is chosen of a tree, and leaves out of it what cannot be built; with the unit tests,
/// and these programs.
pub(crate) fn build(
    report: &mut Report,
    tree: &mut Tree,
    names: &[String],
) -> Result<Vec<Program>, String> {
    let wrapper = target().join("mutants/rustc.sh");
    for _ in 0..ROUNDS {
        tree.write().map_err(|error| format!("copy: {error}"))?;
        write_script(&wrapper, WRAPPER).map_err(files::of(&wrapper))?;
        let built = report.errors(&mut command(&wrapper, names));
        let (status, errors) = built.map_err(|error| error.to_string())?;
        if status.success() {
            return Ok(programs(&errors));
        }
        let mut is_less = false;
        for (path, line, column) in errors.lines().filter_map(place) {
            is_less |= tree.drop_at(path, line, column);
        }
        if !is_less {
            return Err(format!("it does not build:\n{errors}"));
        }
    }
    Err(format!("it does not build after {ROUNDS} rounds"))
}

/// With the packages and features of other parts, so that cargo takes the dependencies they have
/// built.
fn command(wrapper: &Path, names: &[String]) -> Command {
    let words = "test --no-run --message-format=short --lib --workspace --exclude xtask --features";
    let mut command = cargo_in(&Tree::folder(), &target(), words);
    command
        .arg(host_features())
        .args(names.iter().flat_map(|name| ["--test", name]))
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    command
}

/// Of `path:line:column: error`.
fn place(line: &str) -> Option<(&str, usize, usize)> {
    let mut parts = line.splitn(4, ':');
    let (path, line, column) = (parts.next()?, parts.next()?, parts.next()?);
    let is_error = parts.next()?.starts_with(" error");
    is_error.then_some((path, line.parse().ok()?, column.parse().ok()?))
}

/// Those of the crates that have mutants: cargo names the file of each, and beside it stands what
/// it was built from.
fn programs(said: &str) -> Vec<Program> {
    let program = |line: &str| {
        let named = line.trim_start().strip_prefix("Executable ")?;
        // As cargo shows it: from the folder it was called in.
        let path = Tree::folder().join(named.rsplit_once('(')?.1.strip_suffix(')')?);
        let sources = fs::read_to_string(path.with_extension("d")).ok()?;
        let root = sources.split_whitespace().nth(1).unwrap_or_default();
        let is_of = |folder: &&str| {
            let parts = ["src/lib.rs", "tests/"].map(|part| format!("{folder}/{part}"));
            parts.iter().any(|part| root.contains(part))
        };
        let krate = LIBRARIES.iter().map(|library| library.folder).find(is_of)?;
        Some(Program {
            path,
            folder: Tree::folder().join(krate),
        })
    };
    said.lines().filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_a_place() {
        let line = "randflake-core/src/lane.rs:12:5: error[E0308]: mismatched types: a: b";
        assert_eq!(place(line), Some(("randflake-core/src/lane.rs", 12, 5)));
        assert_eq!(place("error: could not compile `randflake-core`"), None);
    }
}
