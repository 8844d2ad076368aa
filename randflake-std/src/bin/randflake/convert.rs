//! `randflake convert`

use randflake_std::randflake_core::{Codec, Permutation};
use randflake_std::{AnyPermutation, Id};

use crate::failure::Failure;
use crate::form::Form;
use crate::input::for_each_id;
use crate::layout::Chosen;
use crate::output::stdout;
use crate::secret::SecretArgs;

/// Write ids in another form
///
/// Prints a line for each id. Blank lines of the input are passed over; the first line that is no id ends
/// it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake convert --to int 3vgoe12ccb8gh
  randflake convert --from int --to text -1
  randflake convert --from text --to int < ids.txt > numbers.txt
  randflake convert --layout snowflake --from int --to text --encrypt 749172199921140349")]
pub(crate) struct Args {
    /// Ids; read from standard input, one on each line, when there are none
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    values: Vec<String>,
    /// How they are written
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    from: Form,
    /// How to write them
    #[arg(long, value_enum, value_name = "FORM")]
    to: Form,
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

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let permutation = if self.encrypt || self.decrypt {
            AnyPermutation::Sparx64(self.secret.read()?.cipher())
        } else {
            AnyPermutation::Plain
        };
        let mut out = stdout();
        for_each_id(&self.values, self.from, |given| {
            let (plain, id) = if self.decrypt {
                let plain = Id::from_u64(permutation.invert(given.to_u64()));
                (plain, plain)
            } else {
                (given, Id::from_u64(permutation.permute(given.to_u64())))
            };
            self.check(plain)?;
            Ok(self.to.write(&mut out, id)?)
        })?;
        Ok(out.flush()?)
    }

    /// All its bits are those of fields.
    fn check(&self, plain: Id) -> Result<(), Failure> {
        let Some(chosen) = &self.layout else {
            return Ok(());
        };
        let codec = Codec::of(chosen.layout(), AnyPermutation::Plain);
        if codec.compose(codec.inspect(plain)) == Ok(plain) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{}: the layout has no such id: bits outside its fields are set",
            plain.to_u64()
        )))
    }
}
