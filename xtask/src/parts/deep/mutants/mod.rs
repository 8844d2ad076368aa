//! `deep mutants`, and the part `mutants`: do the tests notice a changed program? Each comparison,
//! guard, answer and deed of the sources that uniqueness stands on is changed, one at a time, and
//! some test must fail.
//!
//! All changes are built at once, each behind its number, so that a mutant costs the run of the
//! tests that reach it and no build. It compiles a copy of the workspace, with the dependencies
//! that the other parts have built.

mod build;
mod known;
mod plant;
pub(crate) mod sample;
mod sites;
mod tree;
mod trial;

use core::time::Duration;
use std::time::SystemTime;

use crate::helpers::prelude::*;
use known::{Kind, Known};
use tree::Tree;
use trial::Trials;

pub(crate) const HELP: &str = "changes of the rules, the generator and the handle, one at a time: which does no test notice?\n\n\
    An hour and a half on two cores; with `--minutes N` a share of them, another one each day. PATH...: only files whose paths have one of these in them. `--list` names all changes\n\
    and runs nothing.\n\
    A mutant that no test notices is a failure, unless xtask/mutants.txt says why none can or does.";

/// That all mutants take on two cores.
const WHOLE_MINUTES: u32 = 90;

/// Less is a failure, in percent.
const LEAST_SCORE: usize = 95;

/// See [`trial::run`].
const PATIENCE: Duration = Duration::from_secs(10);

/// What uniqueness stands on, from the root. A folder is all below it.
const SOURCES: &[&str] = &[
    "randflake-core/src/block.rs",
    "randflake-core/src/generator.rs",
    "randflake-core/src/horizon",
    "randflake-core/src/lane.rs",
    "randflake-core/src/lease.rs",
    "randflake-core/src/segment",
    "randflake-core/src/sequencer.rs",
    "randflake-core/src/state.rs",
    "randflake-core/src/ticket.rs",
    // Of engines on servers: what decides from a server's answers alone, such as whether it has
    // lost anything.
    "randflake-std/engines/etcd/src/clock.rs",
    "randflake-std/engines/etcd/src/continuity.rs",
    "randflake-std/engines/etcd/src/keys.rs",
    "randflake-std/engines/etcd/src/transaction.rs",
    "randflake-std/engines/mysql/src/server.rs",
    "randflake-std/engines/redis/src/process.rs",
    "randflake-std/engines/sql/src/server_state.rs",
    "randflake-std/engines/sql/src/values.rs",
    "randflake-std/engines/sqlite/src",
    "randflake-std/lease/src/fork_guard",
    "randflake-std/lease/src/rules",
    "randflake-std/lease/src/store",
    "randflake-std/src/handle",
    "randflake-std/src/segment",
];

/// What talks to servers is for tests with them. Twins are for other systems and features.
const NOT: &[&str] = &["/fork_guard/other.rs", "/store/encryption/", "/store/url/"];

fn is_judged(path: &str) -> bool {
    !NOT.iter().any(|part| path.contains(part))
}

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let is_list = typed.contains("--list");
    let minutes = arguments::number(&mut typed, "--minutes", 1..=10_000)?;
    let only = arguments::rest(typed);
    if let Some(flag) = only.iter().find(|word| word.starts_with('-')) {
        return Err(format!("unknown argument {flag}"));
    }
    Plan::of(Vec::new(), move |report| {
        let done = if is_list {
            list(report, &only)
        } else {
            try_all(report, &only, minutes)
        };
        _ = report.ok("mutants", done);
    })
}

fn list(report: &mut Report, only: &[String]) -> Result<(), String> {
    let mut tree = Tree::read(SOURCES, is_judged)?;
    tree.choose(|mutant| is_chosen(only, &mutant.path));
    for mutant in tree.chosen() {
        report.say(&mutant.key);
    }
    Ok(())
}

/// All mutants, and what is known of them.
fn read() -> Result<(Tree, Known), String> {
    let tree = Tree::read(SOURCES, is_judged)?;
    let known = Known::read(&tree)?;
    Ok((tree, known))
}

/// Without a choice all are chosen.
fn is_chosen(only: &[String], path: &str) -> bool {
    only.is_empty() || only.iter().any(|part| path.contains(part))
}

fn try_all(report: &mut Report, only: &[String], minutes: Option<u32>) -> Result<(), String> {
    let (mut tree, known) = read()?;
    // Another share each day.
    let shares = minutes.map_or(1, |minutes| WHOLE_MINUTES.div_ceil(minutes).into());
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let today = now.as_secs() / 86_400 % shares;
    tree.choose(|mutant| {
        is_chosen(only, &mutant.path) && sample::share(&mutant.key, shares) == today
    });
    if tree.chosen().is_empty() {
        return Err(format!(
            "no source that is changed has one of {only:?} in its path: --list names all changes"
        ));
    }
    let programs = build::build(report, &mut tree, &build::all_tests())?;
    // Shown at once, so that a reader can begin before the others have ended.
    let survives = |key: &str| println!("not noticed: {key}");
    let trials = trial::run(report, &tree, &programs, |_| true, PATIENCE, survives)?;
    let (noticed, different) = judge(report, &tree, &known, &trials);
    let is_enough = noticed * 100 >= different * LEAST_SCORE && different > 0;
    let wanted = format!("{noticed} of {different}: at least {LEAST_SCORE} % have to be noticed");
    report.verdict("score", is_enough.then_some(()).ok_or(wanted));
    Ok(())
}

/// Each chosen mutant that is noticed passes, and each that is not and is not listed fails. How
/// many are noticed, of how many that could be.
fn judge(report: &mut Report, tree: &Tree, known: &Known, trials: &Trials) -> (usize, usize) {
    let (mut noticed, mut survived, mut same) = (0_usize, 0_usize, 0_usize);
    for mutant in tree.chosen() {
        let listed = known.kind(&mutant.key);
        if trials.killed.contains(&mutant.number) {
            noticed += 1;
            report.verdict(&mutant.key, Ok::<_, String>(()));
            if listed.is_some() {
                report.say(&format!("listed, and noticed: {}", mutant.key));
            }
            continue;
        }
        match listed {
            Some(Kind::Same) => same += 1,
            Some(Kind::Survivor) => survived += 1,
            None => {
                survived += 1;
                let is_run = trials.reached.contains(&mutant.number);
                report.fail(
                    &mutant.key,
                    if is_run {
                        "no test notices it"
                    } else {
                        "no test runs it"
                    },
                );
            }
        }
    }
    let different = noticed + survived;
    report.say(&format!(
        "{noticed} of {different} mutants are noticed; {same} are the same program, {} do not compile",
        tree.dropped()
    ));
    (noticed, different)
}
