//! What a `bigint` column holds of an id.

pub(super) use super::for_all_ids as for_columns;
use crate::{Border, BorderError, Id, Kind, StoredRaw, Typed};

/// Conversion of an id from and to the number in a column. The clients' traits are implemented through that of `i64`.
pub(super) trait Column: Sized {
    /// Borrowed, because diesel writes nothing else.
    fn column(&self) -> &i64;

    fn of_column(number: i64) -> Result<Self, BorderError>;
}

impl Column for Id {
    fn column(&self) -> &i64 {
        &self.0
    }

    fn of_column(number: i64) -> Result<Self, BorderError> {
        Ok(Self::from_i64(number))
    }
}

impl<K: Kind> Column for Typed<K> {
    fn column(&self) -> &i64 {
        &self.id.0
    }

    fn of_column(number: i64) -> Result<Self, BorderError> {
        Ok(Self::from_i64(number))
    }
}

impl<K: Border> Column for StoredRaw<K> {
    fn column(&self) -> &i64 {
        &self.raw
    }

    fn of_column(number: i64) -> Result<Self, BorderError> {
        Self::from_raw(number)
    }
}
