//! `tokio-postgres` and `postgres`: an `int8`.

extern crate alloc;

use alloc::boxed::Box;
use core::error::Error;

use ::postgres_types::private::BytesMut;
use ::postgres_types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::column::{Column as _, for_columns};

for_columns! {
    /// Writes the id as an `i64`.
    impl[] ToSql {
        fn to_sql(
            &self,
            column: &Type,
            out: &mut BytesMut,
        ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
            self.column().to_sql(column, out)
        }

        // As `i64` does: an id goes into `int8` columns only.
        fn accepts(column: &Type) -> bool {
            <i64 as ToSql>::accepts(column)
        }

        to_sql_checked!();
    }

    /// Reads the id from an `i64`.
    impl['a,] FromSql<'a> {
        fn from_sql(column: &Type, value: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
            Self::of_column(i64::from_sql(column, value)?)
        }

        fn accepts(column: &Type) -> bool {
            <i64 as FromSql<'_>>::accepts(column)
        }
    }
}
