//! The command `randflake sql duckdb`.

use super::expressions::values;
use super::schema::SchemaArgs;
use super::template::fill;
use super::terms::{Contents, TermsArgs};
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
        let (pieces, of_layout) = match terms.contents {
            Contents::Encrypted(spec) => (ENCRYPTED, values(spec)?),
            Contents::Plain(spec) => (PLAIN, values(spec)?),
            Contents::Counter => {
                return Err(Failure::usage("a counter has no layout to read ids by"));
            }
        };
        let mut values = vec![("schema", schema), ("namespace", terms.namespace)];
        values.extend(of_layout);
        print_line(fill(&pieces.concat(), &values).trim_end())
    }
}
