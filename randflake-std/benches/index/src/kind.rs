//! The kinds of ids, and what a fleet's rows have of each.

use core::fmt::Write as _;

use randflake_core::{
    Codec, Id, Layout, Milliflake, Parts, Permutation, Plain, Randflake, Snowflake, Sparx64,
};
use uuid::{Builder, Uuid};

use crate::arrival::{Random, Row};

/// A layout's last date is past for no row.
const BEGIN_S: u64 = 60_000_000;
const UNIX_BEGIN_MS: u64 = 1_790_000_000_000;
/// How long a segment's numbers last: the default of `Segments`.
const SEGMENT_S: u64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Drawn at the insert: by the database, whatever the order of the rows.
    Sequential,
    /// Of a counter from which each node reserves ranges.
    Segments,
    Snowflake,
    /// Encrypted in the table too.
    Randflake,
    /// Stored before the encryption, shown after it.
    RandflakeRaw,
    MilliflakeRaw,
    UuidV4,
    UuidV7,
    Ulid,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Sequential,
        Self::Segments,
        Self::Snowflake,
        Self::Randflake,
        Self::RandflakeRaw,
        Self::MilliflakeRaw,
        Self::UuidV4,
        Self::UuidV7,
        Self::Ulid,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Segments => "segments",
            Self::Snowflake => "snowflake",
            Self::Randflake => "randflake",
            Self::RandflakeRaw => "randflake_raw",
            Self::MilliflakeRaw => "milliflake_raw",
            Self::UuidV4 => "uuid_v4",
            Self::UuidV7 => "uuid_v7",
            Self::Ulid => "ulid",
        }
    }

    /// Bytes of an id in a column.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Self::UuidV4 | Self::UuidV7 => 16,
            Self::Ulid => 26,
            _ => 8,
        }
    }
}

/// Makes ids of all kinds for the same rows.
pub(crate) struct Ids {
    cipher: Sparx64,
    random: Random,
    rates: Vec<u32>,
}

impl Ids {
    pub(crate) fn new(rates: &[u32]) -> Self {
        Self {
            cipher: Sparx64::new(&[7; 16]),
            random: Random::new(),
            rates: rates.to_vec(),
        }
    }

    /// Writes the id of a row that is the `inserted`-th of its table, as both databases read it.
    pub(crate) fn write(&mut self, kind: Kind, row: &Row, inserted: u64, out: &mut String) {
        let written = match kind {
            Kind::UuidV4 => {
                let bits = self.random.bits();
                write!(out, "{}", Builder::from_random_bytes(bits).into_uuid())
            }
            Kind::UuidV7 => write!(out, "{}", self.uuid_v7(row)),
            Kind::Ulid => {
                // The same bits as of a UUIDv7, and four or two more random ones in place of
                // version and variant.
                let [high, low] = [self.random.number(), self.random.number()];
                let time = (UNIX_BEGIN_MS + row.us / 1_000) << 16;
                write_ulid(out, u128::from(time | high >> 48) << 64 | u128::from(low));
                Ok(())
            }
            _ => write!(out, "{}", self.number(kind, row, inserted)),
        };
        written.expect("a string takes all");
    }

    /// An id that is a number, as the column keeps it.
    pub(crate) fn number(&self, kind: Kind, row: &Row, inserted: u64) -> i64 {
        let raw = match kind {
            Kind::Segments => self.of_segment(row),
            Kind::Snowflake => pack(Snowflake, row),
            Kind::RandflakeRaw => pack(Randflake, row),
            Kind::MilliflakeRaw => pack(Milliflake, row),
            Kind::Randflake => self.cipher.permute(pack(Randflake, row)),
            _ => inserted + 1,
        };
        raw.cast_signed()
    }

    /// The least number of a kind at a time, since the first row.
    pub(crate) fn first_of(&self, kind: Kind, us: u64) -> i64 {
        let row = Row {
            us,
            ..Row::default()
        };
        self.number(kind, &row, 0)
    }

    /// Each node's range follows those that the others took while it used its last one.
    fn of_segment(&self, row: &Row) -> u64 {
        let length = |node: usize| u64::from(self.rates[node]) * SEGMENT_S;
        let node = usize::try_from(row.node).expect("few nodes");
        let (range, place) = (row.nth / length(node), row.nth % length(node));
        let all: u64 = (0..self.rates.len()).map(length).sum();
        let before: u64 = (0..node).map(length).sum();
        range * all + before + place + 1
    }

    fn uuid_v7(&mut self, row: &Row) -> Uuid {
        let bits = self.random.bits();
        let random = bits.first_chunk().expect("ten of sixteen");
        Builder::from_unix_timestamp_millis(UNIX_BEGIN_MS + row.us / 1_000, random).into_uuid()
    }
}

fn pack<L: Layout>(layout: L, row: &Row) -> u64 {
    let spec = L::SPEC;
    let (length_us, sequence) = match spec.tick_ms() {
        1 => (1_000, row.nth_of_ms),
        _ => (1_000_000, row.nth_of_second),
    };
    let parts = Parts {
        tick: BEGIN_S * 1_000 / spec.tick_ms() + row.us / length_us,
        // Scattered, as leased ones are that were used before; all different in ten bits.
        node_id: (7 + row.node * 613) % 1_021,
        sequence,
    };
    let id: Id = (Codec::new(layout, Plain).compose(parts)).expect("rates within the layout's");
    id.to_u64()
}

fn write_ulid(out: &mut String, bits: u128) {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    for digit in (0..26).rev() {
        let value = (bits >> (5 * digit)) as usize & 31;
        out.push(char::from(DIGITS[value]));
    }
}
