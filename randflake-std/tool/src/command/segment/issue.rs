//! The command `randflake segment` without a subcommand.

use std::io::{self, Write};

use randflake_std::randflake_core::Permutation;
use randflake_std::segment::CounterTerms;
use randflake_std::{Id, Plain};

use super::terms::TermsArgs;
use crate::command::format::{Format, IssueArgs};
use crate::command::input::BLOCK;
use crate::command::interrupt::Interrupt;
use crate::command::progress::Progress;
use crate::failure::Failure;
use crate::output::{BufferedStdout, stdout};
use crate::secret::SecretArgs;
use crate::store::StoreArgs;
use crate::wait::WaitArgs;
use randflake_common::form::TextForm;

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
    terms: TermsArgs,
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
                Some(TextForm::Text),
                &self.secret.read_or_make(&self.store)?.cipher(),
            )
        } else {
            self.print(None, &Plain)
        }
    }

    /// `default`: form of encrypted numbers; plain ones are digits, with their date if they have one.
    fn print(
        &self,
        default: Option<TextForm>,
        permutation: &impl Permutation,
    ) -> Result<(), Failure> {
        let format = self.issue.format.or(default.unwrap_or(TextForm::Int));
        let is_plain = default.is_none() && !self.issue.format.is_given();
        let named = self.terms.named()?;
        let interrupt = Interrupt::watch()?;
        let pause = |time| interrupt.pause(time);
        if self.store.has_no_store()? {
            return Err(self.store.missing_counter()?.into());
        }
        let open = self.store.counter_opener()?;
        // A run that is ended leaves a gap of at most one segment, so there is nothing to release at a signal.
        let mut store = self.wait.until(pause, open)?;
        if let Some(terms) = named {
            store.counter().set_terms(terms);
        }
        let mut out = stdout();
        let mut progress = Progress::new(self.issue.count);
        let (mut block, mut raws) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        let mut ids = Vec::with_capacity(BLOCK);
        let mut done = 0;
        while done < self.issue.count {
            // Before it waits for the store, the reader gets all that was made so far.
            out.flush()?;
            // No more than is printed: what is reserved and not printed is a gap.
            let count = (self.issue.count - done).min(LONGEST);
            // After a lost answer another segment is reserved: a gap does no harm, and a number
            // twice would.
            let segment = self.wait.until(pause, || store.counter().reserve(count))?;
            let terms = store.counter().terms().unwrap_or_default();
            let mut numbers = segment.numbers();
            loop {
                // At each block and not at each segment, which a slow reader may take minutes to
                // read.
                interrupt.check()?;
                block.clear();
                block.extend(numbers.by_ref().take(BLOCK));
                if block.is_empty() {
                    break;
                }
                raws.clone_from(&block);
                permutation.permute_all(&mut block);
                ids.clear();
                ids.extend(block.iter().copied().map(Id::from_u64));
                match format {
                    Format::Id(_) if is_plain && terms.dates().is_some() => {
                        for raw in &raws {
                            writeln!(out, "{}", terms.text(*raw))?;
                        }
                    }
                    Format::Id(form) => out.write_all(form.lines(&ids).as_bytes())?,
                    Format::Json => write_objects(&mut out, &terms, &raws, &ids)?,
                }
                done += ids.len() as u64;
                progress.show(done);
            }
        }
        Ok(out.flush()?)
    }
}

/// Writes numbers as JSON objects. They have no layout and so no fields: `raw` is the number before its encryption, and
/// `number` the same with its date in front.
fn write_objects(
    out: &mut BufferedStdout,
    terms: &CounterTerms,
    raws: &[u64],
    ids: &[Id],
) -> io::Result<()> {
    for (raw, id) in raws.iter().zip(ids) {
        let (text, int) = (id.to_text(), id.to_i64());
        write!(out, r#"{{"text":"{text}","int":"{int}","raw":"{raw}""#)?;
        if terms.dates().is_some() {
            write!(out, r#","number":"{}""#, terms.text(*raw))?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}
