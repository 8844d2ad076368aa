//! What the server says of itself.

use super::session::PostgresSession;
use randflake_lease::Finding;
use randflake_sql::{DatabaseFailure, DatabaseSession as _, TABLES, whole_pages};

const QUESTION: &str = "
    SELECT 'PostgreSQL ' || current_setting('server_version'), s.setting
            || CASE WHEN s.setting <> s.reset_val THEN ' for the store, ' || s.reset_val || ' for others' ELSE '' END,
        current_setting('fsync'), current_setting('full_page_writes'), {fingerprint},
        current_setting('synchronous_standby_names')
    FROM pg_settings s WHERE s.name = 'synchronous_commit'";

pub(crate) async fn findings(
    session: &mut PostgresSession,
) -> Result<Vec<Finding>, DatabaseFailure> {
    let row = session.ask_for(QUESTION).await?;
    let [server, commit, fsync, pages, fingerprint, standbys] = row;
    let is_whole = pages == "on";
    let settings = [
        Finding::fine("synchronous_commit", commit),
        Finding::fine("fsync", fsync),
        whole_pages("full_page_writes", pages, is_whole),
    ];
    // Without a synchronous standby, a failover may lose the last answered leases.
    let failover = if standbys.is_empty() {
        let sentence =
            "a promoted standby begins in quarantine, but the former primary must be down before";
        Finding::caution("failover", "asynchronous", sentence)
    } else {
        Finding::fine("failover", format!("synchronous: {standbys}"))
    };
    Ok(Finding::of_a_store(
        server,
        TABLES,
        settings,
        fingerprint,
        Some(failover),
    ))
}
