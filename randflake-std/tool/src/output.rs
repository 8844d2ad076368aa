//! Standard output, and text that others wrote.

use core::fmt::{Display, Write as _};
use std::io::{self, IsTerminal, StdoutLock, Write};

use anstream::{AutoStream, ColorChoice};
use memchr::memrchr;
use randflake_std::Id;
use randflake_std::randflake_core::BufferTooShort;
use serde::Serialize;

use crate::failure::Failure;

const CAPACITY: usize = 64 * 1024;
/// A pipe takes so much at once or nothing of it (POSIX: 512 at least, Linux: 4096). So what is written of whole lines
/// stays whole if a signal ends the process while the reader does not read.
const PIPE_BUF: usize = if cfg!(target_os = "linux") {
    4_096
} else {
    512
};

/// Standard output, locked: a terminal gets each piece at once, all else 64 KiB. Flush it at the end,
/// or an error in writing the last piece is lost.
pub(crate) fn stdout() -> Output {
    let stdout = io::stdout().lock();
    Output {
        is_terminal: stdout.is_terminal(),
        is_pipe: is_pipe(&stdout),
        stdout,
        text: vec![0; CAPACITY].into_boxed_slice(),
        len: 0,
    }
}

/// All that a command has to say.
pub(crate) fn print_line(line: impl Display) -> Result<(), Failure> {
    let mut out = stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

#[cfg(unix)]
fn is_pipe(stdout: &StdoutLock<'_>) -> bool {
    use rustix::fs::{FileType, fstat};

    fstat(stdout).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

#[cfg(not(unix))]
fn is_pipe(_: &StdoutLock<'_>) -> bool {
    false
}

pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    is_terminal: bool,
    is_pipe: bool,
    text: Box<[u8]>,
    /// How much of the text is to be written.
    len: usize,
}

impl Output {
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// A terminal that shows colours, unless `NO_COLOR` is set; anything with `CLICOLOR_FORCE`.
    pub(crate) fn is_coloured(&self) -> bool {
        AutoStream::choice(&self.stdout) != ColorChoice::Never
    }

    /// A line of at most `most` bytes for each id: `write` puts those of many to the front of a place.
    pub(crate) fn blocks(
        &mut self,
        most: usize,
        ids: &[Id],
        write: impl Fn(&[Id], &mut [u8]) -> Result<usize, BufferTooShort>,
    ) -> io::Result<()> {
        let line = most + 1;
        for ids in ids.chunks(CAPACITY / line) {
            self.put(ids.len() * line, |place| {
                write(ids, place).map_err(io::Error::other)
            })?;
        }
        self.end_of_piece()
    }

    /// A line of at most `most` bytes for each id: `write` puts its text to the front of as many, and says how long it
    /// is.
    pub(crate) fn lines(
        &mut self,
        most: usize,
        ids: &[Id],
        write: impl Fn(Id, &mut [u8]) -> usize,
    ) -> io::Result<()> {
        for &id in ids {
            self.put(most + 1, |place| {
                let len = write(id, &mut place[..most]);
                place[len] = b'\n';
                Ok(len + 1)
            })?;
        }
        self.end_of_piece()
    }

    /// A line of JSON.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, object)?;
        writeln!(self)
    }

    /// At most so many bytes, which `write` puts to the front of as many; it says how many there are.
    #[inline]
    pub(crate) fn put(
        &mut self,
        most: usize,
        write: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        if CAPACITY - self.len < most {
            self.write_out()?;
        }
        self.len += write(&mut self.text[self.len..])?;
        Ok(())
    }

    fn write_out(&mut self) -> io::Result<()> {
        // What could not be written is not tried again.
        let len = core::mem::take(&mut self.len);
        let mut text = &self.text[..len];
        while !text.is_empty() {
            let (piece, rest) = text.split_at(if self.is_pipe {
                whole_lines(text, PIPE_BUF)
            } else {
                text.len()
            });
            self.stdout.write_all(piece)?;
            text = rest;
        }
        Ok(())
    }

    /// A terminal gets what there is.
    pub(crate) fn end_of_piece(&mut self) -> io::Result<()> {
        if self.is_terminal {
            return self.flush();
        }
        Ok(())
    }
}

/// As many bytes as have at most this length and end a line, if any do.
fn whole_lines(text: &[u8], most: usize) -> usize {
    match text.get(..most) {
        None => text.len(),
        Some(start) => memrchr(b'\n', start).map_or(most, |end| end + 1),
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(CAPACITY)];
        self.put(piece.len(), |place| {
            place[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        })?;
        if piece.ends_with(b"\n") {
            self.end_of_piece()?;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.stdout.flush()
    }
}

/// What was written before a failure is shown.
impl Drop for Output {
    fn drop(&mut self) {
        _ = self.flush();
    }
}

/// Text without effect on a terminal and on the lines around it: control characters and others that are not
/// seen, such as those that turn the direction of writing, are escaped.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' | '"' | '\\' => shown.push(c),
            _ => drop(write!(shown, "{}", c.escape_debug())),
        }
    }
    shown
}
