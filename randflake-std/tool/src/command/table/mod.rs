//! Tables: CSV, tab-separated values and JSON lines, read and written row by row.
//!
//! A thread reads standard input and finds the rows and the ids in them (`blocks`, with a splitter
//! for each format); the command's own thread decrypts the ids of a block at once, edits the rows
//! and writes them (`run`). What a row has besides is copied byte for byte: nobody's quotes, spaces
//! or digits change.

mod blocks;
mod edits;
mod formats;

use core::mem;
use std::io::{Cursor, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::{io, panic, thread};

use randflake_common::form::{GivenId, TextFormat};

use crate::command::rounded::Rounded;
use crate::failure::{Failure, say};
use crate::output::stdout;
use blocks::{BadRows, Block, Blocks, Content, Lines, OnError, Row, Split, Verdict};
use formats::{ColumnChoice, Objects, Separated};

pub(crate) use edits::{AddArgs, replace};

/// Options of commands that read and write tables.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    #[command(flatten)]
    format: FormatArgs,
    /// Read a table of the same format from standard input, with the ids in this column
    ///
    /// The name of a column or of a member. Of CSV and TSV also its number, counted from 1: in a
    /// table without a header, or where two columns have one name.
    #[arg(long, value_name = "NAME", requires = "table")]
    column: Option<String>,
    /// The table has no header: its first row is data
    #[arg(long, requires = "column", conflicts_with = "jsonl")]
    no_header: bool,
    /// What separates the cells of CSV: a comma, ';', '|', or 'tab' [default: ,]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, requires = "csv", conflicts_with_all = ["tsv", "jsonl"])]
    delimiter: Option<char>,
    /// What to do with a row whose cell is no id; an empty cell is none of these
    #[arg(
        long,
        value_enum,
        value_name = "ACTION",
        default_value = "stop",
        requires = "table"
    )]
    on_error: OnError,
    /// Print numbers in JSON lines as numbers, though many readers round those over 53 bits
    #[arg(long, requires = "jsonl", conflicts_with_all = ["csv", "tsv"])]
    json_numbers: bool,
}

#[derive(Debug, clap::Args)]
#[group(id = "table", multiple = false)]
struct FormatArgs {
    /// Print CSV (RFC 4180)
    #[arg(long)]
    csv: bool,
    /// Print tab-separated values: no quotes, as PostgreSQL's COPY writes them; nothing is `\N`
    ///
    /// `mysql --batch` writes them too, but NULL as the text NULL, which is no id: select
    /// IFNULL(order_id, '').
    #[arg(long)]
    tsv: bool,
    /// Print JSON lines, with ids as strings
    #[arg(long)]
    jsonl: bool,
}

/// How the rows of a table are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Separated { delimiter: char },
    Json { numbers: bool },
}

fn delimiter(text: &str) -> Result<char, String> {
    match text {
        "," | ";" | "|" | "\t" => Ok(text.chars().next().unwrap_or(',')),
        "tab" => Ok('\t'),
        _ => Err("a comma, ';', '|' or 'tab' is allowed".to_owned()),
    }
}

impl TableArgs {
    /// The format, if a table is asked for.
    pub(crate) fn format(&self) -> Option<Format> {
        let FormatArgs { csv, tsv, jsonl } = self.format;
        let delimiter = self.delimiter.unwrap_or(',');
        match () {
            () if csv => Some(Format::Separated { delimiter }),
            () if tsv => Some(Format::Separated { delimiter: '\t' }),
            () if jsonl => Some(Format::Json {
                numbers: self.json_numbers,
            }),
            () => None,
        }
    }

    /// Reads the rows and writes them edited.
    ///
    /// `given` are ids of the command line, and `added` the names of columns that the table must
    /// not have yet.
    fn run(
        &self,
        given: &[String],
        rounded: Rounded,
        added: Vec<String>,
        edit: &mut impl Edit,
    ) -> Result<(), Failure> {
        let split = self.split(rounded.form(), added);
        let input: Box<dyn Read + Send> = if given.is_empty() {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                say("reading rows from the terminal; Ctrl-D ends");
            }
            Box::new(stdin)
        } else if let Some(column) = &self.column {
            return Err(Failure::usage(format!(
                "--column {column}: the ids are those of the table, which is read from standard input, as by < FILE; \
                 none are allowed as arguments"
            )));
        } else {
            Box::new(Cursor::new(given.join("\n")))
        };
        let place = self.column.clone();
        run(
            Blocks::new(input, split),
            rounded,
            edit,
            BadRows::new(self.on_error, place),
        )
    }

    fn split(&self, form: TextFormat, added: Vec<String>) -> Box<dyn Split> {
        let Some(column) = self.column.clone() else {
            return Box::new(Lines { form });
        };
        match self.format() {
            Some(Format::Separated { delimiter }) => Box::new(Separated::new(
                ColumnChoice {
                    column,
                    has_header: !self.no_header,
                    // What adds no columns replaces the ids.
                    is_replaced: added.is_empty(),
                    added,
                },
                delimiter,
                !self.format.tsv,
                form,
            )),
            _ => Box::new(Objects {
                member: column,
                added,
                form,
            }),
        }
    }
}

/// Blocks that wait for the writer. Few, so that memory is bounded; more than one, so that neither
/// side waits for each.
const WAITING: usize = 2;

/// What a command does with the rows.
trait Edit {
    /// Writes what stands before the first row.
    fn begin(&self, out: &mut Vec<u8>);

    fn header(&self, row: RowText<'_>, out: &mut Vec<u8>);

    /// Decrypts or encrypts the numbers of ids, all at once.
    fn permute(&self, numbers: &mut [u64]);

    /// Writes the row of an id and its permuted number, or says why there is none of it; then
    /// nothing is written.
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
enum NoId {
    Empty,
    Null,
    /// What the cell has instead is not kept.
    Bad,
}

/// The bytes of a row.
#[derive(Clone, Copy)]
struct RowText<'a> {
    /// Up to where columns are added.
    text: &'a [u8],
    /// Before the cell of the id, and from its end up to the end of the text.
    around: [&'a [u8]; 2],
    /// The rest: a line ending, and of an object its brace.
    end: &'a [u8],
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

    fn write_whole(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text);
        out.extend_from_slice(self.end);
    }

    /// Writes the row with another cell in the place of the id's.
    fn write_with(self, cell: &str, out: &mut Vec<u8>) {
        let [before, after] = self.around;
        for part in [before, cell.as_bytes(), after, self.end] {
            out.extend_from_slice(part);
        }
    }
}

/// Reads rows, edits and writes them.
fn run(
    blocks: Blocks,
    mut rounded: Rounded,
    edit: &mut impl Edit,
    mut bad: BadRows,
) -> Result<(), Failure> {
    let mut out = stdout();
    let (filled, next) = sync_channel(WAITING);
    let (empty, used) = channel();
    // Not scoped: when nobody reads the output any more, the process ends at once, though the
    // reader may be waiting for input.
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
