//! The command `randflake sql postgres`.

use core::fmt::Write as _;

use randflake_std::randflake_core::{Field, LayoutSpec};

use super::template::fill;
use super::terms::{Terms, TermsArgs};
use crate::failure::Failure;
use crate::output::print_line;

/// Print functions that read and make ids in PostgreSQL
///
/// They are SQL and PL/pgSQL in a schema of their own: no extension, no superuser, so managed services take them. Run the
/// output once, in one transaction, which it begins and ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql postgres --namespace orders --layout randflake | psql -v ON_ERROR_STOP=1
  randflake sql postgres --layout discord --schema discord > discord.sql")]
pub(crate) struct SqlPostgresArgs {
    /// Schema of the functions [default: randflake_NAMESPACE, where a hyphen is an underscore]
    #[arg(long, value_name = "NAME", value_parser = schema)]
    schema: Option<String>,
    #[command(flatten)]
    terms: TermsArgs,
}

impl SqlPostgresArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let terms = self.terms.read()?;
        let schema = self
            .schema
            .clone()
            .map_or_else(|| default_schema(&terms), Ok)?;
        print_line(text(&terms, &schema))
    }
}

/// Longest name in PostgreSQL, in bytes; longer ones are cut off there.
const LONGEST_NAME: usize = 63;

/// A name that PostgreSQL takes without quotes.
fn schema(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_name = text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit());
    if text.is_empty() || text.len() > LONGEST_NAME || !is_name || text.starts_with("pg_") {
        return Err(format!(
            "1 to {LONGEST_NAME} characters of a-z, 0-9 and '_' are allowed, no digit first, and not pg_"
        ));
    }
    Ok(text.to_owned())
}

fn default_schema(terms: &Terms) -> Result<String, Failure> {
    let name = format!("randflake_{}", terms.namespace.replace('-', "_"));
    schema(&name).map_err(|allowed| {
        Failure::usage(format!(
            "the schema {name}: {allowed}; name another one with --schema"
        ))
    })
}

fn text(terms: &Terms, schema: &str) -> String {
    let mut text = String::from(include_str!("../../../sql/postgres/schema.sql"));
    text += include_str!("../../../sql/postgres/text.sql");
    text += include_str!("../../../sql/postgres/fields.sql");
    if terms.is_encrypted {
        text += include_str!("../../../sql/postgres/key.sql");
        text += include_str!("../../../sql/postgres/encrypted_fields.sql");
    } else {
        text += include_str!("../../../sql/postgres/plain_fields.sql");
    }
    let fields = terms.spec.fields();
    let text = fill(
        &text,
        &[
            ("schema", schema),
            ("namespace", &terms.namespace),
            ("layout", &described(terms.spec)),
            ("time", &time(terms.spec)),
            ("node", &extracted(fields.node_id)),
            ("sequence", &extracted(fields.sequence)),
        ],
    );
    format!("BEGIN;\n\n{text}\nCOMMIT;")
}

/// The value of a field of the number `raw`, as an expression.
fn extracted(field: Field) -> String {
    match field.bits {
        // It may lie behind the highest bit, by which PostgreSQL cannot shift.
        0 => "0::bigint".to_owned(),
        _ => format!("raw >> {} & {}", field.shift, field.max()),
    }
}

/// The time of the number `raw`, as an expression.
fn time(spec: LayoutSpec) -> String {
    const MS: u64 = 1_000;
    let (epoch, tick) = (spec.epoch_unix_ms(), spec.tick_ms());
    let ticks = extracted(spec.fields().timestamp);
    if epoch.is_multiple_of(MS) && tick.is_multiple_of(MS) {
        return format!("to_timestamp({} + {} * ({ticks}))", epoch / MS, tick / MS);
    }
    // In two parts: seconds with decimals would be rounded.
    let ms = format!("({epoch} + {tick} * ({ticks}))");
    format!("to_timestamp({ms} / 1000) + {ms} % 1000 * interval '1 millisecond'")
}

fn described(spec: LayoutSpec) -> String {
    let fields = spec.fields();
    let mut text = String::new();
    for (name, field) in ["time", "node", "sequence"].iter().zip(fields.bit_fields()) {
        // Writing to a string never fails.
        _ = write!(
            text,
            "{name} {} bits from bit {}, ",
            field.bits, field.shift
        );
    }
    _ = write!(
        text,
        "ticks of {} ms since Unix millisecond {}",
        fields.tick_ms, fields.epoch_unix_ms
    );
    text
}
