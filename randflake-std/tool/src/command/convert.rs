//! The command `randflake convert`.

use std::io::Write;

use randflake_std::randflake_core::{Codec, Permutation};
use randflake_std::{Id, Plain};

use crate::command::input::{BLOCK, for_each_block};
use crate::failure::Failure;
use crate::form::TextForm;
use crate::layout::LayoutChoice;
use crate::output::stdout;
use crate::secret::SecretArgs;

/// Write ids in another form
///
/// Prints a line for each id. The first line that is no id ends it, a blank one too, except at the end of the input.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake convert --to int 3vgoe12ccb8gh
  randflake convert --from int --to text -1
  randflake convert --from text --to int < ids.txt > numbers.txt
  randflake convert --layout snowflake --from int --to text --encrypt 749172199921140349")]
pub(crate) struct ConvertArgs {
    /// Ids; read from standard input, one on each line, when there are none
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    values: Vec<String>,
    /// How they are written
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    from: TextForm,
    /// How to write them
    #[arg(long, value_enum, value_name = "FORM")]
    to: TextForm,
    /// Refuse ids that this layout does not have, before they are encrypted or after they are decrypted
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LayoutChoice>,
    /// Encrypt plain ids under the secret
    #[arg(long, conflicts_with = "decrypt")]
    encrypt: bool,
    /// Give the plain ids of encrypted ones
    #[arg(long)]
    decrypt: bool,
    #[command(flatten)]
    secret: SecretArgs,
}

impl ConvertArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let is_permuted = self.encrypt || self.decrypt;
        // Ignoring it would print ids unchanged that somebody meant to encrypt.
        if !is_permuted && self.secret.is_given() {
            return Err(Failure::usage(
                "--key-file: only --encrypt and --decrypt take a secret",
            ));
        }
        let key = is_permuted.then(|| self.secret.read()).transpose()?;
        let permutation = key.map(|key| key.cipher());
        let mut out = stdout();
        let mut numbers = Vec::with_capacity(BLOCK);
        let mut converted = Vec::with_capacity(BLOCK);
        for_each_block(&self.values, self.from, |ids| {
            numbers.clear();
            numbers.extend(ids.iter().map(|id| id.to_u64()));
            if self.decrypt {
                // Without a secret both are `None` and change nothing: one path serves all three
                // uses.
                permutation.invert_all(&mut numbers);
            } else {
                permutation.permute_all(&mut numbers);
            }
            converted.clear();
            converted.extend(numbers.iter().copied().map(Id::from_u64));
            // The check is of plain ids, whichever side they are on: encrypted ones have all bits.
            let plain = if self.decrypt { &converted } else { ids };
            let foreign = self.first_foreign(plain);
            let good = &converted[..foreign.unwrap_or(plain.len())];
            // Ids before the foreign one are printed, like the lines before one that is no id.
            out.write_all(self.to.lines(good).as_bytes())?;
            match foreign {
                None => Ok(()),
                Some(index) => Err(Failure::usage(format!(
                    "{}: the layout has no such id: bits outside its fields are set; is it encrypted, or of another \
                     layout?",
                    plain[index].to_u64()
                ))),
            }
        })?;
        Ok(out.flush()?)
    }

    /// The first of the plain ids that has bits outside the fields of the layout.
    fn first_foreign(&self, plain: &[Id]) -> Option<usize> {
        let codec = Codec::new(self.layout.as_ref()?.spec(), Plain);
        // Taking apart ignores bits outside the fields, so what does not come together again had
        // some.
        let is_foreign = |id: &Id| codec.compose(codec.inspect(*id)) != Ok(*id);
        plain.iter().position(is_foreign)
    }
}
