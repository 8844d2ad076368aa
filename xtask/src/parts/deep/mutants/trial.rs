//! Runs the tests that reach a mutant, quick ones first, until one fails.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;
use std::{fs, io, thread};

use super::build::Program;
use super::tree::Tree;
use crate::helpers::cargo::output_of;
use crate::helpers::cpu;
use crate::helpers::report::Report;
use crate::helpers::scratch::Scratch;

/// Most tests wait for something rather than compute; more of them would pass for hanging.
const AT_ONCE: usize = 4;
/// When tests seem to hang, it is asked whether they end in half of the time without the mutant; else the machine was busy, and they are run again
/// with twice the time, so often.
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

/// What became of each mutant.
pub(crate) struct Trials {
    reached: HashSet<usize>,
    killed: HashSet<usize>,
}

impl Trials {
    pub(crate) fn reached(&self, number: usize) -> bool {
        self.reached.contains(&number)
    }

    pub(crate) fn killed(&self, number: usize) -> bool {
        self.killed.contains(&number)
    }
}

pub(crate) struct Settings<'a> {
    /// Whether a test is run, by its name.
    pub(crate) is_taken: &'a dyn Fn(&str) -> bool,
    /// Tests that take so much longer than without a mutant hang: some run side by side, and the machine has other work.
    pub(crate) patience: Duration,
    /// Is told of each mutant that no test notices.
    pub(crate) survives: &'a (dyn Fn(&str) + Sync),
}

pub(crate) fn run(
    report: &mut Report,
    tree: &Tree,
    programs: &[Program],
    settings: &Settings<'_>,
) -> Result<Trials, String> {
    let spent = Mutex::new(Duration::ZERO);
    let scratch = Scratch::new("mutants").map_err(|error| error.to_string())?;
    let mut names: Vec<(&Program, String)> = Vec::new();
    for program in programs {
        let tests = list(program).into_iter();
        let taken = tests.filter(|test| (settings.is_taken)(test));
        names.extend(taken.map(|test| (program, test)));
    }
    let tests = each(&names, |at, named| {
        let folder = scratch.path().join(at.to_string());
        reach(named, &folder, &spent)
    });
    let tests: Vec<Test<'_>> = tests.into_iter().collect::<Result<_, _>>()?;
    report.say(&format!(
        "{} tests of {} programs reach mutants",
        tests.len(),
        programs.len()
    ));
    let chosen = tree.chosen();
    let (patience, survives) = (settings.patience, settings.survives);
    let killed = each(&chosen, |_, mutant| {
        let is_noticed = is_noticed(mutant.number, &tests, patience, &spent);
        if !is_noticed {
            survives(&mutant.key);
        }
        is_noticed
    });
    let killed = chosen.iter().zip(killed).filter(|(_, killed)| *killed);
    report.add_spent(spent.into_inner().unwrap_or_default());
    let reached = tests.iter().flat_map(|test| &test.reached);
    Ok(Trials {
        reached: reached.copied().collect(),
        killed: killed.map(|(mutant, _)| mutant.number).collect(),
    })
}

/// Runs something for each, many at once; the answers come in their order.
fn each<'a, T: Sync, A: Send>(of: &'a [T], run: impl Fn(usize, &'a T) -> A + Sync) -> Vec<A> {
    let next = AtomicUsize::new(0);
    let mut answers: Vec<(usize, A)> = thread::scope(|scope| {
        let work = || {
            let mut answers = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(one) = of.get(at) else {
                    return answers;
                };
                answers.push((at, run(at, one)));
            }
        };
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .flatten()
            .collect()
    });
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn list(program: &Program) -> Vec<String> {
    let said = output_of(Command::new(&program.path).args(["--list", "--format", "terse"]));
    let said = said.unwrap_or_default();
    said.lines()
        .filter_map(|line| Some(line.strip_suffix(": test")?.to_owned()))
        .collect()
}

