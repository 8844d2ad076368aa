//! Values from the command line, or else from standard input.

use std::io::{self, BufRead, IsTerminal, Read};

use randflake_std::Id;

use crate::failure::{Failure, say};
use crate::form::Form;

/// Reads ids and hands each on: those given, or when there are none, those on the lines of standard
/// input.
///
/// Nothing is handed on unless all of those given can be read. Standard input may be endless, so its
/// lines are handed on one by one, up to the first that cannot be read.
pub(crate) fn for_each_id(
    given: &[String],
    form: Form,
    mut each: impl FnMut(Id) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if given.is_empty() {
        return for_each_line(|number, line| match form.read(line) {
            Ok(id) => each(id),
            Err(problem) => Err(Failure::usage(format!(
                "line {number}: {}: {problem}",
                shown(line)
            ))),
        });
    }
    let read = |value: &String| {
        form.read(value)
            .map_err(|problem| Failure::usage(format!("{}: {problem}", shown(value))))
    };
    let ids: Result<Vec<_>, _> = given.iter().map(read).collect();
    ids?.into_iter().try_for_each(each)
}

/// No id is nearly as long: what is longer is not read.
const LONGEST_LINE: u64 = 4 << 10;

/// The lines that are not blank, without the white space around them, numbered from 1.
fn for_each_line(mut each: impl FnMut(u64, &str) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        say("reading from the terminal, one value on each line; Ctrl-D ends");
    }
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut stdin)
            .take(LONGEST_LINE + 1)
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::failed(format!("standard input: {error}")))?;
        if read == 0 {
            break;
        }
        if read as u64 > LONGEST_LINE && !line.ends_with(b"\n") {
            return Err(Failure::usage(format!(
                "line {number}: longer than {LONGEST_LINE} bytes, as no id is"
            )));
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            each(number, text.trim())?;
        }
    }
    Ok(())
}

/// As much of a value as tells which it is.
fn shown(value: &str) -> String {
    const MOST: usize = 40;
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &value[..end]),
        None => format!("{value:?}"),
    }
}
