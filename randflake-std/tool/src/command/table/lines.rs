//! A list of ids, one on each line.

use memchr::memchr;

use super::blocks::{Content, Row, Split};
use crate::command::input::read_text;
use crate::failure::Failure;
use crate::form::TextForm;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(super) struct Lines {
    form: TextForm,
    is_begun: bool,
}

impl Lines {
    pub(super) fn new(form: TextForm) -> Self {
        Self {
            form,
            is_begun: false,
        }
    }
}

impl Split for Lines {
    fn next(&mut self, bytes: &[u8], start: usize) -> Result<Option<Row>, Failure> {
        let Some((line, next)) = line(bytes, start, &mut self.is_begun) else {
            return Ok(None);
        };
        Ok(Some(Row {
            text: line..next - 1,
            cell: line..next - 1,
            next,
            content: content(self.form, &bytes[line..next - 1]),
        }))
    }
}

/// The start of a line and of the next one; a byte order mark before the first line is no part of it.
pub(super) fn line(bytes: &[u8], start: usize, is_begun: &mut bool) -> Option<(usize, usize)> {
    let len = memchr(b'\n', &bytes[start..])?;
    let is_first = !core::mem::replace(is_begun, true);
    let has_mark = is_first && bytes[start..].starts_with(BYTE_ORDER_MARK);
    let mark = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
    Some((start + mark, start + len + 1))
}

/// Reads the id in a cell, without the white space around it.
pub(super) fn content(form: TextForm, cell: &[u8]) -> Content {
    match read_text(form, cell) {
        Ok(Some(id)) => Content::Id(id),
        Ok(None) => Content::Empty,
        Err(problem) => Content::BadCell(problem),
    }
}
