//! What the server says of itself.

use tokio_postgres::Client;

use crate::lease::Finding;
use crate::lease::database::{Failure, whole_pages};
use crate::ledger::VERSION;

const QUESTION: &str = "
    SELECT current_setting('server_version'), current_setting('synchronous_commit'),
        (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), current_setting('fsync'),
        current_setting('full_page_writes'), current_setting('synchronous_standby_names')";

pub(super) async fn findings(client: &Client, fingerprint: &str) -> Result<Vec<Finding>, Failure> {
    let row = client.query_typed_one(QUESTION, &[]).await?;
    let text = |column| row.try_get::<usize, String>(column);
    let synchronous_commit = match (text(1)?, text(2)?) {
        (set, unless_set) if set == unless_set => set,
        (set, unless_set) => format!("{set} for the store, {unless_set} for others"),
    };
    let (fsync, pages) = (text(3)?, text(4)?);
    let standbys = text(5)?;
    let failover = if standbys.is_empty() {
        let sentence =
            "a promoted standby begins in quarantine, but the former primary must be down before";
        Finding::caution("failover", "asynchronous", sentence)
    } else {
        Finding::fine("failover", format!("synchronous: {standbys}"))
    };
    let settings = [
        Finding::fine("synchronous_commit", synchronous_commit),
        Finding::fine("fsync", fsync),
        whole_pages("full_page_writes", pages, &["off"]),
    ];
    let server = format!("PostgreSQL {}", text(0)?);
    Ok(Finding::of_a_store(
        server,
        VERSION,
        settings,
        fingerprint,
        Some(failover),
    ))
}
