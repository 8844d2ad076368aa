//! `randflake convert`

use crate::failure::Failure;
use crate::form::Form;
use crate::input::for_each_id;
use crate::output::stdout;

/// Write ids in another form; needs no secret
///
/// Prints a line for each id. Blank lines of the input are passed over; the first line that is no id ends
/// it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake convert --to int 3vgoe12ccb8gh
  randflake convert --from int --to text -1
  randflake convert --from text --to int < ids.txt > numbers.txt")]
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
}

impl Args {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut out = stdout();
        for_each_id(&self.values, self.from, |id| {
            Ok(self.to.write(&mut out, id)?)
        })?;
        Ok(out.flush()?)
    }
}
