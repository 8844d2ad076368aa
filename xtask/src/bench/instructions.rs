//! `bench instructions`: what valgrind counts is the same on a busy machine, so it is recorded, and a
//! change shows in review.

use core::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::{target, text, workspace};
use crate::cargo::{cargo, output_of, program, root, shown};
use crate::report::Report;
use crate::setup::Need;
use crate::tools::{Tool, Unpacked, packages};

const RECORD: &str = "randflake-std/benches/record/instructions.csv";
/// What one count covers: see `benches/instructions`.
const IDS: u64 = 1_024;

const VALGRIND: Tool = Tool {
    name: "valgrind",
    find: || output_of(&mut program("valgrind", &["--version"])).map(PathBuf::from),
    // Without the C library's symbols it does not start.
    source: packages(
        &["valgrind", "libc6-dbg"],
        Unpacked::Never("it looks for the C library's symbols in /usr/lib/debug"),
    ),
};

pub(super) fn needs() -> Vec<Need> {
    vec![Need::Tool(&VALGRIND)]
}

pub(super) fn run(report: &mut Report, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments {}", arguments.join(" ")));
    }
    if report.tool(&VALGRIND, "counting instructions").is_none() {
        return Ok(());
    }
    let Some(runner) = runner(report) else {
        return Ok(());
    };
    let verdict = count(&runner, &[]).and_then(|mut all| {
        let observed = count(&runner, &["--features", "observed"])?;
        let observed = observed.into_iter().filter(|(case, _)| is_observed(case));
        all.extend(observed.map(|(case, count)| (format!("{case}_observed"), count)));
        write(&all)
    });
    report.verdict(RECORD, verdict);
    Ok(())
}

fn count(runner: &Path, features: &[&str]) -> Result<Vec<(String, u64)>, String> {
    let mut count = cargo(&["bench", "--locked"]);
    count
        .args(features)
        .current_dir(workspace("instructions"))
        // Not `--target-dir`: the runner does not see that, and leaves its files elsewhere.
        .env("CARGO_TARGET_DIR", target("instructions"))
        .env("GUNGRAUN_RUNNER", runner)
        .env("GUNGRAUN_COLOR", "never");
    println!("\n$ {}", shown(&count));
    let counts = output_of(&mut count).map(|output| counts(&output));
    counts
        .filter(|counts| !counts.is_empty())
        .ok_or_else(|| format!("nothing was counted: {}", shown(&count)))
}

/// Whether the features `tracing` and `metrics` could cost it something, though nobody listens.
fn is_observed(case: &str) -> bool {
    case.starts_with("handle")
}

/// The program that runs valgrind, of the library's version, built where it is found again.
fn runner(report: &mut Report) -> Option<PathBuf> {
    let lock = fs::read_to_string(workspace("instructions").join("Cargo.lock")).unwrap_or_default();
    let version = lock
        .split_once("name = \"gungraun\"\nversion = \"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("", |(version, _)| version);
    let folder = target("gungraun-runner").join(version);
    let runner = folder.join("bin/gungraun-runner");
    if !runner.is_file() {
        let install = ["install", "--locked", "--quiet", "--version", version];
        let mut command = cargo(&install);
        command.arg("--root").arg(&folder).arg("gungraun-runner");
        if !report.check("gungraun-runner", &mut command) {
            return None;
        }
    }
    Some(runner)
}

/// The instructions of each benchmark, out of lines like `instructions::ids::fill once:(..)` and, after
/// each, `Instructions: 116857|116866 (..)`.
fn counts(output: &str) -> Vec<(String, u64)> {
    let mut counts = Vec::new();
    let mut name = "";
    for line in output.lines() {
        if let Some(rest) = line.strip_prefix("instructions::ids::") {
            name = rest.split(' ').next().unwrap_or_default();
        } else if let Some(rest) = line.trim_start().strip_prefix("Instructions:") {
            let number = rest.split('|').next().map(str::trim).unwrap_or_default();
            if let Ok(number) = number.parse() {
                counts.push((name.to_owned(), number));
            }
        }
    }
    counts
}

fn write(counts: &[(String, u64)]) -> Result<(), String> {
    let rustc = output_of(&mut program("rustc", &["--version"])).unwrap_or_default();
    let mut csv = format!(
        "# cargo xtask bench instructions; {rustc}; {IDS} ids in each count\ncase,instructions,for_one\n"
    );
    println!();
    for (case, count) in counts {
        let (whole, tenths) = (count / IDS, count % IDS * 10 / IDS);
        _ = writeln!(csv, "{case},{count},{whole}.{tenths}");
        println!("{case:20} {whole:6}.{tenths} instructions");
    }
    let path = root().join(RECORD);
    fs::create_dir_all(path.parent().unwrap_or(&path))
        .and_then(|()| fs::write(&path, csv))
        .map_err(|error| format!("{}: {error}", text(&path)))
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn counts_are_found_with_their_names() {
        let output = "instructions::ids::fill once:(generator(Plain), vec! [0])\n  \
                      Instructions:      116857|116866     (-0.00770%) [-1.00008x]\n  \
                      L1 Hits:           1|N/A             (*********)\n\
                      instructions::ids::inspect once:(codec())\n  \
                      Instructions:      434243|N/A        (*********)\n";
        let expected = [
            ("fill".to_owned(), 116_857),
            ("inspect".to_owned(), 434_243),
        ];
        assert_eq!(counts(output), expected);
        assert_eq!(counts("error: bench failed"), []);
    }
}
