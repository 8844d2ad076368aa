//! Runs the commands of the parts, counts what passed and failed, and sums up.

use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use crate::helpers::cargo::{is_cargo, shown};
use crate::helpers::output::Output;
use crate::helpers::scratch::Scratch;
use crate::helpers::test_counts::{Counts, Ignored};
use crate::helpers::tools::Tool;

struct Tally {
    name: &'static str,
    passed: usize,
    failed: usize,
    begun: Instant,
    /// Once it has ended.
    seconds: Option<u64>,
    /// Of the processors, taken by its commands.
    spent: Duration,
}

/// What servers that tests start are told.
const SERVER_DATA: &str = "RANDFLAKE_SERVER_DATA";

/// Count of passed and failed checks so far.
#[derive(Default)]
pub(crate) struct Report {
    host_only: bool,
    /// Repeated after each edit. Otherwise what the compiler notes for the next build is a quarter of its work on the
    /// crates here, for nothing.
    pub(crate) is_incremental: bool,
    /// Where servers keep their data, if not where temporary files are.
    pub(crate) server_data: Option<PathBuf>,
    output: Output,
    parts: Vec<Tally>,
    tests_ran: usize,
    failures: Vec<String>,
    notes: Vec<String>,
    left_out: Vec<String>,
    remedies: Vec<String>,
}

impl Report {
    pub(crate) fn new(host_only: bool) -> Self {
        Self {
            host_only,
            ..Self::default()
        }
    }

    /// Of what runs beside this, with its output kept in a new file. Without that lines are mixed.
    pub(crate) fn beside(&self, kept: Option<&Path>) -> Self {
        Self {
            host_only: self.host_only,
            is_incremental: self.is_incremental,
            server_data: self.server_data.clone(),
            output: kept
                .and_then(|path| Output::kept(path).ok())
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    fn prepare(&self, command: &mut Command) {
        if is_cargo(command) {
            // A panic says its line without; nobody steps through what is built here.
            command.env("CARGO_PROFILE_DEV_DEBUG", "0");
            command.envs(self.server_data.iter().map(|folder| (SERVER_DATA, folder)));
            if !self.is_incremental {
                command.env("CARGO_INCREMENTAL", "0");
                // What several units inline, each compiles: a sixth of the work on the crates here.
                command.env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1");
            }
        }
    }

    /// Adds what ran beside this, and shows its output.
    pub(crate) fn add(&mut self, mut other: Self) {
        self.end();
        other.end();
        other.output.show(&mut self.output);
        self.parts.append(&mut other.parts);
        self.add_outcome(other);
    }

    fn add_outcome(&mut self, mut other: Self) {
        self.tests_ran += other.tests_ran;
        self.failures.append(&mut other.failures);
        self.notes.append(&mut other.notes);
        self.left_out.append(&mut other.left_out);
        self.remedies.append(&mut other.remedies);
    }

    pub(crate) fn host_only(&self) -> bool {
        self.host_only
    }

    pub(crate) fn begin(&mut self, name: &'static str) {
        self.end();
        self.parts.push(Tally {
            name,
            passed: 0,
            failed: 0,
            begun: Instant::now(),
            seconds: None,
            spent: Duration::ZERO,
        });
    }

    /// Ends the last part, if that has not ended.
    pub(crate) fn end(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            let elapsed = || part.begun.elapsed().as_secs();
            part.spent += self.output.take_spent();
            part.seconds.get_or_insert_with(elapsed);
        }
    }

    /// Ends the last part, and says what it took: a run that is stopped has no summary.
    pub(crate) fn end_and_say(&mut self) {
        self.end();
        if let Some(part) = self.parts.last() {
            let (name, seconds) = (part.name, part.seconds.unwrap_or_default());
            let of_cpu = part.spent.as_secs();
            self.output
                .say(&format!("\n{name}: {seconds} s, {of_cpu} of CPU"));
        }
    }

    /// One command that succeeds or not.
    pub(crate) fn check(&mut self, what: &str, command: &mut Command) -> bool {
        self.prepare(command);
        let verdict = match self.output.status(command) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{status}: {}", shown(command))),
            Err(error) => Err(format!("{error}: {}", shown(command))),
        };
        self.verdict(what, verdict)
    }

    /// One command, and what it wrote on standard error.
    pub(crate) fn errors(&mut self, command: &mut Command) -> io::Result<(ExitStatus, String)> {
        self.prepare(command);
        self.output.errors(command)
    }

    /// Commands that were run past this took so much of the processors.
    pub(crate) fn add_spent(&mut self, spent: Duration) {
        self.output.add_spent(spent);
    }

    /// One command which runs tests: counts them; none at all, or an ignored one, is a failure.
    pub(crate) fn tests(&mut self, what: &str, command: &mut Command) {
        self.counted(what, command, Ignored::Fail);
    }

    /// Like [`Report::tests`], but ignored tests are only noted.
    pub(crate) fn interpreted_tests(&mut self, what: &str, command: &mut Command) {
        self.counted(what, command, Ignored::Allowed);
    }

