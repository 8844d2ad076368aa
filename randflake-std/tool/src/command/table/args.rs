//! The options that tables share.

use std::io::{self, Cursor, IsTerminal, Read};

use randflake_common::form::TextFormat;

use super::blocks::{BadRows, Blocks, Lines, OnError, Split};
use super::formats::{ColumnChoice, Objects, Separated};
use super::run::{Edit, run};
use crate::command::rounded::Rounded;
use crate::failure::{Failure, say};

/// Options of commands that read and write tables.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    #[command(flatten)]
    format: FormatArgs,
    /// Read a table of the same format from standard input, with the ids in this column
    ///
    /// The name of a column or of a member. Of CSV and TSV also its number, counted from 1: in a table without a header, or
    /// where two columns have one name.
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(super) column: Option<String>,
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
    /// `mysql --batch` writes them too, but NULL as the text NULL, which is no id: select IFNULL(order_id, '').
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
    /// `given` are ids of the command line, and `added` the names of columns that the table must not have yet.
    pub(super) fn run(
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
