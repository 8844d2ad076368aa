//! `bench`: what things cost. No part of `test`: figures are for people. Options of a benchmark go
//! to its program as they are; only a run without options goes into the record.

use core::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::engines::{LEASES, LOADED_SERVER, PRIMARY_KEYS};
use crate::parts::integrations::inside;
use crate::parts::size;

pub(crate) const HELP: &str = "what things cost, beside other crates too

NAME, with its own options:
  (nothing)     every benchmark of the workspace, a second each; --full takes criterion's own time
  peers         ids of other crates beside ours, in one process; without options into this machine's record,
                docs/peers.svg and docs/performance.md, a table of all machines that have a record (ten minutes)
                [--rounds N] [--only PART] [--json FILE] [--svg FILE]
  load          the real clock for some seconds: whether the rate is kept, how waiting ends, and how an elastic handle
                follows a load that comes and goes, into the record
  threads       one handle's ids for 1, 2, 4 and 16 threads, into the record
  cli           user time of the command line tool for an id, and of another build of it beside
                [--old PROGRAM]
  tables        seconds and peak memory of the command line tool for five million rows of CSV, TSV and JSON (two minutes)
                [--rows N]
  instructions  how many instructions an id takes, counted by valgrind, into the record
  index         kinds of ids as primary keys of PostgreSQL and MariaDB, of rows that come in order and as from a fleet,
                two and one million; without options into the record (ten minutes)
                [--rows N] [--database postgres|mariadb] [--arrival ordered|fleet] [--rates R,R,...]
                [--delay-ms N,N,...] [--writers N]
  leases        leases on SQLite, Redis, PostgreSQL, MariaDB and etcd, started where temporary folders are (TMPDIR); without
                options into the record and docs/performance.md (eight minutes)
                [--rounds N] [--engine NAME] [--only starters|looks] [--json FILE]
  serve         ids of `randflake serve` for clients of Redis and HTTP, beside Redis in the same rounds, and how long one
                id takes at half of the highest rate, into the record (four minutes)
                [--rounds N]
  memory        what `randflake serve` takes under six kinds of floods and bursts of connections, in a container's memory
                where this is root, and keeps after the 1st, 10th, 20th and 30th burst of each: fails unless it stops
                growing (15 minutes, and a release build unless --program is given)
                [--program FILE] [--bursts N]
  size          flash, RAM, stack and instructions of each call, on each microcontroller; without options into
                randflake-embedded/SIZE.md and sparx64/README.md
                [--target NAME] [--level Os|Oz|O3] [--functions] [--check]
";

pub(crate) const IN_TEST: &[(&str, &str)] = &[
    (
        "each case of the workspace once, also of load, threads, cli, tables, instructions and leases",
        "unit",
    ),
    ("leases on each engine, with few node ids", "engines"),
    ("a short round of serve and of memory", "serve"),
    (
        "index with a few rows, each case of peers once",
        "integrations",
    ),
    ("what images may hold", "qemu"),
];

/// A benchmark, what must be on the machine for it, and what runs it with its options.
type Bench = (&'static str, fn() -> Vec<Need>, fn(&mut Report, &[String]));

const BENCHES: [Bench; 11] = [
    ("", Vec::new, all),
    ("peers", || vec![Need::Tool(&PYTHON)], peers),
    ("load", Vec::new, |report, _| of_std(report, "load")),
    ("threads", Vec::new, |report, _| of_std(report, "threads")),
    ("cli", Vec::new, |report, options| {
        of_the_tool(report, "command_line", options);
    }),
    ("tables", Vec::new, |report, options| {
        of_the_tool(report, "tables", options);
    }),
    ("instructions", || vec![Need::Tool(&VALGRIND)], instructions),
    ("index", || PRIMARY_KEYS.needs(), index),
    ("leases", || LEASES.needs(), leases),
    (
        "serve",
        || LOADED_SERVER.needs(),
        |report, options| {
            let mut measure = load("rates");
            if LOADED_SERVER.tell(report, &mut measure) {
                keep(report, "serve", measure.args(options));
            }
        },
    ),
    (
        "memory",
        || LOADED_SERVER.needs(),
        |report, options| {
            let mut measure = load("memory");
            if LOADED_SERVER.tell(report, &mut measure) {
                report.check("memory of the server", measure.args(options));
            }
        },
    ),
];

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let name = typed
        .subcommand()
        .map_err(|error| error.to_string())?
        .unwrap_or_default();
    if name == "size" {
        return size::plan(typed);
    }
    let bench = BENCHES.iter().find(|(own, ..)| *own == name);
    let (_, needs, run) = bench.ok_or_else(|| format!("no benchmark {name}"))?;
    let options = arguments::rest(typed);
    Plan::of(needs(), move |report| run(report, &options))
}

