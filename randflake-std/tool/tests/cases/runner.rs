//! Runs the sections of Markdown files as shell sessions, and compares what they give with what
//! stands there.
//!
//! Each `## section` is a test. Its ```` ```console ```` blocks are run by one shell, in a home of
//! its own that has a lease store, and must give the text that stands below each `$ command` (which
//! goes on in lines that begin with `> `): standard output, standard error behind `! `, and `?
//! STATUS` if that is not 0. `(no-eol)` ends an output without a line feed. `[..]` stands for any
//! text in a line, `...` for any lines, `[HOME]` for the home. A ```` ```sh ```` block before the
//! first section is run at the beginning of each, after the prelude. `CASES=overwrite` writes what
//! was given to the files, where it is not what stands there.

use core::any::Any;
use core::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use snapbox::{Assert, Redactions};

use crate::user::{Answer, KEY, User};

/// A note on standard error that is left out, unless a section shows it.
const NOTE: &str = "randflake: note: the leases of this secret are on this machine alone";

/// Held while a file is rewritten.
static FILES: Mutex<()> = Mutex::new(());

/// A folder of transcripts.
pub(crate) struct Folder {
    /// Its path in `tests`.
    pub(crate) path: &'static str,
    /// Shell functions for all sections.
    pub(crate) prelude: &'static str,
    /// Whether the sections of a topic can be run by this build.
    pub(crate) is_run: fn(topic: &str) -> bool,
    /// Starts what the sections of a topic need, and tells the shell where it is. The result is
    /// dropped after the section.
    pub(crate) start: fn(topic: &str, shell: &mut Command) -> Box<dyn Any>,
}

impl Folder {
    /// Runs all sections, as the command line of the test says.
    pub(crate) fn run(&'static self) -> ! {
        let mut arguments = Arguments::from_args();
        // Which the standard runner of tests reads itself.
        let threads = std::env::var("RUST_TEST_THREADS");
        arguments.test_threads = arguments
            .test_threads
            .or_else(|| threads.ok()?.parse().ok());
        let mut files = Vec::new();
        list(&self.root(), &mut files);
        let sections = files.into_iter().flat_map(|path| self.trials(path));
        libtest_mimic::run(&arguments, sections.collect()).exit()
    }

    fn root(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(self.path)
    }

    /// The sections of a file.
    fn trials(&'static self, path: PathBuf) -> Vec<Trial> {
        let topic = path
            .strip_prefix(self.root())
            .unwrap()
            .with_extension("")
            .to_str()
            .unwrap()
            .replace('/', "::");
        if !(self.is_run)(&topic) {
            return Vec::new();
        }
        let text = fs::read_to_string(&path).unwrap();
        let path = Arc::new(path);
        let mut sections = text.split("\n## ");
        let functions = sections
            .next()
            .unwrap()
            .split("```")
            .nth(1)
            .unwrap_or_default();
        let prelude = format!("{}{}", self.prelude, functions.trim_start_matches("sh"));
        sections
            .map(|section| {
                let (name, section) = section.split_once('\n').unwrap();
                let (path, prelude) = (Arc::clone(&path), prelude.clone());
                let (topic, section) = (topic.clone(), section.to_owned());
                Trial::test(format!("{topic}::{name}"), move || {
                    self.check(&topic, &path, &prelude, &section)
                })
            })
            .collect()
    }

    fn check(&self, topic: &str, path: &Path, prelude: &str, expected: &str) -> Result<(), Failed> {
        let user = User::new();
        let mut shell = user.in_home("sh");
        let started = (self.start)(topic, &mut shell);
        let given = transcript(&mut shell, prelude, expected);
        drop(started);
        let mut redactions = Redactions::new();
        let home = user.path("").to_str().unwrap().to_owned();
        redactions.insert("[HOME]", home.trim_end_matches('/').to_owned())?;
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
}

/// Lists the Markdown files in a folder and those below.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "md") {
            files.push(path);
        }
    }
}

/// A section with what its commands give in the place of what they should.
fn transcript(shell: &mut Command, prelude: &str, section: &str) -> String {
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
                    // A command may be a comment.
                    "{{ :\n{command}}} >{run}.out 2>{run}.err; echo $? >{run}.status\n"
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
    let path = std::env::var("PATH").unwrap();
    let shell = shell
        .args(["-c", &script])
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("RUNS", runs.path())
        .env("KEY", KEY)
        .env("VERSION", env!("CARGO_PKG_VERSION"))
        .env(
            "GUIDES",
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"),
        )
        // Which is a client too.
        .env("CLIENT", std::env::current_exe().unwrap());
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
        let text = redacted(&text);
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

/// A text without the times of log lines and the ports of servers.
fn redacted(text: &str) -> String {
    let mut redacted = String::new();
    for line in text.split_inclusive('\n') {
        let (mark, rest) = line.split_at(if line.starts_with("! ") { 2 } else { 0 });
        match rest.split_once(' ') {
            Some((time, said))
                if said.starts_with("randflake: ") && humantime::parse_rfc3339(time).is_ok() =>
            {
                _ = write!(redacted, "{mark}[TIME] {said}");
            }
            _ => redacted.push_str(line),
        }
    }
    for host in ["127.0.0.1:", "0.0.0.0:", "[::]:"] {
        let mut parts = redacted.split(host);
        let mut replaced = parts.next().unwrap().to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (port, rest) = part.split_at(digits);
            let port = if digits == 5 { "[PORT]" } else { port };
            _ = write!(replaced, "{host}{port}{rest}");
        }
        redacted = replaced;
    }
    redacted
}