/// One test by itself, without a mutant.
fn reach<'a>(
    (program, name): &(&'a Program, String),
    folder: &Path,
    spent: &Mutex<Duration>,
) -> Result<Test<'a>, String> {
    fs::create_dir(folder).map_err(|error| error.to_string())?;
    let choice = ("RANDFLAKE_MUTANTS_REACHED", folder.as_os_str());
    let begun = Instant::now();
    let succeeds = || end(program, &[name], Some(choice), LONGEST, spent) == End::Success;
    // Beside all others, some that wait for seconds are late once.
    if !succeeds() && !succeeds() {
        return Err(format!(
            "without a mutant it fails: {name} of {}",
            program.path.display()
        ));
    }
    let lists = fs::read_dir(folder).into_iter().flatten().flatten();
    let lists = lists.filter_map(|list| fs::read_to_string(list.path()).ok());
    let lists: Vec<String> = lists.collect();
    let numbers = lists.iter().flat_map(|list| list.lines());
    Ok(Test {
        program,
        name: name.clone(),
        took: begun.elapsed(),
        reached: numbers.filter_map(|number| number.parse().ok()).collect(),
    })
}

fn is_noticed(
    number: usize,
    tests: &[Test<'_>],
    patience: Duration,
    spent: &Mutex<Duration>,
) -> bool {
    let mut reaching: Vec<&Test<'_>> = tests
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
            let of_program = of_programs.entry(&test.program.path).or_default();
            of_program.push(test);
        }
        of_programs
            .values()
            .any(|tests| fails(number, tests, patience, spent))
    })
}

/// Whether one of these tests of a program fails, or does not end.
fn fails(number: usize, tests: &[&Test<'_>], patience: Duration, spent: &Mutex<Duration>) -> bool {
    let Some(first) = tests.first() else {
        return false;
    };
    let names: Vec<&str> = tests.iter().map(|test| &*test.name).collect();
    let number = number.to_string();
    let choice = Some(("RANDFLAKE_MUTANT", OsStr::new(&number)));
    let longest: Duration = tests.iter().map(|test| test.took).sum();
    let mut patience = patience + longest;
    for _ in 0..TRIES {
        match end(first.program, &names, choice, patience, spent) {
            // What could not be run has noticed nothing.
            End::Success | End::Unknown => return false,
            End::Failure => return true,
            End::TimedOut => {}
        }
        if end(first.program, &names, None, patience / 2, spent) == End::Success {
            return true;
        }
        patience *= 2;
    }
    false
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Success,
    Failure,
    TimedOut,
    /// It could not be run.
    Unknown,
}

/// How a program ends. `timeout` ends what it has started with it, also if this program is stopped meanwhile.
fn end(
    program: &Program,
    arguments: &[&str],
    choice: Option<(&str, &OsStr)>,
    patience: Duration,
    spent: &Mutex<Duration>,
) -> End {
    let begun = Instant::now();
    match succeeds(program, arguments, choice, patience, spent) {
        Err(_) => End::Unknown,
        Ok(true) => End::Success,
        Ok(false) if begun.elapsed().as_secs() < patience.as_secs() => End::Failure,
        Ok(false) => End::TimedOut,
    }
}

fn succeeds(
    program: &Program,
    arguments: &[&str],
    choice: Option<(&str, &OsStr)>,
    patience: Duration,
    spent: &Mutex<Duration>,
) -> io::Result<bool> {
    // Whole seconds are what every `timeout` takes.
    let seconds = patience.as_secs().to_string();
    let mut child = Command::new("timeout")
        .args(["--signal=KILL", &seconds])
        .arg(&program.path)
        .args(["--quiet", "--exact"])
        .args(arguments)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("RUST_BACKTRACE", "0")
        .env("RUST_TEST_THREADS", "4")
        .envs(choice)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let took = cpu::spent(&child).unwrap_or_default();
    if let Ok(mut spent) = spent.lock() {
        *spent += took;
    }
    Ok(child.wait()?.success())
}
