//! `diesel`: a `BigInt` of PostgreSQL, MySQL and SQLite.

// `::`, as this module has the crate's name.
use ::diesel::backend::Backend;
use ::diesel::deserialize::{self, FromSql, FromSqlRow};
use ::diesel::expression::AsExpression;
use ::diesel::serialize::{self, Output, ToSql};
use ::diesel::sql_types::BigInt;

use super::column::{Column as _, for_columns};
use crate::{Id, Id53, StoredRaw, Typed};

/// Derives the traits for an id where they belong: here.
macro_rules! derive_for {
    ($($proxy:ident[$($parameter:ident)?] $id:ty),+) => {
        $(
            #[derive(AsExpression, FromSqlRow)]
            #[diesel(foreign_derive, sql_type = BigInt)]
            #[expect(dead_code, reason = "only its traits are wanted, which are those of the field's type")]
            struct $proxy$(<$parameter>)?($id);
        )+
    };
}

derive_for!(ForId[] Id, ForTyped[K] Typed<K>, ForId53[K] Id53<K>, ForStoredRaw[K] StoredRaw<K>);

for_columns! {
    /// Writes the id as an `i64`.
    impl[DB: Backend,] ToSql<BigInt, DB> where [i64: ToSql<BigInt, DB>] {
        fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
            self.column().to_sql(out)
        }
    }

    /// Reads the id from an `i64`.
    impl[DB: Backend,] FromSql<BigInt, DB> where [i64: FromSql<BigInt, DB>] {
        fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
            Self::of_column(i64::from_sql(value)?)
        }
    }
}
