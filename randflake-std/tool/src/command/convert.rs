//! The command `randflake convert`, and the forms in which ids are printed.

use std::io::{self, Write};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use randflake_common::form::{GivenId, TextFormat};
use randflake_common::layout::IdEncryption;
use randflake_common::number::within;
use randflake_std::randflake_core::{Cipher, Codec, LayoutSpec, Permutation};
use randflake_std::{Id, Plain};

use crate::command::input::{BLOCK, for_each_block};
use crate::command::inspect::FieldsWriter;
use crate::command::rounded::RoundedArgs;
use crate::command::table::{TableArgs, replace};
use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::output::{BufferedStdout, stdout};
use crate::secret::SecretArgs;

/// `--count` and what is printed, which mean the same with every command that issues.
#[derive(Debug, clap::Args)]
pub(crate) struct IssueArgs {
    /// How many to make
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value = "1",
        value_parser = within::<u64>(0..=u64::MAX),
        // Else `-n -1` would be an unknown option, and not a number out of range.
        allow_negative_numbers = true
    )]
    pub(crate) count: u64,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// `--format` and `--json`, which mean the same with every command that makes ids.
#[derive(Debug, clap::Args)]
pub(crate) struct FormatArgs {
    /// Form to print each in [default: text; int in `segment` without --encrypt]
    #[arg(long, value_enum, value_name = "FORM")]
    format: Option<Format>,
    /// Print a JSON object for each, as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArgs {
    /// Whether one was chosen.
    pub(crate) fn is_given(&self) -> bool {
        self.json || self.format.is_some()
    }

    pub(crate) fn or(&self, default: TextFormat) -> Format {
        match self.format {
            // Clap refuses both together, so neither hides the other.
            _ if self.json => Format::Json,
            Some(format) => format,
            None => Format::Id(default),
        }
    }
}

/// An id in a form, or all of its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    Id(TextFormat),
    Json,
}

impl Format {
    /// Writes a line for each id.
    pub(crate) fn write(
        self,
        out: &mut BufferedStdout,
        fields: &mut FieldsWriter<'_>,
        ids: &[Id],
    ) -> io::Result<()> {
        match self {
            Self::Id(form) => out.write_all(form.lines(ids).as_bytes()),
            Self::Json => {
                let ids: Vec<_> = ids.iter().copied().map(GivenId::from).collect();
                fields.write(out, &ids)
            }
        }
    }
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        // In the order of the help: what most people want comes first.
        const ALL: [Format; 13] = [
            Format::Id(TextFormat::Text),
            Format::Id(TextFormat::Int),
            Format::Json,
            Format::Id(TextFormat::Uint),
            Format::Id(TextFormat::Hex),
            Format::Id(TextFormat::Base2),
            Format::Id(TextFormat::Base32),
            Format::Id(TextFormat::Base36),
            Format::Id(TextFormat::Base58),
            Format::Id(TextFormat::Base62),
            Format::Id(TextFormat::Base64),
            Format::Id(TextFormat::Bytes),
            Format::Id(TextFormat::Uuid),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Id(form) => form.to_possible_value(),
            Self::Json => Some(PossibleValue::new("json").help("An object with all fields")),
        }
    }
}

/// Write ids in another form
///
/// Prints a line for each id. The first line that is no id ends it, a blank one too, except at the
/// end of the input.
///
/// With --column it reads a table in CSV, TSV or JSON lines, and prints it with the ids converted
/// in their place.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake convert --to int 3vgoe12ccb8gh
  randflake convert --from int --to text -1
  randflake convert --from text --to int < ids.txt > numbers.txt
  randflake convert --layout snowflake --from int --to text --encrypt 749172199921140349
  randflake convert --csv --column order_id --from int --to text < orders.csv > public.csv")]
