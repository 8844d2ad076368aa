//! The command `randflake sql`: ids where the rows are.

mod dialects;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod key;
#[cfg(not(any(feature = "mysql", feature = "postgres")))]
#[path = "no_key.rs"]
mod key;
mod partitions;
mod template;

use clap::Subcommand;

use crate::failure::Failure;

/// Read and make ids inside of a database, by functions of its own
///
/// Prints SQL for the layout of a namespace, never with a key in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql postgres --namespace orders | psql -v ON_ERROR_STOP=1
  randflake sql key --namespace orders --database 'postgres://owner@db.internal/shop?sslmode=verify-full'
  randflake sql partitions --layout randflake --table orders --from 2026-01-01 --to 2027-01-01 | psql
  randflake sql mysql --namespace orders | mysql")]
pub(crate) struct SqlArgs {
    #[command(subcommand)]
    command: SqlCommand,
}

#[derive(Debug, Subcommand)]
enum SqlCommand {
    Postgres(dialects::SqlPostgresArgs),
    Mysql(dialects::SqlMysqlArgs),
    Duckdb(dialects::SqlDuckdbArgs),
    Key(key::SqlKeyArgs),
    Partitions(partitions::SqlPartitionsArgs),
}

impl SqlArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            SqlCommand::Postgres(args) => args.run(),
            SqlCommand::Mysql(args) => args.run(),
            SqlCommand::Duckdb(args) => args.run(),
            SqlCommand::Key(args) => args.run(),
            SqlCommand::Partitions(args) => args.run(),
        }
    }
}
