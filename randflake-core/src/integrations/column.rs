//! What a `bigint` column holds of an id.

extern crate alloc;

use alloc::boxed::Box;
use core::error::Error;

use crate::{Border, Id, Id53, Kind, StoredRaw, Typed};

/// [`for_all_ids`](super::for_all_ids) for [`Id53`] too, which is a number in columns as others are.
macro_rules! for_columns {
    ($($(#[$attribute:meta])* impl[$($parameters:tt)*] $trait:path $(where [$($bounds:tt)*])? { $($body:tt)* })+) => {
        $(
            $crate::integrations::for_all_ids! {
                $(#[$attribute])* impl[$($parameters)*] $trait $(where [$($bounds)*])? { $($body)* }
            }

            $(#[$attribute])*
            impl<$($parameters)* K: $crate::Kind> $trait for $crate::Id53<K> $(where $($bounds)*)? { $($body)* }
        )+
    };
}
pub(super) use for_columns;

/// Why a number is no id of a column: a cipher is missing, or it is out of range.
pub(super) type ColumnError = Box<dyn Error + Send + Sync>;

/// Conversion of an id from and to the number in a column. The clients' traits are implemented through that of `i64`.
pub(super) trait Column: Sized {
    /// Borrowed, because diesel writes nothing else.
    fn column(&self) -> &i64;

    fn of_column(number: i64) -> Result<Self, ColumnError>;
}

impl Column for Id {
    fn column(&self) -> &i64 {
        &self.0
    }

    fn of_column(number: i64) -> Result<Self, ColumnError> {
        Ok(Self::from_i64(number))
    }
}

impl<K: Kind> Column for Typed<K> {
    fn column(&self) -> &i64 {
        &self.id.0
    }

    fn of_column(number: i64) -> Result<Self, ColumnError> {
        Ok(Self::from_i64(number))
    }
}

impl<K: Kind> Column for Id53<K> {
    fn column(&self) -> &i64 {
        &self.0.id.0
    }

    fn of_column(number: i64) -> Result<Self, ColumnError> {
        Ok(Self::try_from(number)?)
    }
}

impl<K: Border> Column for StoredRaw<K> {
    fn column(&self) -> &i64 {
        &self.raw
    }

    fn of_column(number: i64) -> Result<Self, ColumnError> {
        Ok(Self::from_raw(number)?)
    }
}
