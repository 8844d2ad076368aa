//! `sqlx`: a `bigint` of PostgreSQL, MySQL and SQLite.

use ::sqlx::encode::IsNull;
use ::sqlx::error::BoxDynError;
use ::sqlx::{Database, Decode, Encode, Type};

use super::column::{Column as _, for_columns};

for_columns! {
    /// The column type of an `i64`.
    impl[DB: Database,] Type<DB> where [i64: Type<DB>] {
        fn type_info() -> DB::TypeInfo {
            <i64 as Type<DB>>::type_info()
        }

        fn compatible(found: &DB::TypeInfo) -> bool {
            <i64 as Type<DB>>::compatible(found)
        }
    }

    /// Writes the id as an `i64`.
    impl['q, DB: Database,] Encode<'q, DB> where [i64: Encode<'q, DB>] {
        fn encode_by_ref(&self, buffer: &mut DB::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
            self.column().encode_by_ref(buffer)
        }
    }

    /// Reads the id from an `i64`.
    impl['r, DB: Database,] Decode<'r, DB> where [i64: Decode<'r, DB>] {
        fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
            Self::of_column(i64::decode(value)?)
        }
    }
}
