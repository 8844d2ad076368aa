//! The command `randflake sql duckdb`.

use super::schema::SchemaArgs;
use super::template::Pieces;
use super::terms::TermsArgs;
use crate::failure::Failure;
use crate::output::print_line;

/// Print macros that read and make ids in DuckDB
///
/// They are in a schema of their own, of a database file or of one session. The key is a variable of the session, which
/// the macro `key_of` makes of a secret: it is in no file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql duckdb --namespace orders > randflake_orders.sql
  duckdb orders.duckdb < randflake_orders.sql")]
pub(crate) struct SqlDuckdbArgs {
    #[command(flatten)]
    schema: SchemaArgs,
    #[command(flatten)]
    terms: TermsArgs,
}

macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!("../../../sql/duckdb/", $name, ".sql"))
    };
}

const PIECES: Pieces = Pieces {
    encrypted: &[
        piece!("schema"),
        piece!("text"),
        piece!("fields"),
        piece!("ranges"),
        piece!("key"),
        piece!("blocks"),
        piece!("cipher"),
        piece!("encrypted_fields"),
    ],
    encrypted_53: &[
        piece!("schema"),
        piece!("text"),
        piece!("fields"),
        piece!("ranges"),
        piece!("key"),
        piece!("blocks"),
        piece!("numbers"),
        piece!("cipher"),
        piece!("encrypted_fields"),
    ],
    plain: &[
        piece!("schema"),
        piece!("text"),
        piece!("fields"),
        piece!("ranges"),
        piece!("plain_fields"),
    ],
    parts: &[],
};

impl SqlDuckdbArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let terms = self.terms.read()?;
        let schema = self.schema.name(&terms.namespace)?;
        let text = PIECES.of_layout(terms, schema)?;
        print_line(text.trim_end())
    }
}
