//! Whose code this account is about to run: whoever may create a procedure decides what it does, and it does
//! it with the rights of whoever calls it.

use mysql_async::Row;
use mysql_async::prelude::Queryable;

use super::failure::Failure;
use super::session::{Session, read};
use crate::lease::StoreError;

/// Routines that neither this account has made nor the one that the URL names.
const ROUTINES: &str = "
    SELECT routine_name, definer FROM information_schema.routines
    WHERE routine_schema = DATABASE() AND routine_name LIKE 'randflake\\_%'
        AND CAST(definer AS BINARY) <> CAST(CURRENT_USER() AS BINARY)
        AND CAST(LEFT(definer, CHAR_LENGTH(definer) - LOCATE('@', REVERSE(definer))) AS BINARY)
            <> CAST(COALESCE(?, '') AS BINARY)
    LIMIT 1";
const TRIGGERS: &str = "
    SELECT trigger_name FROM information_schema.triggers
    WHERE event_object_schema = DATABASE() AND event_object_table LIKE 'randflake\\_%'
    LIMIT 1";

/// Refuses tables and procedures that somebody has made or changed who is not trusted. Nothing of them is
/// run.
pub(super) async fn check(session: &mut Session, owner: Option<&str>) -> Result<(), Failure> {
    let connection = &mut session.connection;
    if let Some(row) = connection.exec_first(ROUTINES, (owner,)).await? {
        let (routine, definer): (String, String) = read(row)?;
        return Err(StoreError::Unusable(format!(
            "the lease store is not trusted: its procedure {routine:?} was made by {definer:?}, who could do \
             all that this account may: name that user in the URL, owner=USER, if it is the one that made \
             the store for you"
        ))
        .into());
    }
    // A view may run functions, with the rights of whoever looks.
    let tables: Vec<Row> = connection
        .query(r"SHOW TABLE STATUS LIKE 'randflake\_%'")
        .await?;
    for table in tables {
        let text = |column| table.get::<Option<String>, _>(column).flatten();
        if text(1).as_deref() != Some("InnoDB") {
            let name = text(0).unwrap_or_default();
            return Err(changed(&format!("{name:?} is no table of InnoDB")));
        }
    }
    match connection.query_first::<String, _>(TRIGGERS).await? {
        Some(trigger) => Err(changed(&format!("it has a trigger {trigger:?}"))),
        None => Ok(()),
    }
}

fn changed(how: &str) -> Failure {
    let why = format!("the lease store was changed: {how}, which no randflake has made: remove it");
    StoreError::Unusable(why).into()
}
