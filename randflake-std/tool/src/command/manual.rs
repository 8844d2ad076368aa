//! `randflake man` and `randflake completions`: manual pages and completion scripts, made from the
//! command line's own description.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_mangen::Man;

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
    /// Prints or writes pages of the command line `root`.
    pub(crate) fn run(&self, root: clap::Command) -> Result<(), Failure> {
        // Pages for `help generate` and its like would repeat every page.
        let mut root = root.disable_help_subcommand(true);
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
fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    page(command).generate_to(directory)?;
    let mut subcommands = command.get_subcommands();
    subcommands.try_for_each(|command| write_pages(command, directory))
}

fn page(command: &clap::Command) -> Man {
    let version = concat!("randflake ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone())
        .source(version)
        .manual("Randflake")
}

fn no_subcommand(command: &clap::Command, name: &str) -> Failure {
    let names: Vec<_> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    Failure::usage(match names.as_slice() {
        [] => format!("{} has no subcommands, so no {name:?}", command.get_name()),
        names => format!("no subcommand {name:?}: {} are allowed", names.join(", ")),
    })
}

/// Print a shell's completion script
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake completions bash > ~/.local/share/bash-completion/completions/randflake
  randflake completions zsh > ~/.zfunc/_randflake
  randflake completions fish > ~/.config/fish/completions/randflake.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    shell: Shell,
}

impl CompletionsArgs {
    /// Prints the script for the command line `root`.
    pub(crate) fn run(&self, mut root: clap::Command) -> Result<(), Failure> {
        // Clap's generators panic when their writer fails, so they write to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut root, "randflake", &mut script);
        let mut out = stdout();
        out.write_all(&script)?;
        Ok(out.flush()?)
    }
}
