//! The ids of a table in another form, each in its place.

use randflake_std::Id;

use super::args::{Format, TableArgs};
use super::column::Column;
use super::run::{Edit, NoId, RowText};
use crate::command::convert::Conversion;
use crate::command::rounded::Rounded;
use crate::failure::Failure;
use randflake_common::form::GivenId;

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
