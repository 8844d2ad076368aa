//! Rows that have no id where one should be.

use super::args::OnError;
use crate::failure::Failure;

/// Decides about bad rows, and counts them.
pub(super) struct BadRows {
    action: OnError,
    /// The column of ids, if the table has more.
    column: Option<String>,
    count: u64,
    first: String,
}

/// What is done with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Keep it with empty cells.
    Empty,
    /// Leave it out.
    Skip,
}

impl BadRows {
    pub(super) fn new(action: OnError, column: Option<String>) -> Self {
        Self {
            action,
            column,
            count: 0,
            first: String::new(),
        }
    }

    /// A cell that is no id. Rows are counted from 1 behind the header; a row may have several lines.
    pub(super) fn cell(&mut self, row: u64, line: u64, problem: &str) -> Result<Verdict, Failure> {
        let place = match &self.column {
            Some(column) => format!("row {row} (line {line}), column {column}: {problem}"),
            None => format!("row {row} (line {line}): {problem}"),
        };
        let verdict = match self.action {
            OnError::Stop => return Err(Failure::usage(place)),
            OnError::Empty => Verdict::Empty,
            OnError::Skip => Verdict::Skip,
        };
        self.count(place);
        Ok(verdict)
    }

    /// A row that cells cannot be added to.
    pub(super) fn row(&mut self, row: u64, line: u64, problem: &str) -> Result<Verdict, Failure> {
        let place = format!("row {row} (line {line}): {problem}");
        match self.action {
            OnError::Stop => return Err(Failure::usage(place)),
            OnError::Empty => {
                return Err(Failure::usage(format!(
                    "{place}; --on-error skip leaves it out"
                )));
            }
            OnError::Skip => self.count(place),
        }
        Ok(Verdict::Skip)
    }

    fn count(&mut self, place: String) {
        self.count += 1;
        if self.count == 1 {
            self.first = place;
        }
    }

    /// Says how many there were.
    pub(super) fn finish(self, rows: u64) -> Result<(), Failure> {
        if self.count == 0 {
            return Ok(());
        }
        let done = match self.action {
            OnError::Skip => "were left out",
            OnError::Stop | OnError::Empty => "have empty cells",
        };
        Err(Failure::BadRows(format!(
            "{} of {rows} rows have no valid id and {done}; the first: {}",
            self.count, self.first
        )))
    }
}
