//! `sea-orm`: a `BigInteger` of PostgreSQL, MySQL and SQLite.

extern crate alloc;

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};

use ::sea_orm::sea_query::{ArrayType, ColumnType, Nullable, ValueType, ValueTypeErr};
use ::sea_orm::{
    ActiveValue, ColIdx, DbErr, IntoActiveValue, QueryResult, TryFromU64, TryGetError, TryGetable,
    Value,
};

use super::IdForm;
use super::column::{Column, for_columns};
use crate::{Border, Id, Id53, Kind, StoredRaw, Typed};

impl From<Id> for Value {
    fn from(id: Id) -> Self {
        (*id.column()).into()
    }
}

impl<K: Kind> From<Typed<K>> for Value {
    fn from(id: Typed<K>) -> Self {
        (*id.column()).into()
    }
}

impl<K: Kind> From<Id53<K>> for Value {
    fn from(id: Id53<K>) -> Self {
        (*id.column()).into()
    }
}

impl<K: Border> From<StoredRaw<K>> for Value {
    fn from(id: StoredRaw<K>) -> Self {
        (*id.column()).into()
    }
}

for_columns! {
    /// The column type of an `i64`.
    impl[] ValueType {
        fn try_from(value: Value) -> Result<Self, ValueTypeErr> {
            let number = <i64 as ValueType>::try_from(value)?;
            // The reason, a missing cipher, does not fit this type; `TryGetable` below says it.
            Self::of_column(number).map_err(|_| ValueTypeErr)
        }

        fn type_name() -> String {
            Self::NAME.to_owned()
        }

        fn array_type() -> ArrayType {
            <i64 as ValueType>::array_type()
        }

        fn column_type() -> ColumnType {
            <i64 as ValueType>::column_type()
        }
    }

    /// The column type of an `i64`.
    impl[] Nullable {
        fn null() -> Value {
            i64::null()
        }
    }

    /// Reads the id from an `i64`.
    impl[] TryGetable {
        fn try_get_by<I: ColIdx>(row: &QueryResult, column: I) -> Result<Self, TryGetError> {
            let number = i64::try_get_by(row, column)?;
            Ok(read(number)?)
        }
    }

    /// From what MySQL and SQLite report as the id of the last row.
    // sea-orm asks for this of every primary key, whatever the database.
    impl[] TryFromU64 {
        fn try_from_u64(number: u64) -> Result<Self, DbErr> {
            read(number.cast_signed())
        }
    }

    /// Set to this id.
    impl[] IntoActiveValue<Self> {
        fn into_active_value(self) -> ActiveValue<Self> {
            ActiveValue::Set(self)
        }
    }
}

fn read<C: Column>(number: i64) -> Result<C, DbErr> {
    C::of_column(number).map_err(|error| DbErr::Type(error.to_string()))
}
