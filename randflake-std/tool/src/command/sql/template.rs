//! Templates of SQL: the schema, the terms of its layout, and the expressions of its fields.

use core::fmt::Write as _;

use randflake_common::date::utc_in_ticks;
use randflake_common::layout::IdEncryption;
use randflake_std::lease::Namespace;
use randflake_std::randflake_core::{Field, LayoutSpec};

use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::store::StoreArgs;

/// The texts of a database, one after another, for each form of ids.
pub(super) struct Pieces {
    pub(super) encrypted: &'static [&'static str],
    pub(super) encrypted_53: &'static [&'static str],
    pub(super) plain: &'static [&'static str],
    /// What some of them have in common, by its place in them.
    pub(super) parts: &'static [(&'static str, &'static str)],
}

impl Pieces {
    /// The texts for the ids of a layout, filled.
    pub(super) fn of_layout(&self, terms: Terms, schema: String) -> Result<String, Failure> {
        let (pieces, form, spec) = match terms.contents {
            Contents::Encrypted(spec) => (self.encrypted, BITS_64, spec),
            Contents::Encrypted53(spec) => (self.encrypted_53, BITS_53, spec),
            Contents::Plain(spec) => (self.plain, BITS_64, spec),
            Contents::Counter | Contents::Tagged => {
                return Err(Failure::usage("these have no layout to read ids by"));
            }
        };
        Ok(self.filled(pieces, terms.namespace, schema, form, values(spec)?))
    }

    /// Texts, filled.
    pub(super) fn filled(
        &self,
        pieces: &[&str],
        namespace: String,
        schema: String,
        form: FormValues,
        of_layout: Vec<(&'static str, String)>,
    ) -> String {
        // Parts have places, too.
        let fixed = self.parts.iter().copied().chain(form);
        let mut all: Vec<_> = fixed
            .map(|(name, value)| (name, value.to_owned()))
            .collect();
        all.extend([("schema", schema), ("namespace", namespace)]);
        all.extend(of_layout);
        fill(&pieces.concat(), &all)
    }
}

/// The functions that encrypt and decrypt with a key, and the numbers that ids are.
pub(super) type FormValues = [(&'static str, &'static str); 5];
pub(super) const BITS_64: FormValues = [
    ("encrypting", "encrypt_block"),
    ("decrypting", "decrypt_block"),
    ("id_bits", "64"),
    ("least_id", "-9223372036854775808"),
    ("most_id", "18446744073709551615"),
];
pub(super) const BITS_53: FormValues = [
    ("encrypting", "encrypt_number"),
    ("decrypting", "decrypt_number"),
    ("id_bits", "53"),
    ("least_id", "0"),
    ("most_id", "9007199254740991"),
];

/// Fills the places, `{name}`, of a text.
///
/// Only with what needs no quotes: names that were checked, and numbers, dates and expressions of
/// the layout.
pub(super) fn fill(text: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(
        text.to_owned(),
        |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value),
    )
}

/// Longest name in PostgreSQL, in bytes: longer ones are cut off there.
const LONGEST_NAME: usize = 63;

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Schema of the functions [default: randflake_NAMESPACE, where a hyphen is an underscore]
    #[arg(long, value_name = "NAME", value_parser = name)]
    schema: Option<String>,
}

impl SchemaArgs {
    pub(crate) fn name(&self, namespace: &str) -> Result<String, Failure> {
        if let Some(schema) = &self.schema {
            return Ok(schema.clone());
        }
        let schema = format!("randflake_{}", namespace.replace('-', "_"));
        name(&schema).map_err(|allowed| {
            Failure::usage(format!(
                "the schema {schema}: {allowed}; name another one with --schema"
            ))
        })
    }
}

