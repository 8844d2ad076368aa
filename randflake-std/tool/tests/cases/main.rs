//! Transcripts of the command line: each `## section` of a Markdown file here is a test.
//!
//! A section's ```` ```console ```` blocks are run by one shell, in a home of its own that has a lease store, and
//! must give the text that stands below each `$ command` (which goes on in lines that begin with `> `): standard
//! output, standard error behind `! `, and `? STATUS` if that is not 0. `(no-eol)` ends an output without a line
//! feed. `[..]` stands for any text in a line, `...` for any lines, `[HOME]` for the home.
//! A ```` ```sh ```` block before the first section is run at the beginning of each, after `prelude.sh`.
//! `CASES=overwrite` writes what was given to the files, where it is not what stands there.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
#[expect(dead_code, reason = "shared with other tests")]
#[path = "../cli/user.rs"]
mod user;

use core::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use snapbox::{Assert, Redactions};

use user::{Answer, KEY, User};

/// What every section begins with.
const PRELUDE: &str = include_str!("prelude.sh");

/// Left out, unless a section speaks of it.
const NOTE: &str = "randflake: note: the leases of this secret are on this machine alone";

/// One at a time is written.
static FILES: Mutex<()> = Mutex::new(());

fn main() {
    let mut arguments = Arguments::from_args();
    // Which the other runner of tests reads itself.
    let threads = std::env::var("RUST_TEST_THREADS");
    arguments.test_threads = arguments
        .test_threads
        .or_else(|| threads.ok()?.parse().ok());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    libtest_mimic::run(&arguments, files.flat_map(trials).collect()).exit();
}

/// The sections of a file.
fn trials(path: PathBuf) -> Vec<Trial> {
    let topic = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let path = Arc::new(path);
    let text = fs::read_to_string(&*path).unwrap();
    let mut sections = text.split("\n## ");
    let functions = sections
        .next()
        .unwrap()
        .split("```")
        .nth(1)
        .unwrap_or_default();
    let prelude = format!("{PRELUDE}{}", functions.trim_start_matches("sh"));
    let sections = sections.map(|section| {
        let (name, section) = section.split_once('\n').unwrap();
        let (path, prelude, section) = (Arc::clone(&path), prelude.clone(), section.to_owned());
        Trial::test(format!("{topic}::{name}"), move || {
            check(&path, &prelude, &section)
        })
    });
    sections.collect()
}

fn check(path: &Path, prelude: &str, expected: &str) -> Result<(), Failed> {
    let user = User::new();
    let given = transcript(&user, prelude, expected);
    let mut redactions = Redactions::new();
    redactions.insert(
        "[HOME]",
        user.path("")
            .to_str()
            .unwrap()
            .trim_end_matches('/')
            .to_owned(),
    )?;
    let assert = Assert::new().normalize_paths(false).redact_with(redactions);
    let (given, _) = assert.normalize(given.into(), expected.into());
    let given = given.to_string();
    let Err(difference) = assert.try_eq(None, given.as_str().into(), expected.into()) else {
        return Ok(());
    };
    if std::env::var_os("CASES").is_some_and(|action| action == "overwrite") {
        let _alone = FILES.lock().unwrap();
        let text = fs::read_to_string(path)?.replacen(expected, &given, 1);
        fs::write(path, text)?;
        return Ok(());
    }
    let mut lines = given.lines().zip(expected.lines());
    let (given, expected) = lines
        .find(|(given, expected)| given != expected)
        .unwrap_or_default();
    let place = path.display();
    panic!("{place}: {given:?} in the place of {expected:?}\n{difference}")
}

/// A section with what its commands give in the place of what they should.
fn transcript(user: &User, prelude: &str, section: &str) -> String {
    let mut lines = section.split_inclusive('\n').peekable();
    let mut script = prelude.to_owned();
    let mut pieces = vec![String::new()];
    let mut is_console = false;
    while let Some(line) = lines.next() {
        let piece = pieces.last_mut().unwrap();
        match line.strip_prefix("$ ").filter(|_| is_console) {
            Some(command) => {
                let mut command = command.to_owned();
                piece.push_str(line);
                while let Some(more) =
                    lines.next_if(|line| line.starts_with("> ") || *line == ">\n")
                {
                    command.push_str(more[1..].trim_start_matches(' '));
                    piece.push_str(more);
                }
                let at = pieces.len() - 1;
                let run = format!("\"$RUNS\"/{at}");
                _ = write!(
                    script,
                    "{{\n{command}}} >{run}.out 2>{run}.err; echo $? >{run}.status\n"
                );
                pieces.push(String::new());
            }
            None if !is_console || line == "```\n" => {
                assert!(!line.starts_with("$ "), "not run: {line}");
                is_console = line == "```console\n";
                piece.push_str(line);
            }
            // What the command before gives.
            None => {}
        }
    }
    assert!(
        pieces.len() > 1 && !is_console,
        "no commands, or an open block"
    );
    let runs = tempfile::tempdir().unwrap();
    let tools = Path::new(env!("CARGO_BIN_EXE_randflake")).parent().unwrap();
    let mut shell = user.in_home("sh");
    let path = std::env::var("PATH").unwrap();
    let shell = shell
        .args(["-c", &script])
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("RUNS", runs.path())
        .env("KEY", KEY);
    let answer = Answer::of(shell.output().unwrap());
    assert_eq!(
        (&*answer.stdout, &*answer.stderr),
        ("", ""),
        "the shell itself"
    );
    let mut given = pieces[0].clone();
    for (at, piece) in pieces.iter().skip(1).enumerate() {
        let shown = shown(&runs.path().join(at.to_string()), section.contains(NOTE));
        given.push_str(&shown);
        given.push_str(piece);
    }
    given
}

/// What a command gave, with the note of local leases or without.
fn shown(run: &Path, is_with_note: bool) -> String {
    let read = |kind| fs::read_to_string(run.with_extension(kind)).unwrap();
    let complete = |text: String| {
        if text.is_empty() || text.ends_with('\n') {
            text
        } else {
            text + "(no-eol)\n"
        }
    };
    let mut shown = complete(read("out"));
    for line in complete(read("err")).split_inclusive('\n') {
        if is_with_note || !line.contains(NOTE) {
            _ = write!(shown, "! {line}");
        }
    }
    match read("status").trim() {
        "0" => {}
        status => _ = writeln!(shown, "? {status}"),
    }
    shown
}
