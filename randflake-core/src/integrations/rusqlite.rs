//! `rusqlite`: ids in an `INTEGER` column of SQLite.

use ::rusqlite::Result;
use ::rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::column::{Column as _, for_columns};

for_columns! {
    /// Writes the id as an `i64`.
    impl[] ToSql {
        fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
            self.column().to_sql()
        }
    }

    /// Reads the id from an `i64`.
    impl[] FromSql {
        fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
            let number = i64::column_result(value)?;
            Self::of_column(number).map_err(FromSqlError::Other)
        }
    }
}
