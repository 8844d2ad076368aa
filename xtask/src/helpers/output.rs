//! Where the commands of a part write: to the terminal, or to a file that is shown when the part's turn comes.

use core::time::Duration;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::helpers::cargo::shown;
use crate::helpers::cpu;

#[derive(Debug, Default)]
pub(crate) struct Output {
    /// `None` is the terminal.
    kept: Option<File>,
    /// What commands took of the processors.
    spent: Duration,
}

impl Output {
    /// Kept in a new file.
    pub(crate) fn kept(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        // Appending, since several programs write to it.
        let file = options
            .read(true)
            .append(true)
            .create_new(true)
            .open(path)?;
        Ok(Self {
            kept: Some(file),
            ..Self::default()
        })
    }

    /// What commands took of the processors since the last time this was asked.
    pub(crate) fn take_spent(&mut self) -> Duration {
        core::mem::take(&mut self.spent)
    }

    /// Shows there what was kept.
    pub(crate) fn show(&mut self, there: &mut Self) {
        let Some(mut kept) = self.kept.take() else {
            return;
        };
        let mut bytes = Vec::new();
        let read = kept.rewind().and_then(|()| kept.read_to_end(&mut bytes));
        there.write(&bytes);
        if let Err(error) = read {
            there.say(&format!("some output is lost: {error}"));
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.write(format!("{line}\n").as_bytes());
    }

    /// Runs a command with its output captured.
    pub(crate) fn status(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        self.begin(command)?;
        if let Some(kept) = &self.kept {
            command.stdout(kept.try_clone()?);
        }
        let mut child = command.spawn()?;
        self.wait(&mut child)
    }

    /// Runs a command, and tells of each line of its standard output.
    pub(crate) fn stream(
        &mut self,
        command: &mut Command,
        mut tell: impl FnMut(&str),
    ) -> io::Result<ExitStatus> {
        self.begin(command)?;
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

    /// Runs a command, and gives what it wrote on standard error.
    pub(crate) fn errors(&mut self, command: &mut Command) -> io::Result<(ExitStatus, String)> {
        self.begin(command)?;
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let mut errors = Vec::new();
        if let Some(mut output) = child.stderr.take() {
            output.read_to_end(&mut errors)?;
        }
        let status = self.wait(&mut child)?;
        Ok((status, String::from_utf8_lossy(&errors).into_owned()))
    }

    /// What was run past this took so much of the processors.
    pub(crate) fn add_spent(&mut self, spent: Duration) {
        self.spent += spent;
    }

    fn wait(&mut self, child: &mut Child) -> io::Result<ExitStatus> {
        self.spent += cpu::spent(child).unwrap_or_default();
        child.wait()
    }

    /// Shows a command, and tells it where to write.
    fn begin(&mut self, command: &mut Command) -> io::Result<()> {
        self.say(&format!("\n$ {}", shown(command)));
        if let Some(kept) = &self.kept {
            command.stdin(Stdio::null()).stderr(kept.try_clone()?);
        }
        Ok(())
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
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::helpers::cargo::program;
    use crate::helpers::scratch::Scratch;

    #[test]
    fn what_a_part_writes_is_kept_in_order() {
        let scratch = Scratch::new("output-kept").unwrap();
        let file = scratch.path().join("part");
        let mut output = Output::kept(&file).unwrap();
        output.say("first");
        let mut command = program("sh", &["-c", "echo out; echo \"$WORD\" >&2"]);
        assert!(output.status(command.env("WORD", "x")).unwrap().success());
        let mut lines = Vec::new();
        let mut command = program("sh", &["-c", "echo a; echo b; exit 3"]);
        let status = output.stream(&mut command, |line| lines.push(line.to_owned()));
        assert_eq!(status.unwrap().code(), Some(3));
        assert_eq!(lines, ["a\n", "b\n"]);
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "first\n\n$ WORD=x sh -c 'echo out; echo \"$WORD\" >&2'\nout\nx\n\n$ sh -c 'echo a; echo b; exit 3'\na\nb\n"
        );
    }
}
