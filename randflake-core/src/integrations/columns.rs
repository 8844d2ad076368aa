//! Ids as columns of databases' clients: 64-bit integers.

#[cfg(feature = "diesel")]
mod diesel {
    //! `diesel`: a `BigInt` of PostgreSQL, MySQL and SQLite.

    // `::`, as this module has the crate's name.
    use ::diesel::backend::Backend;
    use ::diesel::deserialize::{self, FromSql, FromSqlRow};
    use ::diesel::expression::AsExpression;
    use ::diesel::serialize::{self, Output, ToSql};
    use ::diesel::sql_types::BigInt;

    use crate::{Id, Kind, StoredPlain, StoredRaw};

    #[derive(AsExpression, FromSqlRow)]
    #[diesel(foreign_derive, sql_type = BigInt)]
    #[expect(
        dead_code,
        reason = "only its traits are wanted, which are those of the field's type"
    )]
    struct ForId<K>(Id<K>);

    #[derive(AsExpression, FromSqlRow)]
    #[diesel(foreign_derive, sql_type = BigInt)]
    #[expect(
        dead_code,
        reason = "only its traits are wanted, which are those of the field's type"
    )]
    struct ForStoredRaw<K>(StoredRaw<K>);

    /// Writes the id as an `i64`.
    impl<DB: Backend, K: Kind> ToSql<BigInt, DB> for Id<K>
    where
        i64: ToSql<BigInt, DB>,
    {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
            self.bits.to_sql(out)
        }
    }

    /// Reads the id from an `i64`.
    impl<DB: Backend, K: Kind> FromSql<BigInt, DB> for Id<K>
    where
        i64: FromSql<BigInt, DB>,
    {
        fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
            Ok(Id::from_i64(i64::from_sql(value)?).try_typed()?)
        }
    }

    /// Writes the raw number as an `i64`.
    impl<DB: Backend, K: StoredPlain> ToSql<BigInt, DB> for StoredRaw<K>
    where
        i64: ToSql<BigInt, DB>,
    {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
            self.raw.to_sql(out)
        }
    }

    /// Reads the raw number from an `i64`.
    impl<DB: Backend, K: StoredPlain> FromSql<BigInt, DB> for StoredRaw<K>
    where
        i64: FromSql<BigInt, DB>,
    {
        fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
            Ok(Self::from_raw(i64::from_sql(value)?)?)
        }
    }
}

#[cfg(feature = "postgres-types")]
mod postgres_types {
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
}

#[cfg(feature = "rusqlite")]
mod rusqlite {
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
}

#[cfg(feature = "sea-orm")]
mod sea_orm {
    //! `sea-orm`: a `BigInteger` of PostgreSQL, MySQL and SQLite.

    extern crate alloc;

    use alloc::borrow::ToOwned;
    use alloc::string::{String, ToString};

    use ::sea_orm::sea_query::{ArrayType, ColumnType, Nullable, ValueType, ValueTypeErr};
    use ::sea_orm::{
        ActiveValue, ColIdx, DbErr, IntoActiveValue, QueryResult, TryFromU64, TryGetError,
        TryGetable, Value,
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
            // The reason, an id of over 53 bits, does not fit this type; `TryGetable` below says
            // it.
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
}

#[cfg(feature = "sqlx")]
mod sqlx {
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
}
