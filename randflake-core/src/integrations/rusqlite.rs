//! `rusqlite`: ids in an `INTEGER` column of SQLite.

extern crate alloc;

use alloc::boxed::Box;

use ::rusqlite::Result;
use ::rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::{Id, IdError, Kind, StoredPlain, StoredRaw};

/// Writes the id as an `i64`.
impl<K: Kind> ToSql for Id<K> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        self.bits.to_sql()
    }
}

/// Reads the id from an `i64`.
impl<K: Kind> FromSql for Id<K> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let id = Id::from_i64(i64::column_result(value)?);
        id.try_typed().map_err(refused)
    }
}

/// Writes the raw number as an `i64`.
impl<K: StoredPlain> ToSql for StoredRaw<K> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        self.raw.to_sql()
    }
}

/// Reads the raw number from an `i64`.
impl<K: StoredPlain> FromSql for StoredRaw<K> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_raw(i64::column_result(value)?).map_err(refused)
    }
}

fn refused(error: IdError) -> FromSqlError {
    FromSqlError::Other(Box::new(error))
}
