//! What the server says of itself.

use super::server::never_syncs;
use super::session::MysqlSession;
use super::sql::Sql;
use randflake_lease::Finding;
use randflake_sql::{DatabaseFailure, TABLES, emptied, whole_pages};

const QUESTION: &str = "
    SELECT VERSION(), @@GLOBAL.innodb_flush_log_at_trx_commit,
        CONCAT(@@GLOBAL.sync_binlog, IF(@@GLOBAL.log_bin, '', ', unused: log_bin is off')),
        @@GLOBAL.innodb_doublewrite, @@GLOBAL.innodb_flush_method,
        CONCAT(@@binlog_format, IF(@@GLOBAL.log_bin, '', ', unused: log_bin is off')), ";

pub(crate) async fn findings(session: &mut MysqlSession) -> Result<Vec<Finding>, DatabaseFailure> {
    let question = Sql::new(QUESTION, &[]).with(session.fixed.known, &[]);
    let row = session.row(question).await?.unwrap_or_default();
    let row: [String; 7] = row.try_into().map_err(|_| emptied())?;
    let [
        server,
        flushes,
        syncs,
        doublewrite,
        method,
        binlog,
        fingerprint,
    ] = row;
    // Any other value writes the log once a second, or leaves that to the operating system.
    let once = |name, value: String| match &*value {
        "1" => Finding::fine(name, value),
        // Without a binary log, `sync_binlog` has no effect.
        unused if unused.contains("unused") => Finding::fine(name, value),
        _ => Finding::wrong(name, value, "a crash loses answered leases: set it to 1"),
    };
    // DETECT_ONLY notes which pages were written, and has no copy to mend them from.
    let is_whole = !matches!(&*doublewrite, "0" | "OFF" | "DETECT_ONLY");
    let settings = [
        once("innodb_flush_log_at_trx_commit", flushes),
        once("sync_binlog", syncs),
        whole_pages("innodb_doublewrite", doublewrite, is_whole),
        if never_syncs(&method) {
            let sentence = "a crash loses answered leases: set it to fsync or O_DIRECT";
            Finding::wrong("innodb_flush_method", method, sentence)
        } else {
            Finding::fine("innodb_flush_method", method)
        },
        if binlog == "STATEMENT" {
            let sentence = "the server refuses every write of the store: set it to MIXED or ROW";
            Finding::wrong("binlog_format", binlog, sentence)
        } else {
            Finding::fine("binlog_format", binlog)
        },
    ];
    let sentence =
        "a promoted replica is in quarantine, but the former primary must be down before";
    let failover = Some(Finding::caution("failover", "not known here", sentence));
    Ok(Finding::of_a_store(
        server,
        TABLES,
        settings,
        fingerprint,
        failover,
    ))
}
