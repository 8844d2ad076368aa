//! Input of tables in blocks of rows, which threads edit, and rows that cannot be edited.

use core::ops::Range;
use std::io::{self, Read};

use clap::ValueEnum;
use memchr::{memchr, memchr_iter};
use randflake_common::form::not_text;
use randflake_common::form::{GivenId, TextFormat};

use crate::command::input::read_text;
use crate::failure::Failure;

/// Bytes that are read together: some thousand rows, so that decrypting many at once pays.
const BLOCK_LEN: usize = 256 << 10;
/// Longest row, in bytes: without a limit a quote that is never closed would fill the memory with
/// the rest of the file.
const LONGEST_ROW: usize = 8 << 20;

/// A row, by its places in the bytes of a block.
#[derive(Debug)]
pub(super) struct Row {
    /// Its text, up to where further columns belong.
    pub(super) text: Range<usize>,
    /// Start of the next row. What is between is the end of this one: a line ending, and of an
    /// object its brace.
    pub(super) next: usize,
    /// The cell of the id as it is written, with its quotes; empty where nobody asks for it.
    pub(super) cell: Range<usize>,
    pub(super) content: Content,
}

/// What a row has in the column of ids.
#[derive(Debug)]
pub(super) enum Content {
    /// Names of columns.
    Header,
    Id(GivenId),
    /// Nothing.
    Empty,
    /// `\N` of tab-separated values, which further cells of the row repeat.
    Null,
    /// Nothing in the whole row, which is left out.
    Blank,
    /// No id, and why not.
    BadCell(String),
    /// No row that columns can be added to, and why not.
    BadRow(String),
}

/// Finds the rows of a format.
pub(super) trait Split: Send {
    /// Finds the row that begins at `start`, or `None` if the bytes end before it does.
    ///
    /// Rows end with a line ending, also the last one. Fails where no row can be right, as without
    /// the column.
    fn next(&mut self, bytes: &[u8], start: usize) -> Result<Option<Row>, Failure>;

    /// What is wrong with the whole input, known at its end.
    fn finish(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Whole rows.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    pub(super) rows: Vec<Row>,
    /// Line of the input that the block begins with, counted from 1.
    pub(super) first_line: u64,
}

impl Block {
    /// The line of the input that a place is in.
    pub(super) fn line(&self, place: usize) -> u64 {
        self.first_line + lines(&self.bytes[..place])
    }
}

fn lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// Reads blocks.
pub(super) struct Blocks {
    input: Box<dyn Read + Send>,
    split: Box<dyn Split>,
    /// Beginning of a row that goes on in bytes not read yet.
    rest: Vec<u8>,
    next_line: u64,
    is_over: bool,
}

impl Blocks {
    pub(super) fn new(input: Box<dyn Read + Send>, split: Box<dyn Split>) -> Self {
        Self {
            input,
            split,
            rest: Vec::new(),
            next_line: 1,
            is_over: false,
        }
    }

    /// Reads the next rows into a block; none at the end.
    ///
    /// It waits only until there is one: the writer of the rows may wait for the answers so far.
    pub(super) fn read(&mut self, block: &mut Block) -> Result<(), Failure> {
        block.rows.clear();
        block.bytes.clear();
        block.bytes.append(&mut self.rest);
        block.first_line = self.next_line;
        let mut done = 0;
        while block.rows.is_empty() && !self.is_over {
            self.fill(&mut block.bytes)?;
            while done < block.bytes.len() {
                let Some(row) = self.split.next(&block.bytes, done)? else {
                    break;
                };
                done = row.next;
                if !matches!(row.content, Content::Blank) {
                    block.rows.push(row);
                }
            }
            let unfinished = block.bytes.len() - done;
            // Rows before it are handed on first; the next call meets it again.
            if block.rows.is_empty() && (unfinished > LONGEST_ROW || self.is_over && unfinished > 0)
            {
                return Err(unfinished_row(block.line(done), self.is_over));
            }
        }
        self.rest.extend_from_slice(&block.bytes[done..]);
        block.bytes.truncate(done);
        self.next_line += lines(&block.bytes);
        if self.is_over {
            self.split.finish()?;
        }
        Ok(())
    }

    /// Reads once. A last line without an ending is given one.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<(), Failure> {
        let len = bytes.len();
        // Doubled for a row that is longer than a block, so that it is not looked through for each
        // piece.
        bytes.resize(len + BLOCK_LEN.max(len), 0);
        let read = loop {
            match self.input.read(&mut bytes[len..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let read = read.map_err(|error| Failure::failed(format!("standard input: {error}")))?;
        bytes.truncate(len + read);
        if let Some(problem) = not_text(bytes)
            && self.next_line == 1
        {
            return Err(Failure::usage(problem));
        }
        if read == 0 {
            self.is_over = true;
            if !matches!(bytes[..], [] | [.., b'\n']) {
                bytes.push(b'\n');
            }
        }
        Ok(())
    }
}

fn unfinished_row(line: u64, is_over: bool) -> Failure {
    let problem = if is_over {
        "does not end before the input does".to_owned()
    } else {
        format!("is longer than {} MiB", LONGEST_ROW >> 20)
    };
    Failure::usage(format!(
        "the row that begins in line {line} {problem}: is a quote not closed?"
    ))
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(super) struct Lines {
    pub(super) form: TextFormat,
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

/// Length of the byte order marks that a row begins with. Files that were joined have them before
/// later rows, too.
pub(super) fn marks_len(row: &[u8]) -> usize {
    let pieces = row.chunks(BYTE_ORDER_MARK.len());
    let marks = pieces.take_while(|piece| *piece == BYTE_ORDER_MARK);
    marks.count() * BYTE_ORDER_MARK.len()
}

/// Reads the id in a cell, without the white space around it.
pub(super) fn content(form: TextFormat, cell: &[u8]) -> Content {
    match read_text(form, cell) {
        Ok(Some(id)) => Content::Id(id),
        Ok(None) => Content::Empty,
        Err(problem) => Content::BadCell(problem),
    }
}

/// What is done with a row whose cell is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnError {
    /// Stop at the first one, with exit status 2
    Stop,
    /// Keep the row with empty cells; exit status 5
    Empty,
    /// Leave the row out; exit status 5
    Skip,
}

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

    /// A cell that is no id. Rows are counted from 1 behind the header; a row may have several
    /// lines.
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
