//! `coverage`: which lines of core, of the rules of leases and of handles no test runs, counted by instructions that the
//! compiler adds. Those that stay so stand in `uncovered.txt`, each with its reason.

mod lcov;
mod listed;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::apart::{self, Arguments, ExitResult};
use crate::cargo::{nightly, output_of, root, shown, target};
use crate::files::write_script;
use crate::matrix::{LIBRARIES, Library, features_of};
use crate::report::Report;
use crate::setup::{Need, llvm_tools};
use lcov::FileCoverage;
use listed::Listed;
use source::Source;

pub(crate) const HELP: &str = "lines of core, rules and handles that no test runs (nightly, llvm-tools; four minutes)

It builds and runs the tests of core and std that need no server, with the examples in their docs, prints the share of lines and branches for each file, and
fails if a line is neither run nor listed in xtask/src/coverage/uncovered.txt, if a listed line is run or gone, or if fewer
than 97 % of a group's lines are run. What was found is written to target/coverage.
";

/// Of each, what no test runs must be listed.
const GROUPS: [(&str, &str); 3] = [
    ("core", "randflake-core/src"),
    ("rules", "randflake-std/src/rules"),
    ("handle", "randflake-std/src/handle"),
];
/// Traits of other crates, whose tests are a workspace of their own.
const ELSEWHERE: &str = "randflake-core/src/integrations";
const LEAST_PERCENT: usize = 97;

const PACKAGES: [&str; 2] = ["randflake-core", "randflake-std"];
/// What opens no connection. The other features are those of stores on servers.
const STD_FEATURES: &str =
    "randflake-std/metrics,randflake-std/sqlite,randflake-std/tokio,randflake-std/tracing";
/// Programs of `randflake-std/tests`. The others start servers.
const STD_TESTS: [&str; 2] = ["observability", "offline"];

pub(crate) fn main(typed: Arguments) -> ExitResult {
    apart::nothing_else(typed)?;
    let report = Report::new(false);
    Ok(apart::run("coverage", &[Need::LlvmTools], report, run))
}

fn run(report: &mut Report) {
    let folder = target().join("coverage");
    let Some(tools) = llvm_tools() else {
        return;
    };
    let profiles = folder.join("profiles");
    let instrument = folder.join("instrument");
    if !report.verdict("folder", prepare(&profiles, &instrument)) {
        return;
    }
    let instrumented = |mut command: Command| {
        command
            .env("CARGO_TARGET_DIR", &folder)
            .env("RUSTC_WORKSPACE_WRAPPER", &instrument)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "0")
            // One file for four processes at once: each of them adds to it.
            .env("LLVM_PROFILE_FILE", profiles.join("%4m.profraw"));
        command
    };
    let programs = match programs(&mut instrumented(tests())) {
        Ok(programs) => programs,
        Err(why) => {
            report.verdict("build", Err(why));
            return;
        }
    };
    report.tests("tests", &mut instrumented(tests()));
    let mut examples = instrumented(examples());
    report.tests(
        "examples in docs",
        examples.env("RUSTDOCFLAGS", "-C instrument-coverage"),
    );
    let all = folder.join("all.profdata");
    let mut merge = Command::new(tools.join("llvm-profdata"));
    merge
        .args(["merge", "--sparse", "--output"])
        .arg(&all)
        .arg(&profiles);
    if report.check("counts of all processes", &mut merge) {
        let mut export = export(&tools, &all, &programs);
        let covered = output_of(&mut export).ok_or_else(|| shown(&export));
        let verdict = covered.and_then(|text| judge(&lcov::parse(&text, &root()), &folder, report));
        report.verdict("lines", verdict);
    }
}

/// Empties the folder of counts, and writes what adds the compiler's flags to the crates here alone.
fn prepare(profiles: &Path, instrument: &Path) -> Result<(), String> {
    let script = "#!/bin/sh\nexec \"$@\" -C instrument-coverage -Z coverage-options=branch\n";
    // Of an earlier run.
    _ = fs::remove_dir_all(profiles);
    let written = fs::create_dir_all(profiles);
    let written = written.and_then(|()| write_script(instrument, script));
    written.map_err(|error| error.to_string())
}

/// The tests that need no server.
fn tests() -> Command {
    let core = LIBRARIES.iter().find(|library| library.name == PACKAGES[0]);
    let mut programs = core.map(Library::test_programs).unwrap_or_default();
    // Its types are not those that ship.
    programs.retain(|name| !name.starts_with("loom"));
    programs.extend(STD_TESTS.map(str::to_owned));
    let mut command = cargo_test();
    command.arg("--lib");
    command.args(programs.iter().flat_map(|name| ["--test", name]));
    command
}

/// Their own programs hold no map to lines: what they call is in those of the tests, too.
fn examples() -> Command {
    let mut command = cargo_test();
    command.arg("--doc");
    command
}

fn cargo_test() -> Command {
    let mut command = nightly(&["cargo", "test", "--no-fail-fast"]);
    command.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    let of_core = features_of(&[PACKAGES[0]]);
    command.args(["--features", &format!("{of_core},{STD_FEATURES}")]);
    command
}

/// Builds them: what holds the map from counts to lines.
fn programs(tests: &mut Command) -> Result<Vec<String>, String> {
    tests.args(["--no-run", "--message-format", "json"]);
    println!("\n$ {}", shown(tests));
    let built = tests.stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&built.stdout);
    let programs = text.split("\"executable\":\"").skip(1);
    let programs = programs.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    let programs: Vec<String> = programs.collect();
    if built.status.success() && !programs.is_empty() {
        Ok(programs)
    } else {
        Err(format!("{}: {}", built.status, shown(tests)))
    }
}

fn export(tools: &Path, counts: &Path, programs: &[String]) -> Command {
    let mut command = Command::new(tools.join("llvm-cov"));
    command
        .args(["export", "--format", "lcov", "--instr-profile"])
        .arg(counts);
    command.args(programs.iter().flat_map(|program| ["--object", program]));
    command
        .arg("--sources")
        .args(GROUPS.map(|(_, folder)| root().join(folder)));
    command.env("LLVM_PROFILE_FILE", "/dev/null");
    command
}

/// Prints what is run of each file and group, and says what is wrong.
fn judge(files: &[FileCoverage], folder: &Path, report: &mut Report) -> Result<(), String> {
    let list: PathBuf = root().join("xtask/src/coverage/uncovered.txt");
    let list = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut listed = Listed::parse(&list)?;
    let (mut wrong, mut found) = (Vec::new(), String::new());
    for (group, below) in GROUPS {
        let mut sum = source::Shares::default();
        let is_own = |file: &&FileCoverage| {
            file.path.starts_with(below) && !file.path.starts_with(ELSEWHERE)
        };
        for file in files.iter().filter(is_own) {
            let text = fs::read_to_string(root().join(&file.path));
            let source = Source::new(file, &text.map_err(|error| error.to_string())?);
            report.say(&format!("{:60} {}", file.path, source.shares));
            sum.add(&source.shares);
            found.push_str(&source.uncovered_as_list());
            wrong.extend(listed.unlisted(&source));
        }
        report.say(&format!("{group:60} {sum}\n"));
        if sum.percent_of_lines() < LEAST_PERCENT {
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
