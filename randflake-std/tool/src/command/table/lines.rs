//! A list of ids, one on each line.

use memchr::memchr;

use super::blocks::{Content, Row, Split};
use crate::command::input::read_text;
use crate::failure::Failure;
use randflake_common::form::TextForm;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(super) struct Lines {
    pub(super) form: TextForm,
}

impl Split for Lines {
    fn next(&mut self, bytes: &[u8], start: usize) -> Result<Option<Row>, Failure> {
        let Some(len) = memchr(b'\n', &bytes[start..]) else {
            return Ok(None);
        };
        let end = start + len;
        let line = start + marks_len(&bytes[start..end]);
        Ok(Some(Row {
            text: start..end,
            cell: line..end,
            next: end + 1,
            content: content(self.form, &bytes[line..end]),
        }))
    }
}

/// Length of the byte order marks that a row begins with. Files that were joined have them before later rows, too.
pub(super) fn marks_len(row: &[u8]) -> usize {
    let pieces = row.chunks(BYTE_ORDER_MARK.len());
    let marks = pieces.take_while(|piece| *piece == BYTE_ORDER_MARK);
    marks.count() * BYTE_ORDER_MARK.len()
}

/// Reads the id in a cell, without the white space around it.
pub(super) fn content(form: TextForm, cell: &[u8]) -> Content {
    match read_text(form, cell) {
        Ok(Some(id)) => Content::Id(id),
        Ok(None) => Content::Empty,
        Err(problem) => Content::BadCell(problem),
    }
}
