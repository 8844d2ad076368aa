//! The command `randflake sql duckdb`.

use super::schema::SchemaArgs;
use super::template::of_layout;
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

/// The texts for ids of a layout, encrypted or not.
const ENCRYPTED: &[&str] = &[
    piece!("schema"),
    piece!("text"),
    piece!("fields"),
    piece!("ranges"),
    piece!("key"),
    piece!("cipher"),
    piece!("encrypted_fields"),
];
const PLAIN: &[&str] = &[
    piece!("schema"),
    piece!("text"),
    piece!("fields"),
    piece!("ranges"),
    piece!("plain_fields"),
];

impl SqlDuckdbArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let terms = self.terms.read()?;
        let schema = self.schema.name(&terms.namespace)?;
        let text = of_layout(terms, schema, ENCRYPTED, PLAIN)?;
        print_line(text.trim_end())
    }
}
