//! The options that choose what is printed of new ids.

use std::io::{self, Write};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use randflake_std::Id;

use crate::command::fields::FieldsWriter;
use crate::output::BufferedStdout;
use randflake_common::form::{GivenId, TextForm};
use randflake_common::number::within;

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

    pub(crate) fn or(&self, default: TextForm) -> Format {
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
    Id(TextForm),
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
            Format::Id(TextForm::Text),
            Format::Id(TextForm::Int),
            Format::Json,
            Format::Id(TextForm::Uint),
            Format::Id(TextForm::Hex),
            Format::Id(TextForm::Base2),
            Format::Id(TextForm::Base32),
            Format::Id(TextForm::Base36),
            Format::Id(TextForm::Base58),
            Format::Id(TextForm::Base62),
            Format::Id(TextForm::Base64),
            Format::Id(TextForm::Bytes),
            Format::Id(TextForm::Uuid),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_a_format() {
        let named = |value: Option<PossibleValue>| value.unwrap().get_name().to_owned();
        let formats = Format::value_variants().iter();
        let mut formats: Vec<_> = formats
            .map(|format| named(format.to_possible_value()))
            .collect();
        let forms = TextForm::value_variants().iter();
        let mut forms: Vec<_> = forms.map(|form| named(form.to_possible_value())).collect();
        forms.push("json".to_owned());
        forms.sort();
        formats.sort();
        assert_eq!(formats, forms);
    }
}
