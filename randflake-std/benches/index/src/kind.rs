//! The kinds of ids, as a fleet would make them: four nodes, ten thousand rows a second.

use core::fmt::Write as _;

use randflake_core::{Codec, Parts, Plain, Randflake, Snowflake, Sparx64};
use uuid::{NoContext, Timestamp, Uuid};

const NODES: u32 = 4;
const ROWS_PER_MS: u64 = 10;
const EPOCH_UNIX_MS: u64 = 1_800_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sequential,
    Snowflake,
    Randflake,
    /// Stored before the encryption, shown after it.
    RandflakeRaw,
    UuidV4,
    UuidV7,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Sequential,
        Self::Snowflake,
        Self::Randflake,
        Self::RandflakeRaw,
        Self::UuidV4,
        Self::UuidV7,
    ];

    /// Also the table's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Snowflake => "snowflake",
            Self::Randflake => "randflake",
            Self::RandflakeRaw => "randflake_raw",
            Self::UuidV4 => "uuid_v4",
            Self::UuidV7 => "uuid_v7",
        }
    }

    pub(crate) const fn column(self) -> &'static str {
        match self {
            Self::Sequential | Self::Snowflake | Self::Randflake | Self::RandflakeRaw => "bigint",
            Self::UuidV4 | Self::UuidV7 => "uuid",
        }
    }

    /// Writes the id of the n-th row, as PostgreSQL reads it.
    pub(crate) fn write(self, codecs: &Codecs, row: u64, out: &mut String) {
        let ms = row / ROWS_PER_MS;
        let of_ms = u32::try_from(row % ROWS_PER_MS).unwrap_or(0);
        let node_id = of_ms % NODES;
        let written = match self {
            Self::Sequential => write!(out, "{}", row + 1),
            Self::Snowflake => {
                let sequence = of_ms / NODES;
                let parts = Parts {
                    tick: ms,
                    node_id,
                    sequence,
                };
                let id = codecs.snowflake.compose(parts);
                write!(out, "{}", id.expect("all fields are small").to_i64())
            }
            Self::Randflake | Self::RandflakeRaw => {
                let of_second = u32::try_from(ms % 1_000).unwrap_or(0);
                // A millisecond has up to three rows of a node.
                let sequence = of_second * 3 + of_ms / NODES;
                let parts = Parts {
                    tick: ms / 1_000,
                    node_id,
                    sequence,
                };
                let id = codecs
                    .randflake
                    .compose(parts)
                    .expect("all fields are small");
                let bits = match self {
                    Self::RandflakeRaw => codecs.randflake.raw(id).cast_signed(),
                    _ => id.to_i64(),
                };
                write!(out, "{bits}")
            }
            Self::UuidV4 => write!(out, "{}", Uuid::new_v4()),
            Self::UuidV7 => {
                let unix_ms = EPOCH_UNIX_MS + ms;
                let nanos = u32::try_from(unix_ms % 1_000).unwrap_or(0) * 1_000_000;
                let time = Timestamp::from_unix(NoContext, unix_ms / 1_000, nanos);
                write!(out, "{}", Uuid::new_v7(time))
            }
        };
        written.expect("a string takes all");
    }
}

pub(crate) struct Codecs {
    snowflake: Codec<Snowflake>,
    randflake: Codec<Randflake>,
}

impl Codecs {
    pub(crate) fn new() -> Self {
        Self {
            snowflake: Codec::new(Snowflake, Plain),
            randflake: Codec::new(Randflake, Sparx64::new(&[7; 16])),
        }
    }
}
