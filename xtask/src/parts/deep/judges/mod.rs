//! `judges`: suites and tools that others published, of the registries, on a server built here. The tests that run them, and the
//! lists of what each leaves out, are in `randflake-std/tool/tests/serve_tools/judges`.

mod nist;
mod suites;

use std::process::Command;

use crate::helpers::arguments::{self, Arguments, Plan, Planned};
use crate::helpers::matrix::separate_test;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::{DIEHARDER, PYTHON, TCLSH};
use crate::parts::interop;
use crate::parts::serve::page;

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

/// How far to go.
struct Extent {
    ids: u32,
    sequences: u32,
    seconds: u32,
}

#[derive(Clone, Copy)]
struct Judge {
    name: &'static str,
    needs: fn() -> Vec<Need>,
    run: fn(&mut Report, &Extent),
}

const fn judge(
    name: &'static str,
    needs: fn() -> Vec<Need>,
    run: fn(&mut Report, &Extent),
) -> Judge {
    Judge { name, needs, run }
}

/// Quick ones first.
const JUDGES: [Judge; 7] = [
    judge("ids", interop::needs, |report, _| interop::run(report)),
    judge("abuse", python, |report, _| suites::abuse(report)),
    judge("redis-py", python, |report, _| suites::redis_py(report)),
    judge("redis-tcl", tcl, |report, _| suites::redis_tcl(report)),
    judge("schemathesis", page::needs, |report, extent| {
        page::requests(report, extent.seconds);
    }),
    judge("dieharder", || vec![Need::Tool(&DIEHARDER)], dieharder),
    judge("nist", Vec::new, nist::run),
];

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let extent = Extent {
        ids: arguments::number(&mut typed, "--ids", 1..=u32::MAX)?.unwrap_or(1_000_000_000),
        // Fewer say nothing about how often a test passes.
        sequences: arguments::number(&mut typed, "--sequences", 100..=64_000)?.unwrap_or(1_000),
        seconds: arguments::number(&mut typed, "--seconds", 1..=u32::MAX)?.unwrap_or(600),
    };
    let names = arguments::names(typed, &JUDGES.map(|judge| judge.name))?;
    let is_asked = |judge: &&Judge| names.is_empty() || names.iter().any(|name| name == judge.name);
    let judges: Vec<Judge> = JUDGES.iter().filter(is_asked).copied().collect();
    let needs = judges.iter().flat_map(|judge| (judge.needs)()).collect();
    Plan::of(needs, move |report| {
        for judge in judges {
            (judge.run)(report, &extent);
        }
    })
}

fn python() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

fn tcl() -> Vec<Need> {
    vec![Need::Tool(&PYTHON), Need::Tool(&TCLSH)]
}

/// The tests of one judge, which say what they judged.
fn tests(module: &str) -> Command {
    let mut tests = separate_test("serve_tools");
    tests.args(["--", "--nocapture", &format!("judges::{module}::")]);
    tests
}

fn dieharder(report: &mut Report, extent: &Extent) {
    let what = "ids judged by dieharder";
    if let Some(program) = report.tool(&DIEHARDER, what) {
        let mut tests = tests("dieharder");
        tests.env("RANDFLAKE_DIEHARDER", program);
        tests.env("RANDFLAKE_JUDGED_IDS", extent.ids.to_string());
        report.tests(what, &mut tests);
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::helpers::arguments::typed;

    #[test]
    fn judges_are_known_by_name() {
        assert!(plan(typed("nist abuse")).is_ok());
        assert!(plan(typed("nits")).is_err());
        assert!(
            JUDGES
                .iter()
                .all(|judge| HELP.contains(&format!("\n  {} ", judge.name)))
        );
    }
}
