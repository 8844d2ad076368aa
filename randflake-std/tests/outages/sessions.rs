//! The sessions of clients are ended again and again, as an administrator or a proxy ends them.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use harness::engine::ServerEngine;
use harness::mariadb::{MariadbServer, with_database};
use harness::postgres::PostgresServer;
use libtest_mimic::Trial;

use crate::clients::{Clients, SHORT, open};
use crate::trial;

const CLIENTS: usize = 4;
const ROUNDS: usize = 100;
/// Long enough for some answers.
const PAUSE: Duration = Duration::from_millis(30);
const ANSWERS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn trials() -> [Trial; 2] {
    [
        trial("postgres::sessions_are_terminated_in_a_loop", || {
            let server = PostgresServer::start();
            let mut administrator = server.client("postgres");
            nothing_is_lost(&server, || {
                let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
                administrator.query(end, &[]).unwrap().len()
            });
        }),
        trial("mariadb::sessions_are_terminated_in_a_loop", || {
            let server = with_database(MariadbServer::start());
            let mut administrator = server.client(None);
            nothing_is_lost(&server, || {
                let others = "SELECT id FROM information_schema.processlist
                    WHERE id <> CONNECTION_ID() AND user = 'root'";
                let others: Vec<u64> = administrator.query(others).unwrap();
                for other in &others {
                    // It may have ended meanwhile.
                    drop(administrator.query_drop(format!("KILL {other}")));
                }
                others.len()
            });
        }),
    ]
}

fn nothing_is_lost(engine: &impl ServerEngine, mut end_sessions: impl FnMut() -> usize) {
    let mut clients = Clients::new(&vec![engine.url(); CLIENTS], SHORT);
    clients.work_while(CLIENTS, |ledger| {
        // On a busy machine a client may not have begun another by the next round.
        let begun = Instant::now();
        let (mut rounds, mut ended) = (0, 0);
        while rounds < ROUNDS || ended < ROUNDS {
            assert!(begun.elapsed() < PATIENCE, "{ended} sessions ended");
            thread::sleep(PAUSE);
            ended += end_sessions();
            rounds += 1;
        }
        ledger.after(ANSWERS, |_| {});
    });
    let kept = open(&engine.url()).unwrap().list().unwrap();
    assert_eq!(clients.ledger().lost(&kept), []);
}
