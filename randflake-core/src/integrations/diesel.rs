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
