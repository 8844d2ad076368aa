//! Standard output, and text that others wrote.

use core::fmt::Write as _;
use std::io::{self, IsTerminal, StdoutLock, Write};

use randflake_std::Id;
use randflake_std::randflake_core::Notation;

const CAPACITY: usize = 64 * 1024;

/// Standard output, locked: a terminal gets each piece at once, all else 64 KiB. Flush it at the end,
/// or an error in writing the last piece is lost.
pub(crate) fn stdout() -> Output {
    let stdout = io::stdout().lock();
    Output {
        is_terminal: stdout.is_terminal(),
        stdout,
        text: vec![0; CAPACITY].into_boxed_slice(),
        len: 0,
    }
}

pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    is_terminal: bool,
    text: Box<[u8]>,
    /// How much of the text is to be written.
    len: usize,
}

impl Output {
    /// A line for each id.
    pub(crate) fn ids(&mut self, notation: Notation, ids: &[Id]) -> io::Result<()> {
        let line = notation.max_len() + 1;
        for ids in ids.chunks(CAPACITY / line) {
            self.put(ids.len() * line, |place| {
                notation.write(ids, b'\n', place).map_err(io::Error::other)
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

    fn put(
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
        self.stdout.write_all(&self.text[..len])
    }

    fn end_of_piece(&mut self) -> io::Result<()> {
        if self.is_terminal {
            return self.flush();
        }
        Ok(())
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