    /// Commands that run tests, side by side; their output comes in their order.
    pub(crate) fn tests_at_once(&mut self, commands: Vec<(String, Command)>) {
        let (Some(part), Some(scratch)) = (
            self.parts.last().map(|part| part.name),
            Scratch::reported(self, "tests"),
        ) else {
            return;
        };
        let empty = self.beside(None);
        let run = |(what, mut command): (String, Command)| {
            let mut report = empty.beside(Some(&scratch.path().join(&what)));
            report.begin(part);
            report.tests(&what, &mut command);
            report.end();
            report
        };
        let reports: Vec<_> = thread::scope(|scope| {
            let run = &run;
            let begin = |command| scope.spawn(move || run(command));
            let running: Vec<_> = commands.into_iter().map(begin).collect();
            running.into_iter().map(ScopedJoinHandle::join).collect()
        });
        for report in reports {
            match report {
                Ok(report) => self.add_to_part(report),
                Err(_) => _ = self.verdict("tests", Err("a thread of xtask panicked".to_owned())),
            }
        }
    }

    /// Adds what ran beside this as a share of the part that runs.
    fn add_to_part(&mut self, mut other: Self) {
        other.output.show(&mut self.output);
        if let Some(part) = self.parts.last_mut() {
            for share in &other.parts {
                part.passed += share.passed;
                part.failed += share.failed;
                part.spent += share.spent;
            }
        }
        self.add_outcome(other);
    }

    fn counted(&mut self, what: &str, command: &mut Command, ignored: Ignored) {
        self.prepare(command);
        let mut counts = Counts::default();
        let succeeded = match self.output.stream(command, |line| counts.add_line(line)) {
            Ok(status) => status.success(),
            Err(error) => {
                self.verdict(what, Err(format!("{error}: {}", shown(command))));
                return;
            }
        };
        self.tests_ran += counts.passed + counts.failed;
        let (failed, reasons) = counts.judge(succeeded, ignored);
        if let Some(part) = self.parts.last_mut() {
            part.passed += counts.passed;
            part.failed += failed;
            let prefix = format!("{}: {what}", part.name);
            // Without the command, which stands where its output begins.
            let failures = reasons.iter().map(|reason| format!("{prefix}: {reason}"));
            self.failures.extend(failures);
            if counts.ignored > 0 && ignored == Ignored::Allowed {
                self.notes
                    .push(format!("{prefix}: {} ignored", counts.ignored));
            }
        }
    }

    /// One check that is no command.
    pub(crate) fn verdict(&mut self, what: &str, verdict: Result<(), String>) -> bool {
        let passed = verdict.is_ok();
        if let Some(part) = self.parts.last_mut() {
            part.passed += usize::from(passed);
            part.failed += usize::from(!passed);
            if let Err(reason) = verdict {
                self.output.say(&format!("FAILED {what}: {reason}"));
                self.failures
                    .push(format!("{}: {what}: {reason}", part.name));
            }
        }
        passed
    }

    /// An outside tool: where it is; else `what` is left out if that was asked for, and failed if not.
    pub(crate) fn tool(&mut self, tool: &Tool, what: &str) -> Option<PathBuf> {
        if self.host_only {
            self.leave_out(&format!("{what} (needs {})", tool.name));
            return None;
        }
        let found = tool.find();
        if found.is_none() {
            self.verdict(what, Err(format!("{} is missing, see setup", tool.name)));
        }
        found
    }

    /// Says by name, at the end, what did not run.
    pub(crate) fn leave_out(&mut self, what: &str) {
        self.output.say(&format!("left out: {what}"));
        self.left_out.push(what.to_owned());
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.output.say(line);
    }

    /// Something is missing that cannot be brought without the user: what, and the command which brings it.
    pub(crate) fn missing(&mut self, what: &str, command: String) {
        self.verdict(what, Err("missing".to_owned()));
        self.remedy(command);
    }

    /// A command that the user has to type.
    pub(crate) fn remedy(&mut self, command: String) {
        println!("\nto get what is missing:\n    {command}");
        self.remedies.push(command);
    }

    /// How much has failed so far.
    pub(crate) fn failed(&self) -> usize {
        self.parts.iter().map(|part| part.failed).sum()
    }

    /// What passed, failed and was left out, in words.
    pub(crate) fn outcome(&self) -> String {
        let passed: usize = self.parts.iter().map(|part| part.passed).sum();
        let left_out = self
            .left_out
            .iter()
            .map(|what| format!("; left out: {what}"));
        format!(
            "{passed} passed, {} failed{}",
            self.failed(),
            left_out.collect::<String>()
        )
    }

    /// Prints the summary, and says whether all passed.
    pub(crate) fn exit_code(&mut self) -> ExitCode {
        self.end();
        println!(
            "\n{:10} {:>7} {:>7} {:>8} {:>8}",
            "part", "passed", "failed", "seconds", "of CPU"
        );
        for part in &self.parts {
            println!(
                "{:10} {:7} {:7} {:8} {:8}",
                part.name,
                part.passed,
                part.failed,
                part.seconds.unwrap_or_default(),
                part.spent.as_secs()
            );
        }
        let passed: usize = self.parts.iter().map(|part| part.passed).sum();
        let failed = self.failed();
        println!(
            "\n{} tests ran; the other counts are single checks",
            self.tests_ran
        );
        print_list("note", &self.notes);
        print_list("failed", &self.failures);
        print_list("left out", &self.left_out);
        if !self.remedies.is_empty() {
            println!("to get what is missing: {}", self.remedies.join("; "));
        }
        println!("{passed} passed, {failed} failed");
        if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

fn print_list(title: &str, lines: &[String]) {
    for line in lines {
        println!("{title}: {line}");
    }
}
