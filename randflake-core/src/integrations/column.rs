//! What a `bigint` column holds of an id.

use crate::{Border, BorderError, Id, Kind, StoredRaw, Typed};

/// What the database clients' traits do for an id is what they do for this number.
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

/// [`for_ids`](super::for_ids), and the same for [`StoredRaw`].
macro_rules! for_columns {
    ($($(#[$attribute:meta])* impl[$($parameters:tt)*] $trait:path $(where [$($bounds:tt)*])? { $($body:tt)* })+) => {
        $(
            crate::integrations::for_ids! {
                $(#[$attribute])* impl[$($parameters)*] $trait $(where [$($bounds)*])? { $($body)* }
            }

            $(#[$attribute])*
            impl<$($parameters)* K: crate::Border> $trait for crate::StoredRaw<K> $(where $($bounds)*)? { $($body)* }
        )+
    };
}
pub(super) use for_columns;