/// The benchmarks of the workspace: all targets of a crate at once, so that a new one is run
/// without being named here.
fn all(report: &mut Report, options: &[String]) {
    // A second for each case.
    let short = "--warm-up-time 0.3 --measurement-time 0.7 --sample-size 20";
    let is_full = options.iter().any(|option| option == "--full");
    for package in ["sparx64", "randflake-core", "randflake-std"] {
        let features = features_of(&[package]);
        let mut command = cargo(&format!("bench --package {package} --bench * --features"));
        command
            .args([&features, "--"])
            .args(short.split(' ').filter(|_| !is_full));
        report.check(package, &mut command);
    }
}

/// A benchmark that takes its own time, whose report is kept.
fn of_std(report: &mut Report, name: &str) {
    let bench = format!("bench --package randflake-std --features sqlite --bench {name}");
    keep(report, name, &mut cargo(&bench));
}

/// Puts what a benchmark prints into the record.
fn keep(report: &mut Report, name: &str, command: &mut Command) {
    let verdict = figures(report, command).and_then(|figures| {
        let caption = caption(&format!("bench {name}"));
        let text = format!("{caption}\n\n{}\n", figures.trim_end());
        files::write(&record(&format!("-{name}.txt"))?, text)
    });
    report.verdict(name, verdict);
}

/// What a benchmark prints, which is also shown.
fn figures(report: &mut Report, command: &mut Command) -> Result<String, String> {
    let figures = output_of(command).ok_or("it did not run to its end")?;
    report.say(&figures);
    Ok(figures)
}

/// A benchmark of the command line tool.
fn of_the_tool(report: &mut Report, bench: &str, options: &[String]) {
    let words = format!("bench --package randflake --no-default-features --bench {bench} --");
    report.check(bench, cargo(&words).args(options));
}

/// A part of the tool's benchmark of the server.
fn load(part: &str) -> Command {
    cargo(&format!(
        "bench --package randflake --bench serve -- {part}"
    ))
}

/// What valgrind counts is the same on a busy machine, so it is recorded, and a change shows in
/// review.
fn instructions(report: &mut Report, _: &[String]) {
    const RECORD: &str = "randflake-std/benches/record/instructions.csv";
    /// What one count covers: see `benches/instructions.rs`.
    const IDS: u64 = 1_024;
    let verdict = count_instructions("").and_then(|mut all| {
        // As a program has it that can be observed, while nobody does.
        let observed = count_instructions("--features metrics,tracing")?.into_iter();
        let of_handles = observed.filter(|(case, _)| case.starts_with("handle"));
        all.extend(of_handles.map(|(case, count)| (format!("{case}_observed"), count)));
        let mut csv = format!(
            "# cargo xtask bench instructions; {}; {IDS} ids in each count\ncase,instructions,for_one\n",
            rustc("--version")
        );
        for (case, count) in all {
            let (whole, tenths) = (count / IDS, count % IDS * 10 / IDS);
            // A string takes all that is written.
            _ = writeln!(csv, "{case},{count},{whole}.{tenths}");
        }
        report.say(&csv);
        files::write(&root().join(RECORD), csv)
    });
    report.verdict(RECORD, verdict);
}

/// Cases, and the instructions of each.
fn count_instructions(features: &str) -> Result<Vec<(String, u64)>, String> {
    let words = format!("bench --package randflake-std --bench instructions {features}");
    let mut count = cargo(&words);
    count.env("RANDFLAKE_VALGRIND", "valgrind");
    println!("\n$ {}", shown(&count));
    let counted = output_of(&mut count).unwrap_or_default();
    let rows = counted.lines().filter_map(|line| {
        let (case, count) = line.split_once(',')?;
        Some((case.to_owned(), count.parse().ok()?))
    });
    match rows.collect::<Vec<_>>() {
        rows if rows.is_empty() => Err(format!("nothing was counted: {}", shown(&count))),
        rows => Ok(rows),
    }
}

