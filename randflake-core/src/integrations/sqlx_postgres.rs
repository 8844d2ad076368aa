//! `sqlx`: a `bigint[]` of PostgreSQL.

use ::sqlx::postgres::{PgHasArrayType, PgTypeInfo};

use super::column::for_columns;

for_columns! {
    /// The array type of an `i64`.
    impl[] PgHasArrayType {
        fn array_type_info() -> PgTypeInfo {
            i64::array_type_info()
        }

        fn array_compatible(found: &PgTypeInfo) -> bool {
            i64::array_compatible(found)
        }
    }
}
