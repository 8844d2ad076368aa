//! Two threads: one reads and finds the rows, the other edits and writes them.

use core::mem;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::{panic, thread};

use randflake_common::form::GivenId;

use super::blocks::{BadRows, Block, Blocks, Content, Row, Verdict};
use crate::command::rounded::Rounded;
use crate::failure::{Failure, say};
use crate::output::stdout;

/// Blocks that wait for the writer. Few, so that memory is bounded; more than one, so that neither side waits for each.
const WAITING: usize = 2;

/// What a command does with the rows.
pub(super) trait Edit {
    /// Writes what stands before the first row.
    fn begin(&self, out: &mut Vec<u8>);

    fn header(&self, row: RowText<'_>, out: &mut Vec<u8>);

    /// Decrypts or encrypts the numbers of ids, all at once.
    fn permute(&self, numbers: &mut [u64]);

    /// Writes the row of an id and its permuted number, or says why there is none of it; then nothing is written.
    fn row(
        &mut self,
        row: RowText<'_>,
        id: &GivenId,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), String>;

    /// Writes a row without an id.
    fn empty_row(&self, row: RowText<'_>, why: NoId, out: &mut Vec<u8>);
}

/// Why a row has no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoId {
    Empty,
    Null,
    /// What the cell has instead is not kept.
    Bad,
}

/// The bytes of a row.
#[derive(Clone, Copy)]
pub(super) struct RowText<'a> {
    /// Up to where columns are added.
    pub(super) text: &'a [u8],
    /// Before the cell of the id, and from its end up to the end of the text.
    pub(super) around: [&'a [u8]; 2],
    /// The rest: a line ending, and of an object its brace.
    pub(super) end: &'a [u8],
}

impl<'a> RowText<'a> {
    fn of(row: &Row, bytes: &'a [u8]) -> Self {
        let (text, cell) = (&row.text, &row.cell);
        Self {
            text: &bytes[text.clone()],
            around: [&bytes[text.start..cell.start], &bytes[cell.end..text.end]],
            end: &bytes[text.end..row.next],
        }
    }

    pub(super) fn write_whole(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text);
        out.extend_from_slice(self.end);
    }

    /// Writes the row with another cell in the place of the id's.
    pub(super) fn write_with(self, cell: &str, out: &mut Vec<u8>) {
        let [before, after] = self.around;
        for part in [before, cell.as_bytes(), after, self.end] {
            out.extend_from_slice(part);
        }
    }
}

/// Reads rows, edits and writes them.
pub(super) fn run(
    blocks: Blocks,
    mut rounded: Rounded,
    edit: &mut impl Edit,
    mut bad: BadRows,
) -> Result<(), Failure> {
    let mut out = stdout();
    let (filled, next) = sync_channel(WAITING);
    let (empty, used) = channel();
    // Not scoped: when nobody reads the output any more, the process ends at once, though the reader may be waiting for
    // input.
    let reader = thread::Builder::new()
        .name("reader".to_owned())
        .spawn(move || read_all(blocks, &filled, &used))
        .map_err(|error| Failure::failed(format!("no thread for reading: {error}")))?;
    let mut writer = Writer::default();
    edit.begin(&mut writer.text);
    let mut done = Ok(());
    for block in next {
        done = block.and_then(|block: Block| {
            let written = writer.edit(&block, edit, &mut rounded, &mut bad);
            // Rows before a bad one are good.
            out.write_all(&writer.text)?;
            writer.text.clear();
            // The reader has gone at the end.
            _ = empty.send(block);
            written
        });
        if done.is_err() {
            break;
        }
    }
    out.write_all(&writer.text)?;
    out.flush()?;
    done?;
    if let Err(payload) = reader.join() {
        panic::resume_unwind(payload);
    }
    if let Some(warning) = rounded.warning() {
        say(&warning);
    }
    bad.finish(writer.rows)
}

fn read_all(
    mut blocks: Blocks,
    filled: &SyncSender<Result<Block, Failure>>,
    used: &Receiver<Block>,
) {
    loop {
        let mut block = used.try_recv().unwrap_or_default();
        let read = blocks.read(&mut block).map(|()| block);
        let is_last = match &read {
            Ok(block) if block.rows.is_empty() => return,
            Ok(_) => false,
            Err(_) => true,
        };
        // The other side has gone where a row is bad, or nobody reads the output.
        if filled.send(read).is_err() || is_last {
            return;
        }
    }
}

#[derive(Default)]
struct Writer {
    /// Rows so far, without the header.
    rows: u64,
    numbers: Vec<u64>,
    text: Vec<u8>,
}

impl Writer {
    fn edit(
        &mut self,
        block: &Block,
        edit: &mut impl Edit,
        rounded: &mut Rounded,
        bad: &mut BadRows,
    ) -> Result<(), Failure> {
        let mut numbers = mem::take(&mut self.numbers);
        numbers.clear();
        numbers.extend(block.rows.iter().filter_map(|row| match row.content {
            Content::Id(ref given) => Some(given.id.to_u64()),
            _ => None,
        }));
        rounded.watch(numbers.iter().copied())?;
        edit.permute(&mut numbers);
        let mut permuted = numbers.iter();
        for row in &block.rows {
            let text = RowText::of(row, &block.bytes);
            let out = &mut self.text;
            self.rows += u64::from(!matches!(row.content, Content::Header));
            let line = || block.line(row.text.start);
            let verdict = match &row.content {
                Content::Header => {
                    edit.header(text, out);
                    continue;
                }
                Content::Blank => continue,
                Content::Empty => {
                    edit.empty_row(text, NoId::Empty, out);
                    continue;
                }
                Content::Null => {
                    edit.empty_row(text, NoId::Null, out);
                    continue;
                }
                Content::Id(id) => {
                    let number = permuted.next().copied().unwrap_or_default();
                    match edit.row(text, id, number, out) {
                        Ok(()) => continue,
                        Err(problem) => bad.cell(self.rows, line(), &problem)?,
                    }
                }
                Content::BadCell(problem) => bad.cell(self.rows, line(), problem)?,
                Content::BadRow(problem) => bad.row(self.rows, line(), problem)?,
            };
            if verdict == Verdict::Empty {
                edit.empty_row(text, NoId::Bad, out);
            }
        }
        self.numbers = numbers;
        Ok(())
    }
}
