//! The commands of `serve` in a build without it: they say how to get one that has them.

use std::ffi::OsString;

use clap::Subcommand;

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    // Hidden from the help, but recognised: "unrecognized subcommand" would read like a mistake in the guide.
    /// Not in this build
    #[command(hide = true)]
    Serve(Anything),
    /// Not in this build
    #[command(hide = true)]
    Token(Anything),
}

/// Any arguments at all, `--help` among them.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Anything {
    // Whatever follows is accepted, so that the reason is this build and not the first option.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl ServeCommand {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let name = match self {
            Self::Serve(_) => "serve",
            Self::Token(_) => "token",
        };
        Err(Failure::usage(format!(
            "this randflake was built without `{name}`: `cargo install randflake --locked` has it, and in a clone \
             `cargo install --locked --path randflake-std/tool`"
        )))
    }
}
