//! The counter of one namespace: each operation is a call of a function in `schema.sql`.

use tokio_postgres::types::Type;

use super::PostgresStore;
use super::failure::Failure;
use super::session::{Session, number};
use crate::lease::StoreError;
use crate::lease::database::sql;
use crate::segment::{CounterStatus, Segment, SegmentStore};

/// Reserves so many numbers, where there are as many and the counter is not lost; none is a look.
/// Gives where the counter stood before.
async fn reserve(session: &Session, count: u64) -> Result<CounterStatus, Failure> {
    let arguments = [
        (&session.row as _, Type::INT4),
        (&sql(count) as _, Type::INT8),
    ];
    let row = session.call("reserve", &arguments).await?;
    Ok(CounterStatus {
        next: number(&row, "next_number")?,
        lost: row.try_get("is_lost")?,
    })
}

impl SegmentStore for PostgresStore {
    fn reserve(&mut self, count: u64) -> Result<Segment, StoreError> {
        let before = self.operate(0, async |session| reserve(session, count).await)?;
        if before.lost {
            return Err(StoreError::CounterLost {
                reached: before.next,
            });
        }
        StoreError::segment(before.next, count)
    }

    fn counter(&mut self) -> Result<CounterStatus, StoreError> {
        self.operate(0, async |session| reserve(session, 0).await)
    }

    fn resume(&mut self, from: u64) -> Result<u64, StoreError> {
        StoreError::segment(from, 1)?;
        self.operate(0, async |session| {
            let arguments = [
                (&session.row as _, Type::INT4),
                (&sql(from) as _, Type::INT8),
            ];
            number(&session.call("resume", &arguments).await?, "next_number")
        })
    }
}
