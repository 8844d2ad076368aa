//! The command `randflake segment` without a subcommand.

use std::io::{self, Write};

use randflake_std::randflake_core::Permutation;
use randflake_std::{Id, Plain};

use crate::command::format::{Format, IssueArgs};
use crate::command::input::BLOCK;
use crate::command::interrupt::Interrupt;
use crate::command::progress::Progress;
use crate::failure::Failure;
use crate::form::TextForm;
use crate::output::{BufferedStdout, stdout};
use crate::secret::SecretArgs;
use crate::store::StoreArgs;
use crate::wait::WaitArgs;

/// Most numbers that are reserved at once, and lost when the run is killed.
///
/// Reserving waits for the disk or the network, so a run should do it seldom.
const LONGEST: u64 = 65_536;

#[derive(Debug, clap::Args)]
pub(crate) struct SegmentIssueArgs {
    #[command(flatten)]
    issue: IssueArgs,
    /// Encrypt them under the secret, so that they give nothing away
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl SegmentIssueArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.issue.count == 0 {
            return Ok(());
        }
        // Ignoring it would print numbers in plain that somebody meant to hide.
        if !self.encrypt && self.secret.is_given() {
            return Err(Failure::usage("--key-file: only --encrypt takes a secret"));
        }
        if self.encrypt {
            self.print(
                TextForm::Text,
                &self.secret.read_or_make(&self.store)?.cipher(),
            )
        } else {
            self.print(TextForm::Int, &Plain)
        }
    }

    fn print(&self, default: TextForm, permutation: &impl Permutation) -> Result<(), Failure> {
        let format = self.issue.format.or(default);
        let interrupt = Interrupt::watch()?;
        let pause = |time| interrupt.pause(time);
        if self.store.has_no_store()? {
            return Err(self.store.missing_counter()?.into());
        }
        let open = self.store.counter_opener()?;
        // A run that is ended leaves a gap of at most one segment, so there is nothing to release at a signal.
        let mut store = self.wait.until(pause, open)?;
        let mut out = stdout();
        let mut progress = Progress::new(self.issue.count);
        let (mut block, mut ids) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        let mut done = 0;
        while done < self.issue.count {
            // Before it waits for the store, the reader gets all that was made so far.
            out.flush()?;
            // No more than is printed: what is reserved and not printed is a gap.
            let count = (self.issue.count - done).min(LONGEST);
            // After a lost answer another segment is reserved: a gap does no harm, and a number
            // twice would.
            let segment = self.wait.until(pause, || store.reserve(count))?;
            let mut numbers = segment.first()..segment.end();
            while !numbers.is_empty() {
                // At each block and not at each segment, which a slow reader may take minutes to
                // read.
                interrupt.check()?;
                block.clear();
                block.extend(numbers.by_ref().take(BLOCK));
                let first = block.first().copied().unwrap_or_default();
                permutation.permute_all(&mut block);
                ids.clear();
                ids.extend(block.iter().copied().map(Id::from_u64));
                match format {
                    Format::Id(form) => out.write_all(form.lines(&ids).as_bytes())?,
                    Format::Json => write_objects(&mut out, first, &ids)?,
                }
                done += ids.len() as u64;
                progress.show(done);
            }
        }
        Ok(out.flush()?)
    }
}

/// Writes numbers as JSON objects. They have no layout and so no fields: `raw` is the number before its encryption.
fn write_objects(out: &mut BufferedStdout, first: u64, ids: &[Id]) -> io::Result<()> {
    for (raw, id) in (first..).zip(ids) {
        let (text, int) = (id.to_text(), id.to_i64());
        writeln!(out, r#"{{"text":"{text}","int":"{int}","raw":"{raw}"}}"#)?;
    }
    Ok(())
}