/// Reads a name that needs no quotes in SQL.
pub(super) fn name(text: &str) -> Result<String, String> {
    let begins_well = !text.starts_with(|c: char| c.is_ascii_digit()) && !text.starts_with("pg_");
    if !(1..=LONGEST_NAME).contains(&text.len())
        || !text
            .chars()
            .all(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        || !begins_well
    {
        return Err(format!(
            "1 to {LONGEST_NAME} characters of a-z, 0-9 and _ are allowed, and neither a digit nor pg_ at the beginning"
        ));
    }
    Ok(text.to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct TermsArgs {
    /// Which bits mean what, as in `randflake inspect` [default: the layout that the store has for
    /// the namespace]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LayoutChoice>,
    #[command(flatten)]
    store: StoreArgs,
}

/// What the SQL of a namespace depends on.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Letters, digits, `-` and `_`.
    pub(crate) namespace: String,
    pub(crate) contents: Contents,
}

#[derive(Debug)]
pub(crate) enum Contents {
    /// Ids of a layout, encrypted to 64 bits.
    Encrypted(LayoutSpec),
    /// Ids of a layout, encrypted to 53 bits.
    Encrypted53(LayoutSpec),
    /// Ids of a layout, in plain.
    Plain(LayoutSpec),
    /// An encrypted counter.
    Counter,
    /// Tagged UUIDs, whose ids are read elsewhere.
    Tagged,
}

impl Contents {
    const fn of(spec: LayoutSpec, form: IdEncryption) -> Self {
        match form {
            IdEncryption::Plain => Self::Plain(spec),
            IdEncryption::Bits64 => Self::Encrypted(spec),
            IdEncryption::Bits53 => Self::Encrypted53(spec),
        }
    }

    /// The layout, if there is one.
    pub(crate) fn spec(&self) -> Option<LayoutSpec> {
        match self {
            Self::Encrypted(spec) | Self::Encrypted53(spec) | Self::Plain(spec) => Some(*spec),
            Self::Counter | Self::Tagged => None,
        }
    }
}

impl TermsArgs {
    /// The namespace of a layout.
    pub(crate) fn read(&self) -> Result<Terms, Failure> {
        let name = self.store.namespace_name();
        if let Some(layout) = &self.layout {
            // Checks the name.
            Namespace::new(name, layout.spec()).map_err(Failure::usage)?;
            return Ok(Terms {
                namespace: name.to_owned(),
                contents: Contents::of(layout.spec(), layout.form()),
            });
        }
        // No default: SQL for another layout would read times that never were.
        let found = self.store.find(name)?.ok_or_else(|| {
            Failure::failed(format!(
                "the store has no namespace {name:?}: name the store that has it with --store, or give its layout, \
                 such as --layout randflake"
            ))
        })?;
        let form = IdEncryption::of(&found);
        Ok(Terms {
            namespace: name.to_owned(),
            contents: Contents::of(found.spec(), form),
        })
    }

    /// The namespace of what needs no layout.
    pub(crate) fn without_layout(&self, contents: Contents) -> Result<Terms, Failure> {
        // Checks the name.
        let namespace = self.store.counter_namespace()?;
        Ok(Terms {
            namespace: namespace.name().to_owned(),
            contents,
        })
    }
}

const US_PER_MS: u64 = 1_000;
const MS_PER_S: u64 = 1_000;

/// What the places of a template stand for. The time is the highest field, as in each layout that
/// the command line has.
pub(super) fn values(spec: LayoutSpec) -> Result<Vec<(&'static str, String)>, Failure> {
    let fields = spec.fields();
    let ticks = spec.max_tick() + 1;
    // Checked here, so that no arithmetic on times overflows there.
    let end_us = unix_us(spec, ticks).ok_or_else(|| {
        Failure::usage("the layout has times after the year 294246, which a bigint of microseconds does not hold")
    })?;
    let date = |tick| utc_in_ticks(spec.unix_ms(tick), spec.tick_ms());
    let sign_tick = sign_tick(spec);
    let below_time = (1_u64 << fields.timestamp.shift) - 1;
    Ok(vec![
        ("layout", described(spec)),
        ("time", time(spec)),
        ("node", extracted(fields.node_id)),
        ("sequence", extracted(fields.sequence)),
        ("packed", packed(spec)),
        ("epoch_ms", spec.epoch_unix_ms().to_string()),
        ("tick_ms", spec.tick_ms().to_string()),
        ("first_us", (spec.epoch_unix_ms() * US_PER_MS).to_string()),
        ("end_us", end_us.to_string()),
        ("tick_us", (spec.tick_ms() * US_PER_MS).to_string()),
        ("first_time", date(0)),
        ("last_time", date(spec.max_tick())),
        ("end_time", date(ticks)),
        ("sign_time", sign_tick.map_or("no time".to_owned(), date)),
        ("sign_tick", sign_tick.unwrap_or(ticks).to_string()),
        ("max_tick", spec.max_tick().to_string()),
        ("max_node", spec.max_node_id().to_string()),
        ("max_sequence", spec.max_sequence().to_string()),
        ("time_shift", fields.timestamp.shift.to_string()),
        ("node_shift", fields.node_id.shift.to_string()),
        ("sequence_shift", fields.sequence.shift.to_string()),
        ("below_time", below_time.to_string()),
    ])
}

/// Microseconds since 1970 at which a tick begins, if they fit a `bigint`.
fn unix_us(spec: LayoutSpec, tick: u64) -> Option<i64> {
    let us = spec.unix_ms(tick).checked_mul(US_PER_MS)?;
    i64::try_from(us).ok()
}

/// The first tick whose raw ids are negative in a `bigint`; `None` if none are.
pub(super) fn sign_tick(spec: LayoutSpec) -> Option<u64> {
    let Field { bits, shift } = spec.fields().timestamp;
    (bits + shift == u64::BITS).then(|| 1 << (bits - 1))
}

/// The field's value in the number `raw`.
fn extracted(field: Field) -> String {
    match field.bits {
        // It may lie behind the highest bit, by which no shift is allowed.
        0 => "0::bigint".to_owned(),
        _ => format!("raw {{>>}} {} {{&}} {}", field.shift, field.max()),
    }
}

/// The time of the number `raw`.
fn time(spec: LayoutSpec) -> String {
    let (epoch, tick) = (spec.epoch_unix_ms(), spec.tick_ms());
    let ticks = extracted(spec.fields().timestamp);
    if epoch.is_multiple_of(MS_PER_S) && tick.is_multiple_of(MS_PER_S) {
        let (epoch, tick) = (epoch / MS_PER_S, tick / MS_PER_S);
        return format!("pg_catalog.to_timestamp({epoch} {{+}} ({tick} {{*}} ({ticks})))");
    }
    // In two parts: seconds with decimals would be rounded to what a float holds.
    let ms = format!("({epoch} {{+}} ({tick} {{*}} ({ticks})))");
    format!(
        "pg_catalog.to_timestamp({ms} {{/}} {MS_PER_S}) {{+}} (({ms} {{%}} {MS_PER_S}) {{*}} interval '1 millisecond')"
    )
}

/// The raw id of the numbers `tick`, `node` and `sequence`, which are in range.
fn packed(spec: LayoutSpec) -> String {
    let names = ["tick", "node", "sequence"].into_iter();
    let fields = names.zip(spec.fields().bit_fields());
    let placed = fields
        .filter(|(_, field)| field.bits > 0)
        .map(|(name, field)| format!("({name} {{<<}} {})", field.shift));
    placed.collect::<Vec<_>>().join(" {|} ")
}

fn described(spec: LayoutSpec) -> String {
    let fields = spec.fields();
    let names = ["time", "node", "sequence"].into_iter();
    let mut text = String::new();
    for (name, field) in names.zip(fields.bit_fields()) {
        // Writing to a string never fails.
        _ = write!(
            text,
            "{name} {} bits from bit {}, ",
            field.bits, field.shift
        );
    }
    _ = write!(
        text,
        "ticks of {} ms since {}",
        fields.tick_ms,
        utc_in_ticks(fields.epoch_unix_ms, 1)
    );
    text
}
