//! `deep`: searches that take minutes or hours, by name. Without a name all that a change should
//! pass, within an hour.

mod checkers;
mod coverage;
mod fuzz;
pub(crate) mod image;
pub(crate) mod msrv;
pub(crate) mod mutants;
pub(crate) mod soak;
mod timebombs;

use core::time::Duration;
use std::time::Instant;

use crate::helpers::prelude::*;
use crate::parts::engines::{CHAOS, CONTRACTS, COPIED_MACHINES, FAULTS};
use crate::parts::{boards, emulated, serve};

pub(crate) const HELP: &str = "long searches that are not in `test`; without NAME all of them, within an hour

`cargo xtask deep NAME --help` says what a search does and takes. Without NAME each has the extent that fits the hour;
one that does not fit any more is left out by name. Only by name run: image, and of the checkers redis-py, dieharder, nist.

flags:
  --record  write the outcome into docs/testing.md
";
const WHOLE: Duration = Duration::from_secs(3_600);
const RECORD: &str = "docs/testing.md";
const MARKS: [&str; 2] = ["<!-- deep: begin -->\n", "<!-- deep: end -->\n"];

/// A search, the minutes that it takes within the hour, and its arguments there. What takes none
/// only runs by name.
type Search = (u64, &'static str, Subcommand);

#[rustfmt::skip]
const SEARCHES: &[Search] = &[
    (21, "--minutes 20", search("soak", &["[--minutes N] [--record]"], soak::HELP,
        &[("each fault once on SQLite and Redis, and what is planted", "faults")], soak::plan)),
    (5, "", search("horizon", &[""],
        "the model of the horizon's flash through longer lives: more raises in a row that fail or are cut, ten million cuts; ten years of sleep",
        &[("the same model with fewer in a row, and 50,000 cuts", "unit")], horizon)),
    (2, "", search("forgeries", &[""], "a thousand million forged tagged UUIDs, of which none passes (three minutes)",
        &[("a million of them", "unit")], forgeries)),
    (2, "", search("copies", &[""], "an emulated machine, saved once and resumed twice: what both issue\n\n\
        It brings qemu-system-x86_64 and a kernel, 100 MB.",
        &[("the machine's program without the machine, and what compares two copies", "faults")], copies)),
    (3, "--minutes 1", search("histories", &["[--minutes N]"],
        "ten minutes of clients that read and write conditionally under faults: each history linearizable\n\n\
        On all engines at once. Then random histories of 10,000 steps on each, and a namespace of 131,072 node ids of which all\n\
        but a few are leased.",
        &[("a round of the faults on each engine, and engines that are wrong once in a thousand times", "faults"),
            ("3,000 steps, and 8,192 node ids", "engines"), ("the same in files, and all in memory", "unit")], histories)),
    (3, "--minutes 2", search("chaos", &["[--minutes N]"],
        "eight minutes of a fleet of servers, Python and Rust, killed and suspended\n\nA quarter on each engine.",
        &[("each fault once on PostgreSQL", "serve")], chaos)),
    (4, "", search("coverage", &[""], coverage::HELP,
        &[("how counts, sources and the list are read, on planted ones", "unit")], coverage::plan)),
    (3, "--at 2147483642", search("timebombs", &["[--at UNIX_TIME]"], timebombs::HELP, timebombs::IN_TEST, timebombs::plan)),
    (2, "--seconds 5", search("fuzz", &["[--seconds N | --executions N] [TARGET ...]"],
        "inputs found by coverage, compared with plain twins (nightly, cargo-fuzz)\n\nA minute for each target unless said otherwise.",
        &[("each target on its seeds or on made inputs", "unit")], fuzz::plan)),
    (3, "--minutes 2", search("mutants", &["[--minutes N] [PATH...]", "--list [PATH...]"], mutants::HELP,
        &[("a fixed sample, with the tests that are quick", "mutants"), ("how sources are changed, on planted ones", "unit")], mutants::plan)),
    (2, "--seconds 15 ids abuse redis-tcl schemathesis", search("checkers",
        &["[--ids N] [--sequences N] [--seconds N] [NAME ...]"], checkers::HELP, checkers::IN_TEST, checkers::plan)),
    (0, "", search("image", &[""], "the container image of docs/deploy, of a static program built here, and ids from it\n\n\
        It needs root, and brings buildah.",
        &[("the same with the tests' own program and its libraries", "deploy")], image::plan)),
    (3, "", search("targets", &[""], "the examples for all boards compile; all tests of the cipher and of core as 32-bit programs (three minutes)",
        &[("those for an ESP32-C3 and an nRF52840", "boards"), ("unit tests, and tests of words, texts and vectors", "emulated")], targets)),
    (7, "", search("msrv", &[""], "everything compiles with the oldest Rust that is promised, and each feature alone (rustup and cargo-hack, which it brings)",
        &[("the libraries without features or engines; each feature alone, with the dependencies of all", "features")], msrv::plan)),
];

const fn search(
    name: &'static str,
    usage: &'static [&'static str],
    help: &'static str,
    in_test: &'static [(&'static str, &'static str)],
    plan: fn(Arguments) -> Planned,
) -> Subcommand {
    Subcommand {
        name,
        usage,
        help,
        in_test,
        plan,
    }
}

