//! Standard output, and text that others wrote.

use core::fmt::Display;
use std::io::{self, IsTerminal, StdoutLock, Write};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::failure::Failure;
pub(crate) use randflake_common::failure::visible;

const CAPACITY: usize = 64 * 1024;
/// Bytes that a pipe takes together or not at all (POSIX: 512 at least, Linux: 4096). So lines that
/// are written in pieces of this size stay whole if a signal ends the process while the reader does
/// not read.
const PIPE_BUF: usize = if cfg!(target_os = "linux") {
    4_096
} else {
    512
};

/// Standard output, locked: a terminal gets each line at once, all else 64 KiB. Flush it at the
/// end, or an error in writing the last piece is lost.
pub(crate) fn stdout() -> BufferedStdout {
    let stdout = io::stdout().lock();
    BufferedStdout {
        is_terminal: stdout.is_terminal(),
        is_pipe: is_pipe(&stdout),
        stdout,
        text: Vec::with_capacity(CAPACITY),
    }
}

/// Prints all that a command has to say.
pub(crate) fn print_line(line: impl Display) -> Result<(), Failure> {
    let mut out = stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Prints all that a command has to say: as a JSON object for programs, or as text.
pub(crate) fn print(value: &(impl Serialize + Display), json: bool) -> Result<(), Failure> {
    let mut out = stdout();
    out.value(value, json)?;
    Ok(out.flush()?)
}

#[cfg(unix)]
fn is_pipe(stdout: &StdoutLock<'_>) -> bool {
    use rustix::fs::{FileType, fstat};

    // Where it is not known, pieces are as large as for a file: at worst a signal cuts a line.
    fstat(stdout).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

#[cfg(not(unix))]
fn is_pipe(_: &StdoutLock<'_>) -> bool {
    false
}

/// Buffered standard output that ends writes to pipes with whole lines.
pub(crate) struct BufferedStdout {
    stdout: StdoutLock<'static>,
    is_terminal: bool,
    is_pipe: bool,
    text: Vec<u8>,
}

impl BufferedStdout {
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// A terminal that shows colours, unless `NO_COLOR` is set; anything with `CLICOLOR_FORCE`.
    pub(crate) fn is_coloured(&self) -> bool {
        AutoStream::choice(&self.stdout) != ColorChoice::Never
    }

    /// Writes one of several values: as a JSON object on a line, or as text.
    pub(crate) fn value(
        &mut self,
        value: &(impl Serialize + Display),
        json: bool,
    ) -> io::Result<()> {
        if json {
            self.object(value)
        } else {
            writeln!(self, "{value}")
        }
    }

    /// Writes a JSON object on a line.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, object)?;
        writeln!(self)
    }

    /// Writes the first `len` bytes.
    fn write_out(&mut self, len: usize) -> io::Result<()> {
        // Files and terminals take what they are given; small pieces would only be more calls.
        let most = if self.is_pipe { PIPE_BUF } else { len };
        let mut text = &self.text[..len];
        let mut written = Ok(());
        while !text.is_empty() && written.is_ok() {
            let (piece, rest) = text.split_at(whole_lines(text, most));
            written = self.stdout.write_all(piece);
            text = rest;
        }
        // What could not be written is not tried again: `drop` would write what came before the
        // failure twice.
        self.text.drain(..len);
        written
    }
}

/// As many bytes as have at most this length and end a line, if any do.
fn whole_lines(text: &[u8], most: usize) -> usize {
    let start = &text[..most.min(text.len())];
    let end = start.iter().rposition(|&byte| byte == b'\n');
    // A line that is longer than a piece cannot stay whole, and is not held back for that.
    end.map_or(start.len(), |end| end + 1)
}

impl Write for BufferedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        if self.text.len() >= CAPACITY {
            // A line that is not whole waits for its end.
            self.write_out(whole_lines(&self.text, usize::MAX))?;
        }
        // A person waits for each line. `generate` writes many with one call, so this is no call
        // per id.
        if self.is_terminal && bytes.ends_with(b"\n") {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_out(self.text.len())?;
        self.stdout.flush()
    }
}

/// What was written before a failure is shown.
impl Drop for BufferedStdout {
    fn drop(&mut self) {
        _ = self.flush();
    }
}
