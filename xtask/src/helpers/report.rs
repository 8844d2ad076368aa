//! Runs the commands of the parts, counts what passed and failed, and sums up. The output goes to
//! the terminal, or into a file that is shown when the part's turn comes.

use core::fmt::Display;
use core::time::Duration;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::helpers::cargo::{is_cargo, shown};
use crate::helpers::cpu;
use crate::helpers::jobs;
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

/// A command that takes less is not worth a line about that.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// Count of passed and failed checks so far.
#[derive(Default)]
pub(crate) struct Report {
    host_only: bool,
    /// Repeated after each edit. Otherwise what the compiler notes for the next build is a quarter
    /// of its work on the crates here, for nothing.
    pub(crate) is_incremental: bool,
    /// Where servers keep their data, if not where temporary files are.
    pub(crate) server_data: Option<PathBuf>,
    /// Set once all outside tools have been brought, if they are brought meanwhile.
    pub(crate) tools: Option<Arc<OnceLock<()>>>,
    /// Where output is kept; `None` is the terminal.
    kept: Option<File>,
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
    pub(crate) fn beside(&self, kept: &Path) -> Self {
        let mut options = File::options();
        // Appending, since several programs write to it.
        options.read(true).append(true).create_new(true);
        Self {
            host_only: self.host_only,
            is_incremental: self.is_incremental,
            server_data: self.server_data.clone(),
            tools: self.tools.clone(),
            kept: options.open(kept).ok(),
            ..Self::default()
        }
    }

    /// Adds what ran beside this, and shows its output.
    pub(crate) fn add(&mut self, mut other: Self) {
        self.end();
        other.end();
        self.show(&mut other);
        self.parts.append(&mut other.parts);
        self.add_outcome(other);
    }

    fn show(&mut self, other: &mut Self) {
        if let Some(mut kept) = other.kept.take() {
            let mut bytes = Vec::new();
            let read = kept.rewind().and_then(|()| kept.read_to_end(&mut bytes));
            self.write(&bytes);
            if let Err(error) = read {
                self.say(&format!("some output is lost: {error}"));
            }
        }
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
    fn end(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            part.seconds
                .get_or_insert_with(|| part.begun.elapsed().as_secs());
        }
    }

    /// Ends the last part, and says what it took: a run that is stopped has no summary.
    pub(crate) fn end_and_say(&mut self) {
        self.end();
        if let Some(part) = self.parts.last() {
            let (seconds, of_cpu) = (part.seconds.unwrap_or_default(), part.spent.as_secs());
            self.say(&format!("\n{}: {seconds} s, {of_cpu} of CPU", part.name));
        }
    }

