//! Standard output.

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
