//! The command `randflake completions`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::stdout;

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
    pub(crate) fn run(&self) -> Result<(), Failure> {
        // Clap's generators panic when their writer fails, so they write to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "randflake", &mut script);
        let mut out = stdout();
        out.write_all(&script)?;
        Ok(out.flush()?)
    }
}
