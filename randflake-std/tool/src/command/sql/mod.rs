//! The command `randflake sql`: ids where the rows are.

mod dialects;
#[cfg(any(feature = "mysql", feature = "postgres"))]
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

/// `randflake sql key` in a build that can connect to no database: it says how to get one that can.
#[cfg(not(any(feature = "mysql", feature = "postgres")))]
mod key {
    use std::ffi::OsString;

    use crate::failure::Failure;

    // Recognised all the same: "unrecognized subcommand" would read like a mistake in the guide.
    /// Not in this build
    ///
    /// Any arguments are accepted, `--help` among them, so that the reason is this build and not
    /// the first option.
    #[derive(Debug, clap::Args)]
    #[command(disable_help_flag = true, hide = true)]
    pub(crate) struct SqlKeyArgs {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _arguments: Vec<OsString>,
    }

    impl SqlKeyArgs {
        #[expect(clippy::unused_self, reason = "as in a build that can connect")]
        pub(crate) fn run(&self) -> Result<(), Failure> {
            Err(Failure::usage(
                "this randflake was built without PostgreSQL and MySQL: `cargo install randflake --locked` has both, and in a \
                 clone `cargo install --locked --path randflake-std/tool`",
            ))
        }
    }
}