/// Kinds of ids as primary keys. A member of another workspace, whose tests run it with a few rows.
fn index(report: &mut Report, options: &[String]) {
    const RECORD: &str = "randflake-std/benches/record/index.csv";
    let mut measure = Command::new(target().join("release/index"));
    let mut build = inside("build --release --locked --package index");
    if !PRIMARY_KEYS.tell(report, &mut measure) || !report.check("build", &mut build) {
        return;
    }
    let verdict = figures(report, measure.args(options)).and_then(|figures| {
        if options.is_empty() {
            files::write(&root().join(RECORD), figures)
        } else {
            Ok(())
        }
    });
    report.verdict("index", verdict);
}

/// What leases cost on each engine, started by the benchmark itself.
fn leases(report: &mut Report, options: &[String]) {
    const RECORD: &str = "randflake-std/benches/record/leases.csv";
    const MARKS: [&str; 2] = ["<!-- bench leases -->\n", "<!-- end -->\n"];
    let Some(scratch) = report.scratch("leases") else {
        return;
    };
    let [csv, table] = ["csv", "table"].map(|name| scratch.path().join(name));
    let mut measure = cargo("bench --package randflake-std --bench leases --features");
    measure
        .args([&features_of(&["randflake-std"]), "--"])
        .args(options);
    measure.arg("--csv").arg(&csv).arg("--table").arg(&table);
    measure.args(["--caption", &caption("bench leases")]);
    if LEASES.tell(report, &mut measure)
        && report.check("leases", &mut measure)
        && options.is_empty()
    {
        let copied = files::copy(&csv, &root().join(RECORD));
        report.verdict(RECORD, copied.and_then(|()| put_table(&table, MARKS)));
    }
}

fn put_table(table: &Path, marks: [&str; 2]) -> Result<(), String> {
    put_into("docs/performance.md", marks, &files::read(table)?)
}

/// The crates in one process, and the published Python package in its own.
fn peers(report: &mut Report, options: &[String]) {
    const MARKS: [&str; 2] = ["<!-- bench peers -->\n", "<!-- end -->\n"];
    // A member of another workspace, whose tests run each case once. Some of the crates ask for a
    // newer compiler than they need.
    let mut build = inside("build --release --locked --ignore-rust-version --package peers");
    if !report.check("build", &mut build) {
        return;
    }
    let Some(scratch) = report.scratch("bench") else {
        return;
    };
    let mut measure = Command::new(target().join("release/peers"));
    measure
        .args(["--caption", &caption("bench peers")])
        .args(options);
    if let Some(figures) = python_figures(report, scratch.path()) {
        measure.arg("--with").arg(figures);
    }
    if !options.is_empty() {
        report.check("peers", &mut measure);
        return;
    }
    let table = scratch.path().join("table");
    let Some(record) = report.ok("record", record(".jsonl")) else {
        return;
    };
    measure
        .arg("--json")
        .arg(record)
        .arg("--svg")
        .arg(root().join("docs/peers.svg"));
    measure
        .arg("--records")
        .arg(root().join(RECORDS))
        .arg("--table")
        .arg(&table);
    if report.check("peers", &mut measure) {
        report.verdict("docs/performance.md", put_table(&table, MARKS));
    }
}

/// The figures of the Python package, measured in a virtual environment made for it.
fn python_figures(report: &mut Report, scratch: &Path) -> Option<PathBuf> {
    let what = "the Python package";
    let venv = Venv::with(report, "bench-python", what, &[RANDFLAKE])?;
    let mut measure = program(
        venv.program("python"),
        "randflake-std/benches/peers/package.py",
    );
    let path = scratch.join("figures");
    let figures = output_of(&mut measure).ok_or("it did not run".to_owned());
    let written = figures.and_then(|figures| files::write(&path, figures));
    report.verdict(what, written).then_some(path)
}