    /// One command that succeeds or not.
    pub(crate) fn check(&mut self, what: &str, command: &mut Command) -> bool {
        let verdict = match self.status(command) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{status}: {}", shown(command))),
            Err(error) => Err(format!("{error}: {}", shown(command))),
        };
        self.verdict(what, verdict)
    }

    fn status(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        self.prepare(command)?;
        if let Some(kept) = &self.kept {
            command.stdout(kept.try_clone()?);
        }
        let mut child = command.spawn()?;
        self.wait(&mut child)
    }

    /// One command, and what it wrote on standard error.
    pub(crate) fn errors(&mut self, command: &mut Command) -> io::Result<(ExitStatus, String)> {
        self.prepare(command)?;
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let mut errors = Vec::new();
        if let Some(mut output) = child.stderr.take() {
            output.read_to_end(&mut errors)?;
        }
        let status = self.wait(&mut child)?;
        Ok((status, String::from_utf8_lossy(&errors).into_owned()))
    }

    /// One command which runs tests: counts them; none at all, or an ignored one, is a failure.
    pub(crate) fn tests(&mut self, what: &str, command: &mut Command) {
        self.counted(what, command, Ignored::Fail);
    }

    /// Like [`Report::tests`], but ignored tests are only noted.
    pub(crate) fn interpreted_tests(&mut self, what: &str, command: &mut Command) {
        self.counted(what, command, Ignored::Allowed);
    }

    fn counted(&mut self, what: &str, command: &mut Command, ignored: Ignored) {
        let mut counts = Counts::default();
        let streamed = self
            .stream(command, |line| counts.add_line(line))
            .map_err(|error| format!("{error}: {}", shown(command)));
        let Some(status) = self.ok(what, streamed) else {
            return;
        };
        self.tests_ran += counts.passed + counts.failed;
        let (failed, reasons) = counts.verdict(status.success(), ignored);
        let Some(part) = self.parts.last_mut() else {
            return;
        };
        part.passed += counts.passed;
        part.failed += failed;
        let prefix = format!("{}: {what}", part.name);
        // Without the command, which stands where its output begins.
        self.failures
            .extend(reasons.iter().map(|reason| format!("{prefix}: {reason}")));
        if counts.ignored > 0 && ignored == Ignored::Allowed {
            self.notes
                .push(format!("{prefix}: {} ignored", counts.ignored));
        }
    }

    /// Runs a command, and tells of each line of its standard output.
    fn stream(
        &mut self,
        command: &mut Command,
        mut tell: impl FnMut(&str),
    ) -> io::Result<ExitStatus> {
        self.prepare(command)?;
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        if let Some(output) = child.stdout.take() {
            let mut lines = BufReader::new(output);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line)? > 0 {
                self.write(&line);
                tell(&String::from_utf8_lossy(&line));
                line.clear();
            }
        }
        self.wait(&mut child)
    }

    /// Commands that run tests, side by side; their output comes in their order.
    pub(crate) fn tests_at_once(&mut self, commands: Vec<(String, Command)>) {
        let (Some(name), Some(scratch)) = (
            self.parts.last().map(|part| part.name),
            self.scratch("tests"),
        ) else {
            return;
        };
        let count = commands.len();
        let ended = jobs::each(count, commands, |(what, mut command)| {
            let mut report = self.beside(&scratch.path().join(&what));
            report.begin(name);
            report.tests(&what, &mut command);
            report
        });
        for mut report in ended {
            self.show(&mut report);
            if let (Some(part), Some(share)) = (self.parts.last_mut(), report.parts.pop()) {
                part.passed += share.passed;
                part.failed += share.failed;
                part.spent += share.spent;
            }
            self.add_outcome(report);
        }
    }

    /// One check that is no command.
    pub(crate) fn verdict<T>(&mut self, what: &str, verdict: Result<T, impl Display>) -> bool {
        let passed = self.ok(what, verdict).is_some();
        if let Some(part) = self.parts.last_mut() {
            part.passed += usize::from(passed);
        }
        passed
    }

    /// A check that failed.
    pub(crate) fn fail(&mut self, what: &str, reason: impl Display) {
        self.ok(what, Err::<(), _>(reason));
    }

    /// What was made, or a failed check that says why there is none.
    pub(crate) fn ok<T>(&mut self, what: &str, made: Result<T, impl Display>) -> Option<T> {
        if let (Some(part), Err(reason)) = (self.parts.last_mut(), &made) {
            part.failed += 1;
            self.failures
                .push(format!("{}: {what}: {reason}", part.name));
            self.say(&format!("FAILED {what}: {reason}"));
        }
        made.ok()
    }

    /// A temporary directory.
    pub(crate) fn scratch(&mut self, name: &str) -> Option<Scratch> {
        self.ok("temporary directory", Scratch::new(name))
    }

    /// An outside tool: where it is; else `what` is left out if that was asked for, and failed if
    /// not.
    pub(crate) fn tool(&mut self, tool: &Tool, what: &str) -> Option<PathBuf> {
        if self.host_only {
            self.leave_out(&format!("{what} (needs {})", tool.name));
            return None;
        }
        if let Some(tools) = &self.tools {
            tools.wait();
        }
        self.ok(
            what,
            tool.find()
                .ok_or_else(|| format!("{} is missing, see setup", tool.name)),
        )
    }

    /// Says by name, at the end, what did not run.
    pub(crate) fn leave_out(&mut self, what: &str) {
        self.say(&format!("left out: {what}"));
        self.left_out.push(what.to_owned());
    }

    /// Something is missing that cannot be brought without the user: what, and the command which
    /// brings it.
    pub(crate) fn missing(&mut self, what: &str, command: String) {
        self.fail(what, "missing");
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
        println!("\npart        passed  failed  seconds   of CPU");
        for part in &self.parts {
            let Tally {
                name,
                passed,
                failed,
                ..
            } = part;
            let (seconds, of_cpu) = (part.seconds.unwrap_or_default(), part.spent.as_secs());
            println!("{name:10} {passed:7} {failed:7} {seconds:8} {of_cpu:8}");
        }
        println!(
            "\n{} tests ran; the other counts are single checks",
            self.tests_ran
        );
        let lists = [
            ("note", &self.notes),
            ("failed", &self.failures),
            ("left out", &self.left_out),
        ];
        for (title, lines) in lists {
            for line in lines {
                println!("{title}: {line}");
            }
        }
        if !self.remedies.is_empty() {
            println!("to get what is missing: {}", self.remedies.join("; "));
        }
        println!("{}", self.outcome().split(';').next().unwrap_or_default());
        if self.failed() == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.write(format!("{line}\n").as_bytes());
    }

    /// What cannot be written is lost; what a command did counts without it.
    fn write(&mut self, bytes: &[u8]) {
        _ = if let Some(kept) = &mut self.kept {
            kept.write_all(bytes)
        } else {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        };
    }

    /// Shows a command, and tells it how to build and where to write.
    fn prepare(&mut self, command: &mut Command) -> io::Result<()> {
        if is_cargo(command) {
            // A panic says its line without; nobody steps through what is built here.
            command.env("CARGO_PROFILE_DEV_DEBUG", "0");
            command.envs(
                self.server_data
                    .iter()
                    .map(|folder| ("RANDFLAKE_SERVER_DATA", folder)),
            );
            if !self.is_incremental {
                command.env("CARGO_INCREMENTAL", "0");
                // What several units inline, each compiles: a sixth of the work on the crates here.
                command.env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1");
            }
        }
        self.say(&format!("\n$ {}", shown(command)));
        if let Some(kept) = &self.kept {
            command.stdin(Stdio::null()).stderr(kept.try_clone()?);
        }
        Ok(())
    }

    /// Commands that were run past this took so much of the processors.
    pub(crate) fn add_spent(&mut self, spent: Duration) {
        if let Some(part) = self.parts.last_mut() {
            part.spent += spent;
        }
    }

    fn wait(&mut self, child: &mut Child) -> io::Result<ExitStatus> {
        let spent = cpu::spent(child).unwrap_or_default();
        self.add_spent(spent);
        if spent >= WORTH_A_LINE {
            self.say(&format!("({:.1} s of CPU)", spent.as_secs_f32()));
        }
        child.wait()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;
    use crate::helpers::cargo::program;
    use crate::helpers::tools::PYTHON;

    #[test]
    fn a_part_that_asks_for_a_tool_waits_until_all_are_brought() {
        let tools = Arc::new(OnceLock::new());
        let mut report = Report::new(false);
        report.tools = Some(Arc::clone(&tools));
        report.begin("part");
        thread::scope(|scope| {
            let asked = scope.spawn(|| report.tool(&PYTHON, "part"));
            thread::sleep(Duration::from_millis(50));
            assert!(!asked.is_finished());
            tools.set(()).unwrap();
            asked.join().unwrap();
        });
    }

    #[test]
    fn what_a_part_writes_is_kept_in_order_and_counted() {
        let scratch = Scratch::new("output-kept").unwrap();
        let file = scratch.path().join("part");
        let mut report = Report::new(false).beside(&file);
        report.begin("part");
        report.say("first");
        assert!(
            report.check(
                "both",
                program("sh", "-c")
                    .arg("echo out; echo $A >&2")
                    .env("A", "x")
            )
        );
        report.tests("none", program("sh", "-c").arg("echo a; exit 3"));
        let kept = fs::read_to_string(&file).unwrap();
        assert_eq!(
            kept,
            "first\n\n$ A=x sh -c 'echo out; echo $A >&2'\nout\nx\n\n$ sh -c 'echo a; exit 3'\na\n"
        );
        assert_eq!(report.outcome(), "1 passed, 1 failed");
        let mut all = Report::new(false);
        all.add(report);
        assert_eq!(all.failures, ["part: none: did not end well"]);
    }
}
