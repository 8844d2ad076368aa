//! `randflake sql key` in a build that can connect to no database: it says how to get one that can.

use std::ffi::OsString;

use crate::failure::Failure;

// Recognised all the same: "unrecognized subcommand" would read like a mistake in the guide.
/// Not in this build
///
/// Any arguments are accepted, `--help` among them, so that the reason is this build and not the first option.
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
