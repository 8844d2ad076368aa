//! `tokio-postgres` and `postgres`: an `int8`.

extern crate alloc;

use alloc::boxed::Box;
use core::error::Error;

use ::postgres_types::private::BytesMut;
use ::postgres_types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::{Id, Kind, StoredPlain, StoredRaw};

type Result<T> = core::result::Result<T, Box<dyn Error + Sync + Send>>;

/// Writes the id as an `i64`.
impl<K: Kind> ToSql for Id<K> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull> {
        self.bits.to_sql(column, out)
    }

    // As `i64` does: an id goes into `int8` columns only.
    fn accepts(column: &Type) -> bool {
        <i64 as ToSql>::accepts(column)
    }

    to_sql_checked!();
}

/// Reads the id from an `i64`.
impl<'a, K: Kind> FromSql<'a> for Id<K> {
    fn from_sql(column: &Type, value: &'a [u8]) -> Result<Self> {
        Ok(Id::from_i64(i64::from_sql(column, value)?).try_typed()?)
    }

    fn accepts(column: &Type) -> bool {
        <i64 as FromSql<'_>>::accepts(column)
    }
}

/// Writes the raw number as an `i64`.
impl<K: StoredPlain> ToSql for StoredRaw<K> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull> {
        self.raw.to_sql(column, out)
    }

    fn accepts(column: &Type) -> bool {
        <i64 as ToSql>::accepts(column)
    }

    to_sql_checked!();
}

/// Reads the raw number from an `i64`.
impl<'a, K: StoredPlain> FromSql<'a> for StoredRaw<K> {
    fn from_sql(column: &Type, value: &'a [u8]) -> Result<Self> {
        Ok(Self::from_raw(i64::from_sql(column, value)?)?)
    }

    fn accepts(column: &Type) -> bool {
        <i64 as FromSql<'_>>::accepts(column)
    }
}
