//! What the server says of itself.

use super::session::Session;
use crate::lease::Finding;
use crate::lease::database::Failure;
use crate::ledger::VERSION;

pub(super) async fn findings(session: &mut Session) -> Result<Vec<Finding>, Failure> {
    let question = format!(
        "SELECT VERSION(), CAST(@@GLOBAL.innodb_flush_log_at_trx_commit AS CHAR),
            CONCAT(@@GLOBAL.sync_binlog, IF(@@GLOBAL.log_bin, '', ', unused: log_bin is off')),
            CAST(@@GLOBAL.innodb_doublewrite AS CHAR), {}",
        session.server
    );
    let (server, flushes, syncs, doublewrite, fingerprint): (
        String,
        String,
        String,
        String,
        String,
    ) = session.one(&question).await?;
    let is_safe = |value: &str, name| match value {
        "1" => Finding::fine(name, value),
        _ => Finding::wrong(name, value, "a crash loses answered leases: set it to 1"),
    };
    let syncs = if syncs.contains("unused") {
        Finding::fine("sync_binlog", syncs)
    } else {
        is_safe(&syncs, "sync_binlog")
    };
    let doublewrite = if doublewrite == "0" || doublewrite == "OFF" {
        let sentence = "a crash keeps every lease only on a file system that never tears a page";
        Finding::caution("innodb_doublewrite", doublewrite, sentence)
    } else {
        Finding::fine("innodb_doublewrite", doublewrite)
    };
    let failover =
        "a promoted replica is in quarantine, but the former primary must be down before";
    Ok(vec![
        Finding::fine("server", server),
        Finding::fine("schema", format!("version {VERSION}")),
        is_safe(&flushes, "innodb_flush_log_at_trx_commit"),
        syncs,
        doublewrite,
        Finding::fine("fingerprint", fingerprint),
        Finding::caution("failover", "not known here", failover),
    ])
}