/// The names of searches with what they are for.
pub(crate) fn list() -> impl Iterator<Item = &'static Subcommand> {
    SEARCHES.iter().map(|(.., search)| search)
}

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let name = typed.subcommand().map_err(|error| error.to_string())?;
    let Some(name) = name else {
        let is_recorded = typed.contains("--record");
        arguments::nothing_else(typed)?;
        return whole(is_recorded);
    };
    let Some(search) = list().find(|search| search.name == name) else {
        let names: Vec<&str> = list().map(|search| search.name).collect();
        return Err(format!(
            "no search {name:?}: there are {}",
            names.join(", ")
        ));
    };
    (search.plan)(typed)
}

fn whole(is_recorded: bool) -> Planned {
    let timed = SEARCHES.iter().filter(|(minutes, ..)| *minutes > 0);
    let plan = |(minutes, words, search): &Search| {
        Ok((
            *minutes,
            search.name,
            (search.plan)(arguments::typed(words))?,
        ))
    };
    let mut plans = timed.map(plan).collect::<Result<Vec<_>, String>>()?;
    let needs = plans
        .iter_mut()
        .flat_map(|(.., plan)| core::mem::take(&mut plan.needs));
    Plan::of(needs.collect(), move |report| {
        let begun = Instant::now();
        for (minutes, name, plan) in plans {
            report.begin(name);
            if begun.elapsed() + Duration::from_secs(60 * minutes) > WHOLE {
                report.leave_out(&format!(
                    "deep {name} (the hour has no {minutes} minutes left)"
                ));
            } else {
                (plan.run)(report);
                report.end_and_say();
            }
        }
        let took = begun.elapsed().as_secs() / 60;
        let line = format!(
            "{}; commit {}; {took} minutes: {}\n",
            caption("deep"),
            commit(),
            report.outcome()
        );
        report.say(&line);
        if is_recorded {
            report.verdict(RECORD, put_into(RECORD, MARKS, &line));
        }
    })
}

/// Tests that search for longer where the environment asks for it. Optimised.
fn longer(
    typed: Arguments,
    package: &'static str,
    tests: &'static str,
    variable: &'static str,
) -> Planned {
    arguments::nothing_else(typed)?;
    Plan::of(Vec::new(), move |report| {
        let words = format!("test --release --package {package} {tests} -- --nocapture");
        report.tests(package, cargo(&words).env(variable, "1"));
    })
}

fn horizon(typed: Arguments) -> Planned {
    let tests = "--test flash_model --test sleep";
    longer(typed, "randflake-embedded", tests, "RANDFLAKE_HORIZON_LONG")
}

fn forgeries(typed: Arguments) -> Planned {
    longer(
        typed,
        "randflake-core",
        "--test forgeries",
        "RANDFLAKE_FORGERIES_LONG",
    )
}

fn targets(typed: Arguments) -> Planned {
    arguments::nothing_else(typed)?;
    let mut needs = boards::all_needs();
    needs.push(Need::Target(emulated::HOST_32_BIT));
    Plan::of(needs, |report| {
        boards::check_all(report);
        emulated::test_all_32_bit(report);
    })
}

fn copies(typed: Arguments) -> Planned {
    arguments::nothing_else(typed)?;
    Plan::of(COPIED_MACHINES.needs(), |report| {
        COPIED_MACHINES.run(report);
    })
}

/// The histories of the part `faults`, for longer; then those of the part `engines` with more
/// steps, and as many node ids of a namespace leased as a layout has.
fn histories(mut typed: Arguments) -> Planned {
    let minutes = arguments::number(&mut typed, "--minutes", 1..=10_000)?.unwrap_or(10);
    arguments::nothing_else(typed)?;
    let needs = [FAULTS.needs(), CONTRACTS.needs()].concat();
    Plan::of(needs, move |report| {
        FAULTS.run_with(report, |command| {
            command.env("RANDFLAKE_HISTORY_SECONDS", (minutes * 60).to_string());
            command.args(["--", "histories"]);
        });
        CONTRACTS.run_with(report, |command| {
            command.env("RANDFLAKE_CONTRACT_LONG", "1");
            command.args(["--", "random_histories_grant", "a_nearly_full"]);
        });
        let mut in_files = separate_test("sqlite");
        in_files
            .env("RANDFLAKE_CONTRACT_LONG", "1")
            .args(["--", "contract::"]);
        report.tests("in files", &mut in_files);
    })
}

fn chaos(mut typed: Arguments) -> Planned {
    const ENGINES: u32 = 4;
    let minutes = arguments::number(&mut typed, "--minutes", 1..=10_000)?.unwrap_or(8);
    arguments::nothing_else(typed)?;
    let mut needs = CHAOS.needs();
    needs.push(Need::Tool(&PYTHON));
    Plan::of(needs, move |report| {
        serve::chaos(report, &CHAOS, &[], minutes * 60 / ENGINES);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_fits_an_hour() {
        assert!(whole(false).is_ok());
        let minutes: u64 = SEARCHES.iter().map(|(minutes, ..)| minutes).sum();
        assert!(Duration::from_secs(60 * minutes) <= WHOLE, "{minutes}");
    }
}
