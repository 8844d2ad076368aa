//! The command `randflake man`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::stdout;

/// Print a manual page, or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake man | man -l -
  randflake man lease release | man -l -
  randflake man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The page of this subcommand; that of randflake itself when there is none
    #[arg(value_name = "SUBCOMMAND")]
    path: Vec<String>,
    /// Write the pages of all subcommands to this directory, which is made if need be
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "path")]
    out: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Pages for `help generate` and its like would repeat every page.
        let mut root = Cli::command().disable_help_subcommand(true);
        // Gives every subcommand its full name.
        root.build();
        if let Some(directory) = &self.out {
            return fs::create_dir_all(directory)
                .and_then(|()| write_pages(&root, directory))
                .map_err(|error| Failure::failed(format!("{}: {error}", directory.display())));
        }
        let mut command = &root;
        for name in &self.path {
            command = command
                .find_subcommand(name)
                .ok_or_else(|| no_subcommand(command, name))?;
        }
        let mut out = stdout();
        page(command).render(&mut out)?;
        Ok(out.flush()?)
    }
}

/// Writes the pages of a command and of its subcommands.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    page(command).generate_to(directory)?;
    let mut subcommands = command.get_subcommands();
    subcommands.try_for_each(|command| write_pages(command, directory))
}

fn page(command: &Command) -> Man {
    let version = concat!("randflake ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone())
        .source(version)
        .manual("Randflake")
}

fn no_subcommand(command: &Command, name: &str) -> Failure {
    let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
    Failure::usage(match names.as_slice() {
        [] => format!("{} has no subcommands, so no {name:?}", command.get_name()),
        names => format!("no subcommand {name:?}: {} are allowed", names.join(", ")),
    })
}
