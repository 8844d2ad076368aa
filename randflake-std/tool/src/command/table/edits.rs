//! Edits of tables: fields that are added, and ids that are replaced.

use randflake_common::form::GivenId;
use randflake_common::layout::IdEncryption;
use randflake_std::randflake_core::{Cipher, Codec, LayoutSpec, Permutation};
use randflake_std::{AnyLayout, Id};

use super::formats::{Column, DecodedId, Times};
use super::{Edit, NoId, RowText};
use super::{Format, TableArgs};
use crate::command::convert::Conversion;
use crate::command::input::IdArgs;
use crate::command::rounded::Rounded;
use crate::failure::Failure;

/// Columns of a table that stands in its own right, and those that a table gets.
const LIST: &[&str] = &["id", "time_utc", "node", "sequence"];
const ADDED: &[&str] = &["time_utc", "node", "sequence"];

#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    table: TableArgs,
    /// Columns to print [default: id,time_utc,node,sequence; behind those of a table the last
    /// three]
    ///
    /// The fields of --json: id (as it was given), time in Unix seconds, unix_ms, time_utc, node,
    /// sequence, raw; each part of the node id that has a name, such as worker; and each form of
    /// --from.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', requires = "table")]
    columns: Vec<String>,
    /// Text before the name of every new column, so that none is one that the table has
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = prefix, requires = "table")]
    prefix: String,
}

fn prefix(text: &str) -> Result<String, String> {
    if text
        .chars()
        .all(|c: char| c.is_alphanumeric() || "_-. ".contains(c))
    {
        return Ok(text.to_owned());
    }
    Err("letters, digits, '_', '-', '.' and spaces are allowed".to_owned())
}

impl AddArgs {
    /// The format, if a table is asked for.
    pub(crate) fn format(&self) -> Option<Format> {
        self.table.format()
    }

    /// Prints a table of the ids given, or of those on standard input.
    pub(crate) fn run(
        &self,
        format: Format,
        ids: &IdArgs,
        codec: &Codec<LayoutSpec, Option<Cipher>>,
    ) -> Result<(), Failure> {
        let is_list = self.table.column.is_none();
        let default = if is_list { LIST } else { ADDED };
        let mut names: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        if names.is_empty() {
            names = default.to_vec();
        }
        let columns: Result<Vec<_>, _> = names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                if names[..index].contains(name) {
                    return Err(format!("{name:?} is there twice"));
                }
                Column::named(name, ids.from, &codec.layout())
            })
            .collect();
        let columns = columns.map_err(|problem| {
            // One letter less is another option.
            let advice = if is_list {
                "; --column names the one with the ids"
            } else {
                ""
            };
            Failure::usage(format!("--columns: {problem}{advice}"))
        })?;
        let names: Vec<_> = names
            .iter()
            .map(|name| format!("{}{name}", self.prefix))
            .collect();
        let mut add = Add::new(codec, format, is_list, &names, columns);
        let rounded = ids.rounded.check(ids.from, Some(add.form()));
        self.table.run(&ids.ids, rounded, names, &mut add)
    }
}

/// Adds columns.
struct Add<'a> {
    codec: &'a Codec<LayoutSpec, Option<Cipher>>,
    spec: LayoutSpec,
    format: Format,
    is_list: bool,
    header: String,
    columns: Vec<AddedColumn>,
    times: Times,
    /// The cells of a row.
    cells: String,
}

/// An added column, with the text before each of its cells.
struct AddedColumn {
    /// What stands before each of its cells.
    before: String,
    is_quoted: bool,
    column: Column,
}

impl<'a> Add<'a> {
    fn new(
        codec: &'a Codec<LayoutSpec, Option<Cipher>>,
        format: Format,
        is_list: bool,
        names: &[String],
        columns: Vec<Column>,
    ) -> Self {
        // In a list nothing stands before the first.
        let is_start = |index| is_list && index == 0;
        let mut header = String::new();
        let printed = names
            .iter()
            .zip(columns)
            .enumerate()
            .map(|(index, (name, column))| {
                let (before, is_quoted) = match format {
                    Format::Separated { delimiter } => {
                        let before = if is_start(index) {
                            String::new()
                        } else {
                            delimiter.to_string()
                        };
                        header.push_str(&before);
                        header.push_str(name);
                        (before, false)
                    }
                    Format::Json { numbers } => {
                        let sign = if is_start(index) { '{' } else { ',' };
                        // What is allowed in a prefix, and the names, have nothing to escape.
                        (format!("{sign}\"{name}\":"), column.is_text(numbers))
                    }
                };
                AddedColumn {
                    before,
                    is_quoted,
                    column,
                }
            });
        let columns = printed.collect();
        Self {
            codec,
            spec: codec.layout().spec(),
            format,
            is_list,
            header,
            columns,
            times: Times::default(),
            cells: String::new(),
        }
    }

