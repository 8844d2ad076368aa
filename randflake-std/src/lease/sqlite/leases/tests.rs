//! That no statement takes longer when more is leased.

use randflake_core::ManualClock;
use rusqlite::{Params, StatementStatus, params};

use super::*;
use crate::Randflake;
use crate::lease::sqlite::{continuity, schema};
use crate::private_file::Identity;

const NODE_IDS: u64 = 131_072;
const NOW: u64 = 1_000;
const ROW: i64 = 1;

/// A namespace of which the first node ids are taken, and others were taken once, up to `used`; of
/// these the odd ones' leases ended last.
fn namespace(taken: u64, used: u64) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    schema::create(&connection).unwrap();
    let evidence = continuity::Evidence {
        path: "leases.db".as_ref(),
        identity: Identity::default(),
        marks: <_>::default(),
    };
    continuity::begin(&connection, &evidence).unwrap();
    let namespace = Namespace::of::<Randflake>("orders").unwrap();
    ensure_namespace(&connection, &namespace).unwrap();
    let fill = "
        WITH RECURSIVE node(id) AS
            (SELECT 0 WHERE ?2 > 0 UNION ALL SELECT id + 1 FROM node WHERE id + 1 < ?2)
        INSERT INTO lease
        SELECT 1, id, 0, iif(id < ?1, 2000, 500 + id % 2), 1, CAST(printf('%016d', id) AS BLOB), 1, 'holder' FROM node";
    connection
        .execute(fill, params![sql(taken), sql(used)])
        .unwrap();
    let unused = "UPDATE namespace SET unused = ?1";
    connection.execute(unused, [sql(used)]).unwrap();
    connection
}

/// How many steps SQLite's machine takes for a statement.
fn steps(connection: &Connection, sql: &str, parameters: impl Params) -> i32 {
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query(parameters).unwrap();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    statement.get_status(StatementStatus::VmStep)
}

#[test]
fn no_statement_takes_longer_when_more_is_leased() {
    let few = NODE_IDS / 1_000;
    let cases = [
        (0, 0),
        (NODE_IDS / 2, NODE_IDS),
        (NODE_IDS - few, NODE_IDS),
        (NODE_IDS, NODE_IDS),
    ];
    for (taken, used) in cases {
        let connection = namespace(taken, used);
        let token = [0_u8; 16];
        let counts = [
            steps(&connection, FREE, params![ROW, sql(NOW), 1]),
            steps(&connection, NTH_END, params![ROW, 0]),
            steps(&connection, BY_TOKEN, params![ROW, token]),
            steps(&connection, LET_GO, params![ROW, token]),
            steps(
                &connection,
                TAKE,
                named_params! {
                    ":namespace": ROW, ":node_id": 0, ":start": 2_000, ":end": 3_000,
                    ":fencing_token": 1, ":token": token, ":holder": "holder",
                },
            ),
            steps(
                &connection,
                RENEW,
                named_params! {
                    ":namespace": ROW, ":node_id": 0, ":fencing_token": 1, ":token": token,
                    ":end": 3_000, ":now": sql(NOW),
                },
            ),
            steps(
                &connection,
                RELEASE,
                named_params! {
                    ":namespace": ROW, ":node_id": 0, ":fencing_token": 1, ":token": token,
                    ":end": 3_000,
                },
            ),
        ];
        assert!(
            counts.iter().all(|&count| count < 100),
            "{taken} of {used}: {counts:?}"
        );
    }
}

#[test]
fn the_longest_ended_lease_comes_first_and_a_full_namespace_refuses() {
    let namespace_of_ids = Namespace::of::<Randflake>("orders").unwrap();
    let clock = ManualClock::at_unix_ms(namespace_of_ids.spec().unix_ms(NOW));
    let now = Moment::read(&clock, namespace_of_ids.spec()).unwrap();
    for (taken, used, expected) in [
        (0, 0, Some(0)),
        (NODE_IDS / 2 + 1, NODE_IDS, Some(NODE_IDS / 2 + 2)),
        (NODE_IDS - 1, NODE_IDS, Some(NODE_IDS - 1)),
        (NODE_IDS, NODE_IDS, None),
    ] {
        let connection = namespace(taken, used);
        let mut leases = Leases::load(&connection, &namespace_of_ids, now).unwrap();
        match (leases.free(1), expected) {
            (Ok(nodes), Some(expected)) => assert_eq!(u64::from(nodes[0].0), expected),
            (Err(Failure::Store(StoreError::Exhausted { retry_in })), None) => {
                assert_eq!(retry_in, Duration::from_secs(1_000));
            }
            (other, _) => panic!("{other:?}"),
        }
    }
}
