//! `timebombs`: the tests of this machine under wall clocks of years to come, by libfaketime.
//!
//! Each program begins some seconds before the moment, so that its tests are at work when it comes.
//! What needs servers is left out: they would go by another clock than the tests.

use crate::helpers::prelude::*;
use crate::parts::unit;

pub(crate) const HELP: &str = "this machine's tests under wall clocks of years to come (libfaketime)\n\n\
    Three minutes for each of five moments, or one that --at names in Unix time.\n\
    Dates of the layouts, which no other test can pass, are those of the part `faults`.";

pub(crate) const IN_TEST: &[(&str, &str)] = &[(
    "ids and leases before each layout's epoch, and at its last date",
    "faults",
)];

/// What comes some seconds later, and Unix times.
const MOMENTS: &[(&str, u32)] = &[
    ("a leap year", 1_830_297_590),
    ("the leap day", 1_835_395_190),
    ("time_t beyond 31 bits", 2_147_483_642),
    ("raw ids of Randflake below zero", 2_266_870_906),
    ("2047", 2_429_913_590),
];

/// It reads a clock that is not libfaketime's, which is in the process and no call.
const LEFT_OUT: &str = "the_coarse_clock_is_the_wall_clock";

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let at = arguments::number(&mut typed, "--at", 0..=u32::MAX)?;
    arguments::nothing_else(typed)?;
    Plan::of(vec![Need::Tool(&LIBFAKETIME)], move |report| match at {
        Some(moment) => run_at(report, &[("that moment", moment)]),
        None => run_at(report, MOMENTS),
    })
}

fn run_at(report: &mut Report, moments: &[(&str, u32)]) {
    let Some(library) = report.tool(&LIBFAKETIME, "timebombs") else {
        return;
    };
    // Cargo and the compiler go by this machine's clock.
    if !report.check("build", host_tests().args(["--tests", "--no-run"])) {
        return;
    }
    let host = rustc("--print host-tuple");
    let script = root().join("xtask/src/parts/deep/timebombs.sh");
    let runner = format!("target.{host}.runner=['sh', '{}']", script.display());
    for (what, moment) in moments {
        let mut tests = host_tests();
        tests
            .args(["--tests", "--no-fail-fast", "--config", &runner])
            .args(["--", "--skip", LEFT_OUT])
            .env("RANDFLAKE_LIBFAKETIME", &library)
            .env("RANDFLAKE_MOMENT", moment.to_string());
        report.tests(what, unit::in_threads(&mut tests));
    }
}
