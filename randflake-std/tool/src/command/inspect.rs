//! The command `randflake inspect`.

use std::io::Write;

use clap::ArgGroup;

use crate::command::fields::{FieldsWriter, Shape};
use crate::command::input::IdArgs;
use crate::command::table::AddArgs;
use crate::failure::Failure;
use crate::layout::LayoutArgs;
use crate::output::stdout;
use crate::secret::SecretArgs;

/// Show what ids say: time, node id, sequence
///
/// One id on the command line is shown with a line for each field, several or those from standard input
/// with a line for each id. The first line that is no id ends it, a blank one too, except at the end of the input.
///
/// --csv, --tsv and --jsonl print a table instead. With --column they read one, and print it with columns added: nothing
/// else in a row changes. An empty cell has empty cells beside it.
///
/// A debugging aid: every number has fields under every secret, whoever made it, so they prove nothing.
#[derive(Debug, clap::Args)]
#[command(
    // Its own: other commands have the option without tables.
    group = ArgGroup::new("objects").arg("json").conflicts_with("table"),
    after_help = "\
Examples:
  randflake inspect 3vgoe12ccb8gh
  randflake inspect --from int --json 4594531474933654033
  randflake inspect --layout discord --from int 175928847299117063
  psql -Atc 'SELECT id FROM orders' | randflake inspect --from int
  randflake inspect --csv --column order_id --from int < orders.csv > inspected.csv
  randflake inspect --csv --columns id,time,node --from int < ids.txt > inspected.csv"
)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    ids: IdArgs,
    /// Show the bits of each field, too, as a terminal does with one id; in an object, or with one id
    #[arg(long, conflicts_with = "table")]
    bits: bool,
    #[command(flatten)]
    table: AddArgs,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    secret: SecretArgs,
}

impl InspectArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let codec = self.layout.layout.codec(&self.secret)?;
        if let Some(format) = self.table.format() {
            return self.table.run(format, &self.ids, &codec);
        }
        let shape = match self.ids.ids.len() {
            _ if self.ids.json => Shape::Json,
            // Counted by arguments: how many ids standard input has is not known before it ends.
            1 => Shape::Block,
            _ => Shape::Line,
        };
        let mut out = stdout();
        let mut fields = FieldsWriter::new(&codec, shape);
        // A person at a terminal sees the bits unasked, a program only if it asks.
        if self.bits || !self.ids.json && out.is_terminal() {
            fields = fields.with_bits(out.is_coloured() && !self.ids.json);
        }
        let form = self.layout.layout.form();
        self.ids.for_each_block(form, |ids| {
            let (ids, foreign) = form.checked(ids);
            fields.write(&mut out, ids)?;
            foreign
        })?;
        Ok(out.flush()?)
    }
}
