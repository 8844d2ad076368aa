//! The command `randflake convert`.

use std::io::Write;

use randflake_std::randflake_core::{Codec, Permutation};
use randflake_std::{Id, Plain};

use crate::command::input::{BLOCK, for_each_block};
use crate::failure::Failure;
use crate::form::TextForm;
use crate::layout::Chosen;
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
    layout: Option<Chosen>,
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
        for_each_block(&self.values, self.from, |given| {
            numbers.clear();
            numbers.extend(given.iter().map(|id| id.to_u64()));
            if self.decrypt {
                permutation.invert_all(&mut numbers);
            } else {
                permutation.permute_all(&mut numbers);
            }
            converted.clear();
            converted.extend(numbers.iter().copied().map(Id::from_u64));
            let plain = if self.decrypt { &converted } else { given };
            let checked = self.check(plain);
            let good = checked
                .as_ref()
                .map_or_else(|&(good, _)| good, |()| plain.len());
            self.to.write(&mut out, &converted[..good])?;
            checked.map_err(|(_, failure)| failure)
        })?;
        Ok(out.flush()?)
    }

    /// All bits of all ids are those of fields, or else of how many before the first with others.
    fn check(&self, plain: &[Id]) -> Result<(), (usize, Failure)> {
        let Some(chosen) = &self.layout else {
            return Ok(());
        };
        let codec = Codec::new(chosen.spec(), Plain);
        let is_of_layout = |id: &Id| codec.compose(codec.inspect(*id)) == Ok(*id);
        let Some(good) = plain.iter().position(|id| !is_of_layout(id)) else {
            return Ok(());
        };
        let foreign = plain[good].to_u64();
        let says = format!(
            "{foreign}: the layout has no such id: bits outside its fields are set; is it encrypted, or of another \
             layout?"
        );
        Err((good, Failure::usage(says)))
    }
}
