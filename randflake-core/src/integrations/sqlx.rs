//! `sqlx`: a `bigint` of PostgreSQL, MySQL and SQLite, and a `bigint[]` of PostgreSQL.

use ::sqlx::encode::IsNull;
use ::sqlx::error::BoxDynError;
use ::sqlx::postgres::{PgHasArrayType, PgTypeInfo};
use ::sqlx::{Database, Decode, Encode, Type};

use crate::{Id, Kind, StoredPlain, StoredRaw};

/// The column type of an `i64`.
impl<DB: Database, K: Kind> Type<DB> for Id<K>
where
    i64: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <i64 as Type<DB>>::type_info()
    }

    fn compatible(found: &DB::TypeInfo) -> bool {
        <i64 as Type<DB>>::compatible(found)
    }
}

/// Writes the id as an `i64`.
impl<'q, DB: Database, K: Kind> Encode<'q, DB> for Id<K>
where
    i64: Encode<'q, DB>,
{
    fn encode_by_ref(&self, buffer: &mut DB::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
        self.bits.encode_by_ref(buffer)
    }
}

/// Reads the id from an `i64`.
impl<'r, DB: Database, K: Kind> Decode<'r, DB> for Id<K>
where
    i64: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Id::from_i64(i64::decode(value)?).try_typed()?)
    }
}

/// The array type of an `i64`.
impl<K: Kind> PgHasArrayType for Id<K> {
    fn array_type_info() -> PgTypeInfo {
        i64::array_type_info()
    }

    fn array_compatible(found: &PgTypeInfo) -> bool {
        i64::array_compatible(found)
    }
}

/// The column type of an `i64`.
impl<DB: Database, K: StoredPlain> Type<DB> for StoredRaw<K>
where
    i64: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <i64 as Type<DB>>::type_info()
    }

    fn compatible(found: &DB::TypeInfo) -> bool {
        <i64 as Type<DB>>::compatible(found)
    }
}

/// Writes the raw number as an `i64`.
impl<'q, DB: Database, K: StoredPlain> Encode<'q, DB> for StoredRaw<K>
where
    i64: Encode<'q, DB>,
{
    fn encode_by_ref(&self, buffer: &mut DB::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
        self.raw.encode_by_ref(buffer)
    }
}

/// Reads the raw number from an `i64`.
impl<'r, DB: Database, K: StoredPlain> Decode<'r, DB> for StoredRaw<K>
where
    i64: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self::from_raw(i64::decode(value)?)?)
    }
}

/// The array type of an `i64`.
impl<K: StoredPlain> PgHasArrayType for StoredRaw<K> {
    fn array_type_info() -> PgTypeInfo {
        i64::array_type_info()
    }

    fn array_compatible(found: &PgTypeInfo) -> bool {
        i64::array_compatible(found)
    }
}
