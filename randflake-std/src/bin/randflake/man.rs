//! `randflake man`

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;
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
pub(crate) struct Args {
    /// The page of this subcommand; that of randflake itself when there is none
    #[arg(value_name = "SUBCOMMAND")]
    path: Vec<String>,
    /// Write the pages of all subcommands to this directory, which is made if need be
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "path")]
    out: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut root = Cli::command();
        // Gives every subcommand its full name and the help texts.
        root.build();
        if let Some(directory) = &self.out {
            return fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(root, directory))
                .map_err(|error| Failure::failed(format!("{}: {error}", directory.display())));
        }
        let mut command = &root;
        for name in &self.path {
            command = command
                .find_subcommand(name)
                .ok_or_else(|| no_subcommand(command, name))?;
        }
        let mut out = stdout();
        Man::new(command.clone()).render(&mut out)?;
        Ok(out.flush()?)
    }
}

fn no_subcommand(command: &clap::Command, name: &str) -> Failure {
    let names: Vec<_> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .filter(|name| *name != "help")
        .collect();
    Failure::usage(match names.as_slice() {
        [] => format!("{} has no subcommands, so no {name:?}", command.get_name()),
        names => format!("no subcommand {name:?}: {} are allowed", names.join(", ")),
    })
}
