//! What the server says of itself.

use super::session::Session;
use crate::lease::Finding;
use crate::lease::database::{Failure, whole_pages};
use crate::ledger::VERSION;

const QUESTION: &str = "
    SELECT VERSION(), CAST(@@GLOBAL.innodb_flush_log_at_trx_commit AS CHAR),
        CONCAT(@@GLOBAL.sync_binlog, IF(@@GLOBAL.log_bin, '', ', unused: log_bin is off')),
        CAST(@@GLOBAL.innodb_doublewrite AS CHAR), ";

pub(super) async fn findings(session: &mut Session) -> Result<Vec<Finding>, Failure> {
    let question = format!("{QUESTION}{}", session.known);
    let (server, flushes, syncs, doublewrite, fingerprint): (
        String,
        String,
        String,
        String,
        String,
    ) = session.one(&question).await?;
    let once = |name, value: String| match &*value {
        "1" => Finding::fine(name, value),
        unused if unused.contains("unused") => Finding::fine(name, value),
        _ => Finding::wrong(name, value, "a crash loses answered leases: set it to 1"),
    };
    let settings = [
        once("innodb_flush_log_at_trx_commit", flushes),
        once("sync_binlog", syncs),
        whole_pages("innodb_doublewrite", doublewrite, &["0", "OFF"]),
    ];
    let failover =
        "a promoted replica is in quarantine, but the former primary must be down before";
    let failover = Finding::caution("failover", "not known here", failover);
    Ok(Finding::of_a_store(
        server,
        VERSION,
        settings,
        fingerprint,
        Some(failover),
    ))
}
