//! State of a `MySQL` or `MariaDB` server: what the continuity of its tables rests on.

use super::statements::{KNOWN_BY_ID, KNOWN_BY_UUID};
use randflake_lease::EngineError;
use randflake_sql::{DatabaseFailure, ServerState};

/// What does not change while a server runs.
#[derive(Debug)]
pub(crate) struct FixedSettings {
    /// As SQL, what server and table are known by: the server's own number, or that by which
    /// replication tells servers apart; the time at which the table's definition came onto its
    /// disk; and the table's mark.
    pub(crate) known: &'static str,
    /// The `innodb_flush_method` by which the server's files are not synced.
    pub(crate) unsynced: Option<String>,
}

impl FixedSettings {
    /// The variables that are asked for.
    pub(crate) const QUESTION: &str =
        "SHOW GLOBAL VARIABLES WHERE variable_name IN ('server_uuid', 'innodb_flush_method')";

    /// Takes the rows of the answer: names and values.
    pub(crate) fn of(rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut settings = Self {
            // `MariaDB` has no `server_uuid`.
            known: KNOWN_BY_ID,
            unsynced: None,
        };
        for row in rows {
            match &*row {
                [name, _] if name == "server_uuid" => settings.known = KNOWN_BY_UUID,
                [_, method] if never_syncs(method) => settings.unsynced = Some(method.clone()),
                _ => {}
            }
        }
        settings
    }

    /// The state of a server in the columns of a look, of which the last two are of MySQL alone:
    /// what was marked last, and whether the server is read-only.
    pub(crate) fn state(
        &self,
        columns: Option<Vec<String>>,
    ) -> Result<Option<MarkedState>, DatabaseFailure> {
        let Some(mut columns) = columns else {
            return Ok(None);
        };
        let read_only = columns.pop();
        let marked = columns.pop();
        let is_marked = marked.as_ref() == columns.get(KNOWN);
        // A statement that only reads would succeed on a replica, with old leases.
        if read_only.is_some_and(|value| value != "0" && value != "OFF") {
            // Of the connection: after a failover, the server's name may lead a new one to the new
            // primary.
            let why = "the server is read-only, as replicas are, and cannot grant anything";
            return Err(DatabaseFailure::of_the_connection(
                EngineError::unavailable(why),
            ));
        }
        // The statement compares the session itself, and answers 1 or 0.
        // A pooler gives each statement another session: the variable of this one is missing there.
        let mut state = ServerState::of(columns, "1");
        if let (Some(method), Some(state)) = (&self.unsynced, &mut state) {
            state.fault = Some(format!(
                "innodb_flush_method={method}: set it to fsync or O_DIRECT, and restart the server"
            ));
        }
        Ok(state.map(|state| MarkedState { state, is_marked }))
    }
}

/// Place of what is known among the columns of a look.
const KNOWN: usize = 3;

/// State of a server.
#[derive(Debug)]
pub(crate) struct MarkedState {
    pub(crate) state: ServerState,
    /// Whether the table of records is the one that was marked last, on the server where it was.
    pub(crate) is_marked: bool,
}

/// Whether an `innodb_flush_method` leaves out the waits for the disk that an answered write needs.
pub(crate) fn never_syncs(method: &str) -> bool {
    ["nosync", "littlesync"].contains(&&*method.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn settings(rows: &[[&str; 2]]) -> FixedSettings {
        FixedSettings::of(rows.iter().map(|texts| row(texts)))
    }

    const UUID: [&str; 2] = ["server_uuid", "a1b2c3d4-0000-11f0-8000-0242ac120002"];

    #[test]
    fn a_server_is_known_by_its_uuid_or_else_its_id() {
        let mysql = settings(&[["innodb_flush_method", "fsync"], UUID]);
        assert_eq!((mysql.known, mysql.unsynced), (KNOWN_BY_UUID, None));
        let mariadb = settings(&[["innodb_flush_method", "O_DIRECT"]]);
        assert_eq!((mariadb.known, mariadb.unsynced), (KNOWN_BY_ID, None));
    }

    #[test]
    fn a_server_that_never_syncs_is_at_fault() {
        for (method, is_fault) in [
            ("nosync", true),
            ("littlesync", true),
            ("NOSYNC", true),
            ("fsync", false),
        ] {
            let settings = settings(&[["innodb_flush_method", method], UUID]);
            let columns = row(&[
                "1",
                "1",
                "identity",
                "server",
                "tables",
                "sync_binlog=0",
                "",
                "OFF",
            ]);
            let found = settings.state(Some(columns)).unwrap().unwrap();
            let fault = found.state.fault.unwrap();
            assert_eq!(fault.contains(method), is_fault, "{fault}");
            assert_eq!(fault.contains("sync_binlog"), !is_fault, "{fault}");
        }
    }

    #[test]
    fn a_table_is_marked_while_it_is_the_one_that_was() {
        let settings = settings(&[UUID]);
        for (marked, is_marked) in [("server", true), ("another", false), ("", false)] {
            let columns = row(&["1", "1", "identity", "server", "tables", "", marked, "OFF"]);
            let found = settings.state(Some(columns)).unwrap().unwrap();
            assert_eq!(found.is_marked, is_marked, "{marked}");
        }
    }

    #[test]
    fn a_server_that_is_read_only_grants_nothing() {
        let settings = settings(&[UUID]);
        let look = |read_only| row(&["1", "1", "identity", "server", "tables", "", "", read_only]);
        for read_only in ["0", "OFF"] {
            assert!(settings.state(Some(look(read_only))).unwrap().is_some());
        }
        for read_only in ["1", "ON", "NO_LOCK"] {
            let refused = settings
                .state(Some(look(read_only)))
                .unwrap_err()
                .at("here")
                .to_string();
            assert!(refused.contains("read-only"), "{refused}");
        }
        // MariaDB and MySQL answer with all columns; without one nothing is known, and nothing
        // refused.
        assert!(settings.state(Some(Vec::new())).is_ok());
        // The table that identifies the store has no row.
        assert!(settings.state(None).unwrap().is_none());
    }
}
