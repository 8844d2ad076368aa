//! The counter of one namespace: each operation is a call of a procedure in `schema.sql`.

use mysql_async::Row;

use super::MysqlStore;
use super::failure::Failure;
use super::operations::{call, only};
use super::session::Session;
use crate::lease::StoreError;
use crate::lease::database::sql;
use crate::segment::{CounterStatus, Segment, SegmentStore};

/// Reserves so many numbers, where there are as many and the counter is not lost; none is a look.
/// Gives where the counter stood before.
async fn reserve(session: &mut Session, count: u64) -> Result<CounterStatus, Failure> {
    let parameters = (session.row, sql(count));
    let reserve = "CALL randflake_reserve(?, ?)";
    let (rows, _): (_, Vec<Row>) = call(session, reserve, parameters).await?;
    let (next, lost) = only(rows)?;
    Ok(CounterStatus { next, lost })
}

async fn resume(session: &mut Session, from: u64) -> Result<u64, Failure> {
    let parameters = (session.row, sql(from));
    let (rows, _): (_, Vec<Row>) = call(session, "CALL randflake_resume(?, ?)", parameters).await?;
    let (next,) = only(rows)?;
    Ok(next)
}

impl SegmentStore for MysqlStore {
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
        self.operate(0, async |session| resume(session, from).await)
    }
}
