//! Standard output, and text that others wrote.

use core::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write};

const CAPACITY: usize = 64 * 1024;

/// Standard output, locked: a terminal gets line by line, all else large pieces. Flush it at the end,
/// or an error in writing the last piece is lost.
pub(crate) fn stdout() -> Box<dyn Write> {
    let stdout = io::stdout().lock();
    if stdout.is_terminal() {
        Box::new(stdout)
    } else {
        Box::new(BufWriter::with_capacity(CAPACITY, stdout))
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
