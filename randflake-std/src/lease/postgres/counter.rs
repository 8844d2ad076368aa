//! The counter of one namespace.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Postgres;
use super::failure::Failure;
use super::read::{fault, same};
use super::session::{damaged, number};
use super::sql;
use crate::lease::StoreError;
use crate::ledger::{Continuity, CounterBackend, CounterRecord, CounterView};

const READ: &str = "
    SELECT {head}, s.fingerprint = {fingerprint} AND {is_first} AS is_new,
        c.next, c.vouched
    FROM randflake.store s LEFT JOIN randflake.counter c ON c.name = $1";

const MAKE: &str = "
    INSERT INTO randflake.counter (name, next, vouched)
    SELECT $1, $2, $3 WHERE {fit} AND {tables} = $4
    ON CONFLICT DO NOTHING RETURNING 1";

const CHANGE: &str = "
    UPDATE randflake.counter SET next = $2, vouched = $3
    WHERE name = $1 AND next = $5 AND vouched = $6 AND {fit} AND {tables} = $4
    RETURNING 1";

fn view(row: &Row, fingerprint: String) -> Result<CounterView, Failure> {
    let record = match row.try_get::<_, Option<String>>("vouched")? {
        None => None,
        Some(vouched) => Some(CounterRecord {
            next: number(row, "next")?,
            vouched,
        }),
    };
    Ok(CounterView {
        record,
        continuity: Continuity {
            fingerprint,
            is_absence_certain: row.try_get("is_new")?,
            known_end_unix_ms: 0,
            fault: fault(row)?,
        },
    })
}

impl CounterBackend for Postgres {
    fn read_counter(&mut self) -> Result<CounterView, StoreError> {
        self.ask(0, async |session, namespace| {
            let rows = session.ask(READ, &[&namespace.name()]).await?;
            let row = rows.first().ok_or_else(|| damaged("store is empty"))?;
            view(row, same(session, row)?)
        })
    }

    fn commit_counter(
        &mut self,
        before: Option<&CounterRecord>,
        after: &CounterRecord,
    ) -> Result<bool, StoreError> {
        let written = self.tell(0, async |session, namespace| {
            let name = namespace.name();
            let (next, tables) = (sql(after.next), &session.tables);
            let rows = match before {
                None => {
                    session
                        .ask(MAKE, &[&name, &next, &after.vouched, tables])
                        .await?
                }
                Some(before) => {
                    let (known, vouched) = (sql(before.next), &before.vouched);
                    let values: [&(dyn ToSql + Sync); 6] =
                        [&name, &next, &after.vouched, tables, &known, vouched];
                    session.ask(CHANGE, &values).await?
                }
            };
            Ok(!rows.is_empty())
        })?;
        Ok(written.unwrap_or(false))
    }
}