pub(crate) struct ConvertArgs {
    /// Ids; read from standard input, one on each line, when there are none
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    values: Vec<String>,
    /// How they are written
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    from: TextFormat,
    /// How to write them
    #[arg(long, value_enum, value_name = "FORM")]
    to: TextFormat,
    /// Refuse ids that this layout does not have, before they are encrypted or after they are
    /// decrypted
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LayoutChoice>,
    /// Encrypt plain ids under the secret
    #[arg(long, conflicts_with = "decrypt")]
    encrypt: bool,
    /// Give the plain ids of encrypted ones
    #[arg(long)]
    decrypt: bool,
    #[command(flatten)]
    rounded: RoundedArgs,
    #[command(flatten)]
    table: TableArgs,
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
        let conversion = Conversion {
            permutation: key.and_then(|key| self.form().cipher(&key)),
            decrypts: self.decrypt,
            layout: self
                .layout
                .as_ref()
                .map(|layout| Codec::new(layout.spec(), Plain)),
            from: self.from,
            to: self.to,
        };
        if let Some(format) = self.table.format() {
            let rounded = self.rounded.check(self.from, self.given_form());
            return replace(&self.table, format, &self.values, rounded, &conversion);
        }
        let mut out = stdout();
        let mut numbers = Vec::with_capacity(BLOCK);
        let mut converted = Vec::with_capacity(BLOCK);
        let mut text = String::new();
        let rounded = self.rounded.check(self.from, self.given_form());
        for_each_block(&self.values, rounded, |ids| {
            numbers.clear();
            numbers.extend(ids.iter().map(|given| given.id.to_u64()));
            conversion.permute(&mut numbers);
            converted.clear();
            converted.extend(numbers.iter().copied().map(Id::from_u64));
            text.clear();
            let mut checked = Ok(());
            for (given, &to) in ids.iter().zip(&converted) {
                checked = conversion.check(given, to);
                if checked.is_err() {
                    break;
                }
                given.append(to, self.to, &mut text);
                text.push('\n');
            }
            // Ids before the foreign one are printed, like the lines before one that is no id.
            out.write_all(text.as_bytes())?;
            checked.map_err(Failure::usage)
        })?;
        Ok(out.flush()?)
    }
}

impl ConvertArgs {
    /// What plain ids become, and encrypted ones are: of 64 bits, unless the layout says another.
    fn form(&self) -> IdEncryption {
        let form = self.layout.as_ref().map(LayoutChoice::form);
        form.filter(|form| form.is_encrypted())
            .unwrap_or(IdEncryption::Bits64)
    }

    /// Form of the ids that are given, if the options tell it.
    fn given_form(&self) -> Option<IdEncryption> {
        match () {
            () if self.decrypt => Some(self.form()),
            // Of a layout plain ids are checked.
            () if self.encrypt || self.layout.is_some() => Some(IdEncryption::Plain),
            () => None,
        }
    }
}

/// What becomes of each id.
pub(crate) struct Conversion {
    /// `None` changes nothing: one path serves all three uses.
    permutation: Option<Cipher>,
    pub(crate) decrypts: bool,
    /// Plain ids that it does not have are refused.
    layout: Option<Codec<LayoutSpec, Plain>>,
    /// How ids are written that messages name.
    from: TextFormat,
    pub(crate) to: TextFormat,
}

impl Conversion {
    pub(crate) fn permute(&self, numbers: &mut [u64]) {
        if self.decrypts {
            self.permutation.invert_all(numbers);
        } else {
            self.permutation.permute_all(numbers);
        }
    }

    /// Refuses a plain id that has bits outside the fields of the layout.
    pub(crate) fn check(&self, from: &GivenId, to: Id) -> Result<(), String> {
        // The check is of plain ids, whichever side they are on: encrypted ones have all bits.
        let plain = if self.decrypts { to } else { from.id };
        match &self.layout {
            // Taking apart ignores bits outside the fields, so what does not come together again
            // had some.
            Some(codec) if codec.compose(codec.inspect(plain)) != Ok(plain) => {
                let mut text = String::new();
                from.append(from.id, self.from, &mut text);
                Err(format!(
                    "{text}: the layout has no such id: bits outside its fields are set; is it encrypted, or of another \
                     layout?"
                ))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_a_format() {
        let named = |value: Option<PossibleValue>| value.unwrap().get_name().to_owned();
        let mut formats: Vec<_> = Format::value_variants()
            .iter()
            .map(|format| named(format.to_possible_value()))
            .collect();
        let mut forms: Vec<_> = TextFormat::value_variants()
            .iter()
            .map(|form| named(form.to_possible_value()))
            .collect();
        forms.push("json".to_owned());
        forms.sort();
        formats.sort();
        assert_eq!(formats, forms);
    }
}
