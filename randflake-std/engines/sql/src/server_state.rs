//! State of a server and its tables, as each operation reads and compares it.

use core::time::Duration;

use crate::driver::TextsByKey;
use crate::failure::{DatabaseFailure, pooled};
use crate::values::time;
use randflake_lease::EngineError;
use randflake_lease::unstable::engine::Continuity;
use randflake_lease::unstable::engine::Reading;

/// State of a server and of the tables, which each look reads together with the texts.
#[derive(Debug)]
pub struct ServerState {
    /// Clock of the server, as time since the Unix epoch.
    now: Duration,
    /// Whether the session that answers is the one that was set up: a pooler may have exchanged it.
    is_same_session: bool,
    /// What a copy of the database changes, and a failover does not.
    identity: String,
    /// What the server is known by, which another server does not have.
    server: String,
    /// Random number made with the tables.
    tables: String,
    /// Setting by which answered writes are lost, and what to do.
    pub fault: Option<String>,
}

impl ServerState {
    /// Takes the columns of a look: clock in microseconds, session, identity, server, tables and
    /// fault. `None` for other columns.
    #[must_use]
    pub fn of(columns: Vec<String>, session: &str) -> Option<Self> {
        let [unix_us, found, identity, server, tables, fault] = columns.try_into().ok()?;
        Some(Self {
            // 1970 is far from this machine's clock, so it is refused as such.
            now: time(unix_us.parse().unwrap_or(0)),
            is_same_session: found == session,
            identity,
            server,
            tables,
            // The statements answer an empty text if no setting is at fault.
            fault: Some(fault).filter(|fault| !fault.is_empty()),
        })
    }

    /// What the store is known by: the server and its tables.
    fn fingerprint(&self) -> String {
        // Both: a copy on another server has the same number, and tables that are made anew are on
        // the same server.
        format!("{}/{}", self.server, self.tables)
    }

    /// Whether this session sees another server, or other tables, than it was set up with.
    // Asked in PostgreSQL, where a schema can be replaced under a session.
    #[must_use]
    pub fn has_changed_from(&self, fingerprint: &str) -> bool {
        self.is_same_session && self.fingerprint() != fingerprint
    }

    /// What a rule decides from, with the texts of the same look.
    ///
    /// # Errors
    ///
    /// [`DatabaseFailure`] if another session answered, or a setting of the server loses leases.
    pub fn reading(self, texts: TextsByKey) -> Result<Reading, DatabaseFailure> {
        // First: what another session says is of no use.
        if !self.is_same_session {
            return Err(DatabaseFailure::of_the_connection(pooled()));
        }
        Ok(Reading {
            now: self.now,
            continuity: Continuity {
                fingerprint: self.fingerprint(),
                identity: self.identity,
                fault: self.fault.map(|fault| {
                    format!("the server would forget leases in a crash: it runs with {fault}")
                }),
                ..Continuity::default()
            },
            texts,
        })
    }
}

/// The tables have no row. A new connection puts one there, with another number, from which a
/// quarantine follows.
#[must_use]
pub fn emptied() -> DatabaseFailure {
    let why = "the tables of the lease store were emptied meanwhile";
    DatabaseFailure::of_the_connection(EngineError::unavailable(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL 15.14 and MySQL 8.0.43 answer.
    const POSTGRES: [&str; 6] = [
        "1767225600123456",
        "8134201166301234567",
        "database 16384 of the PostgreSQL system 7389012345678901234",
        "7389012345678901234/16384/1",
        "5577006791947779410",
        "",
    ];
    const MYSQL: [&str; 6] = [
        "1767225600123456",
        "1",
        "the database ids",
        "a1b2c3d4-0000-11f0-8000-0242ac120002/1767225599",
        "5577006791947779410",
        "",
    ];

    fn columns(of: [&str; 6], at: usize, instead: &str) -> Vec<String> {
        let mut columns = of.map(str::to_owned).to_vec();
        instead.clone_into(&mut columns[at]);
        columns
    }

    fn reading(of: [&str; 6], at: usize, instead: &str) -> Result<Reading, DatabaseFailure> {
        let state = ServerState::of(columns(of, at, instead), of[1]).unwrap();
        state.reading(TextsByKey::new())
    }

    #[test]
    fn a_store_is_known_by_its_server_and_its_tables() {
        for of in [POSTGRES, MYSQL] {
            let whole = reading(of, 5, "").unwrap();
            assert_eq!(whole.now, Duration::from_micros(1_767_225_600_123_456));
            let fingerprint = format!("{}/{}", of[3], of[4]);
            assert_eq!(whole.continuity.fingerprint, fingerprint);
            assert_eq!(whole.continuity.identity, of[2]);
            assert!(!whole.continuity.is_absence_certain && whole.continuity.fault.is_none());
            for (at, has_changed) in [(0, false), (2, false), (3, true), (4, true), (5, false)] {
                let state = ServerState::of(columns(of, at, "0"), of[1]).unwrap();
                assert_eq!(state.has_changed_from(&fingerprint), has_changed);
                let continuity = reading(of, at, "0").unwrap().continuity;
                assert_eq!(continuity.fingerprint != fingerprint, has_changed);
            }
        }
    }

    /// What it says of server and tables is of no use.
    #[test]
    fn another_session_is_refused() {
        for of in [POSTGRES, MYSQL] {
            let state = ServerState::of(columns(of, 1, ""), of[1]).unwrap();
            assert!(!state.has_changed_from("another"));
            let refused = reading(of, 1, "").unwrap_err().at("here").to_string();
            assert!(refused.contains("connection pooler"), "{refused}");
        }
    }

    #[test]
    fn a_setting_that_loses_leases_is_told() {
        let fault = reading(MYSQL, 5, "sync_binlog=0: set it")
            .unwrap()
            .continuity
            .fault;
        assert!(
            fault
                .unwrap()
                .ends_with("it runs with sync_binlog=0: set it")
        );
    }

    #[test]
    fn what_is_no_look_is_none() {
        assert!(ServerState::of(vec![String::new(); 5], "").is_none());
        assert!(ServerState::of(vec![String::new(); 7], "").is_none());
        for clock in ["", "x", "-1"] {
            assert_eq!(reading(MYSQL, 0, clock).unwrap().now, Duration::ZERO);
        }
    }
}
