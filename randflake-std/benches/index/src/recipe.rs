//! Recipes that make inserts of a kind of ids cheap.

use crate::kind::Kind;

/// Partitions of a table, by equal times of the whole measurement.
pub(crate) const PARTITIONS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// A primary key, and rows inserted as they come.
    Nothing,
    /// Each transaction inserts its rows in the order of the stored ids.
    Sorted,
    /// Pages of the index are filled to 70 % where it grows, not to 90 %: PostgreSQL only.
    FillFactor,
    /// Partitions by the stored ids, that is by time.
    Partitions,
    /// No unique constraint: a BRIN index in place of the primary key. PostgreSQL only.
    Brin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    pub(crate) kind: Kind,
    pub(crate) means: Means,
}

impl Recipe {
    /// All; the sequence first, with which the others are compared.
    pub(crate) fn all() -> Vec<Self> {
        let plain = Kind::ALL.map(|kind| (kind, Means::Nothing));
        let further = [
            (Kind::RandflakeRaw, Means::Sorted),
            (Kind::MilliflakeRaw, Means::Sorted),
            (Kind::MilliflakeRaw, Means::FillFactor),
            (Kind::MilliflakeRaw, Means::Partitions),
            (Kind::MilliflakeRaw, Means::Brin),
        ];
        let all = plain.into_iter().chain(further);
        all.map(|(kind, means)| Self { kind, means }).collect()
    }

    /// Also the table's name.
    pub(crate) fn name(self) -> String {
        let means = match self.means {
            Means::Nothing => "",
            Means::Sorted => "_sorted",
            Means::FillFactor => "_fillfactor_70",
            Means::Partitions => "_partitions",
            Means::Brin => "_brin",
        };
        format!("{}{means}", self.kind.name())
    }

    pub(crate) fn is_unique(self) -> bool {
        self.means != Means::Brin
    }
}
