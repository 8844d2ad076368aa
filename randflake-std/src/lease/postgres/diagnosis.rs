//! What the server says of itself.

use super::session::Session;
use crate::lease::Finding;
use crate::lease::database::Failure;
use crate::ledger::VERSION;

const QUESTION: &str = "
    SELECT current_setting('server_version') AS server,
        current_setting('synchronous_commit') AS synchronous_commit,
        (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS unless_set,
        current_setting('fsync') AS fsync,
        current_setting('full_page_writes') AS full_page_writes,
        current_setting('synchronous_standby_names') AS synchronous_standby_names";

pub(super) async fn findings(session: &Session) -> Result<Vec<Finding>, Failure> {
    let row = session.client.query_typed_one(QUESTION, &[]).await?;
    let text = |column| row.try_get::<_, String>(column);
    let synchronous_commit = match (text("synchronous_commit")?, text("unless_set")?) {
        (set, unless_set) if set == unless_set => set,
        (set, unless_set) => format!("{set} for the store, {unless_set} for others"),
    };
    let full_page_writes = match text("full_page_writes")? {
        on if on == "on" => Finding::fine("full_page_writes", on),
        off => {
            let sentence =
                "a crash keeps every lease only on a file system that never tears a page";
            Finding::caution("full_page_writes", off, sentence)
        }
    };
    let standbys = text("synchronous_standby_names")?;
    let failover = if standbys.is_empty() {
        let sentence =
            "a promoted standby begins in quarantine, but the former primary must be down before";
        Finding::caution("failover", "asynchronous", sentence)
    } else {
        Finding::fine("failover", format!("synchronous: {standbys}"))
    };
    Ok(vec![
        Finding::fine("server", format!("PostgreSQL {}", text("server")?)),
        Finding::fine("schema", format!("version {VERSION}")),
        Finding::fine("synchronous_commit", synchronous_commit),
        Finding::fine("fsync", text("fsync")?),
        full_page_writes,
        Finding::fine("fingerprint", &*session.fingerprint),
        failover,
    ])
}
