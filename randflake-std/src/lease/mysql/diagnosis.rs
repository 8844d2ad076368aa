//! What the server says of itself.

use mysql_async::Row;
use mysql_async::prelude::Queryable;

use super::failure::Failure;
use super::operations::clock;
use super::session::{Session, VERSION, read};
use crate::lease::{Finding, StoreError};

const QUESTION: &str = "
    SELECT VERSION(), CAST(@@GLOBAL.innodb_flush_log_at_trx_commit AS CHAR),
        CONCAT(@@GLOBAL.sync_binlog, IF(@@GLOBAL.log_bin, '', ', unused: log_bin is off')),
        CAST(@@GLOBAL.innodb_doublewrite AS CHAR),
        CAST(GREATEST(n.fence_tick, CEIL((s.fence_until_ms - n.epoch_unix_ms) / n.tick_ms)) AS SIGNED)
    FROM randflake_store s, randflake_namespace n WHERE n.id = ?";

pub(super) async fn findings(session: &mut Session) -> Result<Vec<Finding>, Failure> {
    let unix_us = clock(session).await?;
    let now = session.moment(unix_us)?;
    let row: Option<Row> = session
        .connection
        .exec_first(QUESTION, (session.row,))
        .await?;
    let row = row.ok_or_else(|| StoreError::unavailable("an answer without a row"))?;
    let (server, flushes, syncs, doublewrite, fence_tick): (String, String, String, String, u64) =
        read(row)?;
    let fingerprint = session.fingerprint().await?.unwrap_or_default();
    let doublewrite = if doublewrite == "0" || doublewrite == "OFF" {
        let sentence = "a crash keeps every lease only on a file system that never tears a page";
        Finding::caution("innodb_doublewrite", doublewrite, sentence)
    } else {
        Finding::fine("innodb_doublewrite", doublewrite)
    };
    let failover = "a promoted replica is fenced, but the former primary must be down before";
    Ok(vec![
        Finding::fine("server", server),
        Finding::fine("schema", format!("version {VERSION}")),
        Finding::fine("innodb_flush_log_at_trx_commit", flushes),
        Finding::fine("sync_binlog", syncs),
        doublewrite,
        Finding::fine("fingerprint", fingerprint),
        Finding::fence(now.fence_left(fence_tick)),
        Finding::caution("failover", "not known here", failover),
    ])
}
