//! Orders of a shop, as a database exports them: ten columns and 120 bytes a row, of which a tenth
//! of the cells are quoted and a third of those have a line end inside.

use std::io::{self, Write};

use randflake_std::randflake_core::{Codec, Sparx64};
use randflake_std::{Layout, Parts, Randflake};

/// The key of the ids; anybody's, as it is published.
pub(crate) const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";

/// 2026-01-01T00:00:00Z.
const FIRST_UNIX_MS: u64 = 1_767_225_600_000;
const SECONDS_OF_A_YEAR: u64 = 365 * 24 * 3_600;
const NODES: u64 = 64;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    Tsv,
    Jsonl,
    /// Ids alone.
    List,
}

impl Format {
    pub(crate) const ALL: [(&str, Self); 4] = [
        ("csv", Self::Csv),
        ("tsv", Self::Tsv),
        ("jsonl", Self::Jsonl),
        ("list", Self::List),
    ];
}

/// Makes ids of the layout of Randflake: of a year and 64 nodes, in random order, or in the order
/// of time.
pub(crate) struct Ids {
    codec: Codec<Randflake>,
    random: fastrand::Rng,
    total: u64,
    is_ordered: bool,
}

impl Ids {
    pub(crate) fn new(total: u64, is_ordered: bool) -> Self {
        let key = u128::from_str_radix(KEY, 16).unwrap().to_be_bytes();
        Self {
            codec: Codec::new(Randflake, Sparx64::new(&key)),
            random: fastrand::Rng::with_seed(7),
            total,
            is_ordered,
        }
    }

    fn id(&mut self, row: u64) -> i64 {
        let second = if self.is_ordered {
            row * SECONDS_OF_A_YEAR / self.total
        } else {
            self.random.u64(..SECONDS_OF_A_YEAR)
        };
        let spec = Randflake::SPEC;
        let parts = Parts {
            tick: (FIRST_UNIX_MS - spec.fields().epoch_unix_ms) / 1_000 + second,
            node_id: u32::try_from(self.random.u64(..NODES)).unwrap(),
            // Each row's own: no id is there twice.
            sequence: u32::try_from(row % u64::from(spec.max_sequence())).unwrap(),
        };
        self.codec.compose(parts).unwrap().to_i64()
    }
}

/// Writes rows, always the same.
pub(crate) fn write(
    out: &mut impl Write,
    format: Format,
    rows: u64,
    ids: &mut Ids,
) -> io::Result<()> {
    const NAMES: [&str; 10] = [
        "order_id", "customer", "placed", "status", "amount", "currency", "items", "city", "note",
        "source",
    ];
    let separator = if format == Format::Tsv { "\t" } else { "," };
    if matches!(format, Format::Csv | Format::Tsv) {
        writeln!(out, "{}", NAMES.join(separator))?;
    }
    let mut random = fastrand::Rng::with_seed(11);
    for row in 0..rows {
        let id = ids.id(row);
        let customer = random.u32(100_000..1_000_000);
        let amount = random.u32(1_000..10_000);
        let (day, items) = (random.u32(1..29), random.u32(1..10));
        let note = match (row % 3, format) {
            (0, Format::Csv) => "\"two, please:\nby the \"\"back\"\" door\"",
            (0, Format::Jsonl) => "two, please:\\nby the \\\"back\\\" door",
            (_, Format::Csv) => "\"leave it with them, next door\"",
            _ => "leave it with them, next door",
        };
        match format {
            Format::List => writeln!(out, "{id}")?,
            Format::Csv | Format::Tsv => writeln!(
                out,
                "{id}{separator}{customer}{separator}2026-02-{day:02}{separator}shipped{separator}{amount}.95{separator}\
                 EUR{separator}{items}{separator}Santiago{separator}{note}{separator}newsletter-may"
            )?,
            Format::Jsonl => writeln!(
                out,
                r#"{{"order_id":"{id}","customer":{customer},"placed":"2026-02-{day:02}","status":"shipped","amount":{amount}.95,"currency":"EUR","items":{items},"city":"Santiago","note":"{note}","source":"newsletter-may"}}"#
            )?,
        }
    }
    Ok(())
}
