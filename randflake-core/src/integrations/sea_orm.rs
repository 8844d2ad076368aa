//! `sea-orm`: a `BigInteger` of PostgreSQL, MySQL and SQLite.

extern crate alloc;

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};

use ::sea_orm::sea_query::{ArrayType, ColumnType, Nullable, ValueType, ValueTypeErr};
use ::sea_orm::{
    ActiveValue, ColIdx, DbErr, IntoActiveValue, QueryResult, TryFromU64, TryGetError, TryGetable,
    Value,
};

use crate::{Id, IdError, Kind, StoredPlain, StoredRaw};

impl<K> From<Id<K>> for Value {
    fn from(id: Id<K>) -> Self {
        id.bits.into()
    }
}

/// The column type of an `i64`.
impl<K: Kind> ValueType for Id<K> {
    fn try_from(value: Value) -> Result<Self, ValueTypeErr> {
        let number = <i64 as ValueType>::try_from(value)?;
        // The reason, an id of over 53 bits, does not fit this type; `TryGetable` below says it.
        Id::from_i64(number).try_typed().map_err(|_| ValueTypeErr)
    }

    fn type_name() -> String {
        K::NAME.to_owned()
    }

    fn array_type() -> ArrayType {
        <i64 as ValueType>::array_type()
    }

    fn column_type() -> ColumnType {
        <i64 as ValueType>::column_type()
    }
}

/// The column type of an `i64`.
impl<K: Kind> Nullable for Id<K> {
    fn null() -> Value {
        i64::null()
    }
}

/// Reads the id from an `i64`.
impl<K: Kind> TryGetable for Id<K> {
    fn try_get_by<I: ColIdx>(row: &QueryResult, column: I) -> Result<Self, TryGetError> {
        let id = Id::from_i64(i64::try_get_by(row, column)?);
        Ok(id.try_typed().map_err(refused)?)
    }
}

/// From what MySQL and SQLite report as the id of the last row.
// sea-orm asks for this of every primary key, whatever the database.
impl<K: Kind> TryFromU64 for Id<K> {
    fn try_from_u64(number: u64) -> Result<Self, DbErr> {
        Id::from_u64(number).try_typed().map_err(refused)
    }
}

/// Set to this id.
impl<K: Kind> IntoActiveValue<Self> for Id<K> {
    fn into_active_value(self) -> ActiveValue<Self> {
        ActiveValue::Set(self)
    }
}

impl<K> From<StoredRaw<K>> for Value {
    fn from(id: StoredRaw<K>) -> Self {
        id.raw.into()
    }
}

/// The column type of an `i64`.
impl<K: StoredPlain> ValueType for StoredRaw<K> {
    fn try_from(value: Value) -> Result<Self, ValueTypeErr> {
        let number = <i64 as ValueType>::try_from(value)?;
        // As above: `TryGetable` says that the cipher is missing.
        Self::from_raw(number).map_err(|_| ValueTypeErr)
    }

    fn type_name() -> String {
        K::NAME.to_owned()
    }

    fn array_type() -> ArrayType {
        <i64 as ValueType>::array_type()
    }

    fn column_type() -> ColumnType {
        <i64 as ValueType>::column_type()
    }
}

/// The column type of an `i64`.
impl<K: StoredPlain> Nullable for StoredRaw<K> {
    fn null() -> Value {
        i64::null()
    }
}

/// Reads the raw number from an `i64`.
impl<K: StoredPlain> TryGetable for StoredRaw<K> {
    fn try_get_by<I: ColIdx>(row: &QueryResult, column: I) -> Result<Self, TryGetError> {
        Ok(Self::from_raw(i64::try_get_by(row, column)?).map_err(refused)?)
    }
}

/// From what MySQL and SQLite report as the id of the last row.
impl<K: StoredPlain> TryFromU64 for StoredRaw<K> {
    fn try_from_u64(number: u64) -> Result<Self, DbErr> {
        Self::from_raw(number.cast_signed()).map_err(refused)
    }
}

/// Set to this id.
impl<K: StoredPlain> IntoActiveValue<Self> for StoredRaw<K> {
    fn into_active_value(self) -> ActiveValue<Self> {
        ActiveValue::Set(self)
    }
}

fn refused(error: IdError) -> DbErr {
    DbErr::Type(error.to_string())
}