    fn form(&self) -> IdEncryption {
        IdEncryption::of_cipher(self.codec.permutation().as_ref())
    }

    fn write(&self, row: RowText<'_>, cells: &str, out: &mut Vec<u8>) {
        if !self.is_list {
            out.extend_from_slice(row.text);
        }
        out.extend_from_slice(cells.as_bytes());
        out.extend_from_slice(match self.format {
            _ if !self.is_list => row.end,
            Format::Separated { .. } => b"\n",
            Format::Json { .. } => b"}\n",
        });
    }
}

impl Edit for Add<'_> {
    fn begin(&self, out: &mut Vec<u8>) {
        if self.is_list && matches!(self.format, Format::Separated { .. }) {
            out.extend_from_slice(self.header.as_bytes());
            out.push(b'\n');
        }
    }

    fn header(&self, row: RowText<'_>, out: &mut Vec<u8>) {
        self.write(row, &self.header, out);
    }

    fn permute(&self, numbers: &mut [u64]) {
        self.codec.permutation().invert_all(numbers);
    }

    fn row(
        &mut self,
        row: RowText<'_>,
        id: &GivenId,
        raw: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        self.form().check(id.id)?;
        let parts = self.spec.unpack(raw);
        self.times.set(&self.spec, parts.tick);
        let mut cells = core::mem::take(&mut self.cells);
        cells.clear();
        let inspected = DecodedId {
            id,
            raw,
            parts,
            spec: &self.spec,
            times: &self.times,
        };
        for AddedColumn {
            before,
            is_quoted,
            column,
        } in &self.columns
        {
            cells.push_str(before);
            let quote = if *is_quoted { "\"" } else { "" };
            cells.push_str(quote);
            column.append(&inspected, &mut cells);
            cells.push_str(quote);
        }
        self.write(row, &cells, out);
        self.cells = cells;
        Ok(())
    }

    fn empty_row(&self, row: RowText<'_>, why: NoId, out: &mut Vec<u8>) {
        let cell = match (self.format, why) {
            (Format::Json { .. }, _) => "null",
            (Format::Separated { .. }, NoId::Null) => "\\N",
            (Format::Separated { .. }, _) => "",
        };
        let cells: String = self
            .columns
            .iter()
            .flat_map(|column| [&column.before, cell])
            .collect();
        self.write(row, &cells, out);
    }
}

/// Reads a table from standard input and writes it with converted ids.
pub(crate) fn replace(
    table: &TableArgs,
    format: Format,
    given: &[String],
    rounded: Rounded,
    conversion: &Conversion,
) -> Result<(), Failure> {
    if table.column.is_none() {
        return Err(Failure::usage(
            "a table needs --column, which says where its ids are; without --csv, --tsv and --jsonl a list is read",
        ));
    }
    let mut replace = Replace {
        conversion,
        format,
        cell: String::new(),
    };
    table.run(given, rounded, Vec::new(), &mut replace)
}

struct Replace<'a> {
    conversion: &'a Conversion,
    format: Format,
    cell: String,
}

impl Edit for Replace<'_> {
    fn begin(&self, _: &mut Vec<u8>) {}

    fn header(&self, row: RowText<'_>, out: &mut Vec<u8>) {
        row.write_whole(out);
    }

    fn permute(&self, numbers: &mut [u64]) {
        self.conversion.permute(numbers);
    }

    fn row(
        &mut self,
        row: RowText<'_>,
        id: &GivenId,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let converted = Id::from_u64(number);
        self.conversion.check(id, converted)?;
        let to = self.conversion.to;
        let is_quoted = match self.format {
            Format::Separated { .. } => false,
            Format::Json { numbers } => Column::Form(to).is_text(numbers),
        };
        let quote = if is_quoted { "\"" } else { "" };
        self.cell.clear();
        self.cell.push_str(quote);
        id.append(converted, to, &mut self.cell);
        self.cell.push_str(quote);
        row.write_with(&self.cell, out);
        Ok(())
    }

    fn empty_row(&self, row: RowText<'_>, why: NoId, out: &mut Vec<u8>) {
        match (why, self.format) {
            (NoId::Empty | NoId::Null, _) => row.write_whole(out),
            (NoId::Bad, Format::Separated { .. }) => row.write_with("", out),
            (NoId::Bad, Format::Json { .. }) => row.write_with("null", out),
        }
    }
}
