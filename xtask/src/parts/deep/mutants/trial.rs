//! Runs the tests that reach a mutant, quick ones first, until one fails.

use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use super::build::Program;
use super::tree::Tree;
use crate::helpers::prelude::*;

/// Most tests wait for something rather than compute; more of them would pass for hanging.
const AT_ONCE: usize = 4;
/// When tests seem to hang, it is asked whether they end in half of the time without the mutant;
/// else the machine was busy, and they are run again with twice the time, so often.
const TRIES: u32 = 4;
/// For a test without a mutant.
const LONGEST: Duration = Duration::from_secs(300);
/// So many of the quickest tests first, then so many more, then all.
const BATCHES: [usize; 4] = [12, 48, 200, usize::MAX];

/// One test of a program.
struct Test<'a> {
    program: &'a Program,
    name: String,
    took: Duration,
    reached: HashSet<usize>,
}

/// The numbers of mutants that some test reached, and of those that one noticed.
pub(crate) struct Trials {
    pub(crate) reached: HashSet<usize>,
    pub(crate) killed: HashSet<usize>,
}

/// Runs what is chosen with the tests that are taken by name. Tests that take `patience` longer
/// than without a mutant hang: some run side by side, and the machine has other work. `survives` is
/// told of each mutant that no test notices.
pub(crate) fn run(
    report: &mut Report,
    tree: &Tree,
    programs: &[Program],
    is_taken: fn(&str) -> bool,
    patience: Duration,
    survives: fn(&str),
) -> Result<Trials, String> {
    let runner = Runner {
        patience,
        spent: Mutex::default(),
    };
    let scratch = Scratch::new("mutants").map_err(|error| error.to_string())?;
    let names: Vec<(usize, (&Program, String))> = programs
        .iter()
        .flat_map(|program| list(program).into_iter().map(move |test| (program, test)))
        .filter(|(_, test)| is_taken(test))
        .enumerate()
        .collect();
    let tests = jobs::each(AT_ONCE, names, |(at, (program, name))| {
        runner.reach(program, name, &scratch.path().join(at.to_string()))
    })
    .into_iter()
    .collect::<Result<Vec<Test<'_>>, _>>()?;
    let (count, all) = (tests.len(), programs.len());
    report.say(&format!("{count} tests of {all} programs reach mutants"));
    let killed = jobs::each(AT_ONCE, tree.chosen(), |mutant| {
        let is_noticed = runner.is_noticed(mutant.number, &tests);
        if !is_noticed {
            survives(&mutant.key);
        }
        is_noticed.then_some(mutant.number)
    });
    report.add_spent(runner.spent.into_inner().unwrap_or_default());
    Ok(Trials {
        reached: tests
            .iter()
            .flat_map(|test| &test.reached)
            .copied()
            .collect(),
        killed: killed.into_iter().flatten().collect(),
    })
}

fn list(program: &Program) -> Vec<String> {
    let mut list = Command::new(&program.path);
    let said = output_of(list.args(["--list", "--format", "terse"])).unwrap_or_default();
    said.lines()
        .filter_map(|line| Some(line.strip_suffix(": test")?.to_owned()))
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Success,
    Failure,
    TimedOut,
    /// It could not be run.
    Unknown,
}

struct Runner {
    patience: Duration,
    /// Of the processors.
    spent: Mutex<Duration>,
}

impl Runner {
    /// One test by itself, without a mutant.
    fn reach<'a>(
        &self,
        program: &'a Program,
        name: String,
        folder: &Path,
    ) -> Result<Test<'a>, String> {
        fs::create_dir(folder).map_err(files::of(folder))?;
        let choice = ("RANDFLAKE_MUTANTS_REACHED", folder.as_os_str());
        let begun = Instant::now();
        let succeeds = || self.end(program, &[&name], Some(choice), LONGEST) == End::Success;
        // Beside all others, some that wait for seconds are late once.
        if !succeeds() && !succeeds() {
            let program = program.path.display();
            return Err(format!("without a mutant it fails: {name} of {program}"));
        }
        let took = begun.elapsed();
        let lists: Vec<_> = files::entries(folder)
            .iter()
            .filter_map(|list| files::read(list).ok())
            .collect();
        let numbers = lists.iter().flat_map(|list| list.lines());
        let reached = numbers.filter_map(|number| number.parse().ok()).collect();
        Ok(Test {
            program,
            name,
            took,
            reached,
        })
    }

    fn is_noticed(&self, number: usize, tests: &[Test<'_>]) -> bool {
        let mut reaching: Vec<_> = tests
            .iter()
            .filter(|test| test.reached.contains(&number))
            .collect();
        reaching.sort_by_key(|test| test.took);
        let mut rest = &*reaching;
        BATCHES.iter().any(|most| {
            let (batch, others) = rest.split_at(rest.len().min(*most));
            rest = others;
            let mut of_programs: HashMap<&Path, Vec<&Test<'_>>> = HashMap::new();
            for test in batch {
                of_programs
                    .entry(&test.program.path)
                    .or_default()
                    .push(test);
            }
            of_programs.values().any(|tests| self.fails(number, tests))
        })
    }

    /// Whether one of these tests of a program fails, or does not end.
    fn fails(&self, number: usize, tests: &[&Test<'_>]) -> bool {
        let Some(Test { program, .. }) = tests.first() else {
            return false;
        };
        let names: Vec<&str> = tests.iter().map(|test| &*test.name).collect();
        let number = number.to_string();
        let choice = Some(("RANDFLAKE_MUTANT", OsStr::new(&number)));
        let mut patience = self.patience + tests.iter().map(|test| test.took).sum::<Duration>();
        for _ in 0..TRIES {
            match self.end(program, &names, choice, patience) {
                // What could not be run has noticed nothing.
                End::Success | End::Unknown => return false,
                End::Failure => return true,
                End::TimedOut => {}
            }
            if self.end(program, &names, None, patience / 2) == End::Success {
                return true;
            }
            patience *= 2;
        }
        false
    }

    /// How a program ends. `timeout` ends what it has started with it, also if this program is
    /// stopped meanwhile.
    fn end(
        &self,
        program: &Program,
        names: &[&str],
        choice: Option<(&str, &OsStr)>,
        patience: Duration,
    ) -> End {
        let begun = Instant::now();
        // Whole seconds are what every `timeout` takes.
        let child = Command::new("timeout")
            .args(["--signal=KILL", &patience.as_secs().to_string()])
            .arg(&program.path)
            .args(["--quiet", "--exact"])
            .args(names)
            .current_dir(&program.folder)
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .env("RUST_BACKTRACE", "0")
            .env("RUST_TEST_THREADS", "4")
            .envs(choice)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let ended = child.and_then(|mut child| {
            let took = cpu::spent(&child).unwrap_or_default();
            if let Ok(mut spent) = self.spent.lock() {
                *spent += took;
            }
            child.wait()
        });
        match ended {
            Err(_) => End::Unknown,
            Ok(status) if status.success() => End::Success,
            Ok(_) if begun.elapsed().as_secs() < patience.as_secs() => End::Failure,
            Ok(_) => End::TimedOut,
        }
    }
}
