//! The subcommands: their list, a file or folder for each, and helpers that several of them use.
//!
//! Each has `Args`, whose doc comments are the help texts, and `run`. It prints through
//! `crate::output` and fails with a `Failure`; only `generate` and `segment` watch for signals, as
//! only they hold something for longer than a call.

pub(crate) mod compose;
pub(crate) mod convert;
pub(crate) mod doctor;
mod equal_ids;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod histogram;
mod input;
pub(crate) mod inspect;
mod interrupt;
pub(crate) mod keygen;
pub(crate) mod lease;
mod manual;
mod rounded;
pub(crate) mod segment;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod sql;
mod table;
#[cfg(feature = "serve")]
mod token;
pub(crate) mod uuid;

use clap::Subcommand;

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Keygen(keygen::KeygenArgs),
    Generate(generate::GenerateArgs),
    Inspect(inspect::InspectArgs),
    Explain(explain::ExplainArgs),
    Compose(compose::ComposeArgs),
    Convert(convert::ConvertArgs),
    Histogram(histogram::HistogramArgs),
    Segment(segment::SegmentArgs),
    Uuid(uuid::UuidArgs),
    Sql(sql::SqlArgs),
    Lease(lease::LeaseCommandArgs),
    Doctor(doctor::DoctorArgs),
    // Flattened, so that a build without `serve` can replace both of its commands.
    #[command(flatten)]
    Serve(serve::ServeCommand),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

impl CliCommand {
    /// Runs the command. `root` describes the whole command line.
    pub(crate) fn run(&self, root: fn() -> clap::Command) -> Result<(), Failure> {
        match self {
            Self::Keygen(args) => args.run(),
            Self::Generate(args) => args.run(),
            Self::Inspect(args) => args.run(),
            Self::Explain(args) => args.run(),
            Self::Compose(args) => args.run(),
            Self::Convert(args) => args.run(),
            Self::Histogram(args) => args.run(),
            Self::Segment(args) => args.run(),
            Self::Uuid(args) => args.run(),
            Self::Sql(args) => args.run(),
            Self::Lease(args) => args.run(),
            Self::Doctor(args) => args.run(),
            Self::Serve(command) => command.run(),
            Self::Completions(args) => args.run(root()),
            Self::Man(args) => args.run(root()),
        }
    }
}

/// The commands of `serve` in a build without it: they say how to get one that has them.
#[cfg(not(feature = "serve"))]
pub(crate) mod serve {
    use std::ffi::OsString;

    use clap::Subcommand;

    use crate::failure::Failure;

    #[derive(Debug, Subcommand)]
    pub(crate) enum ServeCommand {
        // Hidden from the help, but recognised: "unrecognized subcommand" would read like a mistake
        // in the guide.
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
}
