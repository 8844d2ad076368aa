//! What kinds of ids cost as primary keys: rows with each are inserted into a PostgreSQL table, until
//! they are on disk.
//!
//! `cargo xtask bench index` runs it. The kinds take turns, a tenth of the rows each, in another order each round, so that a machine that
//! is busy for a while is so for all. Times are compared by the median over the rounds of the ratio to
//! sequential ids.
//!
//! usage: `index [--rows N]`, with the folder of PostgreSQL's programs in `RANDFLAKE_POSTGRES`

mod kind;

use std::env;
use std::io::Write as _;
use std::time::Instant;

use harness::postgres::PostgresServer;
use kind::{Codecs, Kind};
use postgres::Client;

const DEFAULT_ROWS: u64 = 10_000_000;
const ROUNDS: u64 = 10;
/// Rows of one transaction, which is on disk when it ends.
const BATCH: u64 = 10_000;
/// What a row has beside its id.
const PAYLOAD: &str = "\t42\tsome fifty characters that every row of it has\n";

const SETTINGS: [&str; 7] = [
    "server_version",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
];

/// What one kind cost.
#[derive(Default)]
struct Cost {
    seconds: Vec<f64>,
    wal_bytes: i64,
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let option = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1)
    };
    let rows = option("--rows").map_or(DEFAULT_ROWS, |rows| rows.parse().expect("--rows N"));
    let server = PostgresServer::start();
    let mut client = server.client("postgres");
    for setting in SETTINGS {
        let value: String = query_one(&mut client, &format!("SHOW {setting}"));
        println!("# {setting} = {value}");
    }
    create(&mut client);
    let costs = insert(&mut client, rows);
    report(&mut client, rows, &costs);
}

fn create(client: &mut Client) {
    for kind in Kind::ALL {
        let (name, column) = (kind.name(), kind.column());
        let table =
            format!("CREATE TABLE {name} (id {column} PRIMARY KEY, customer int, note text)");
        client.batch_execute(&table).expect("a table");
    }
}

fn insert(client: &mut Client, rows: u64) -> [Cost; Kind::ALL.len()] {
    let codecs = Codecs::new();
    let mut costs = [(); Kind::ALL.len()].map(|()| Cost::default());
    let of_round = rows / ROUNDS;
    for round in 0..ROUNDS {
        for turn in 0..Kind::ALL.len() {
            let index = (turn + usize::try_from(round).unwrap_or(0)) % Kind::ALL.len();
            let (kind, cost) = (Kind::ALL[index], &mut costs[index]);
            let before = wal_bytes(client);
            let seconds = insert_round(client, kind, &codecs, round * of_round, of_round);
            cost.wal_bytes += wal_bytes(client) - before;
            cost.seconds.push(seconds);
            eprintln!("round {round}: {} {seconds:.1} s", kind.name());
        }
    }
    costs
}

/// Inserts some rows of a kind and writes all to the disk; making the ids does not count.
fn insert_round(client: &mut Client, kind: Kind, codecs: &Codecs, first: u64, rows: u64) -> f64 {
    let copy = format!("COPY {} FROM STDIN", kind.name());
    let mut seconds = 0.0;
    let mut text = String::new();
    let mut row = first;
    while row < first + rows {
        text.clear();
        let end = (row + BATCH).min(first + rows);
        for row in row..end {
            kind.write(codecs, row, &mut text);
            text.push_str(PAYLOAD);
        }
        row = end;
        let started = Instant::now();
        let mut writer = client.copy_in(&copy).expect("a copy");
        writer.write_all(text.as_bytes()).expect("rows");
        writer.finish().expect("a commit");
        seconds += started.elapsed().as_secs_f64();
    }
    let started = Instant::now();
    client.batch_execute("CHECKPOINT").expect("a checkpoint");
    seconds + started.elapsed().as_secs_f64()
}

fn report(client: &mut Client, rows: u64, costs: &[Cost; Kind::ALL.len()]) {
    client
        .batch_execute("CREATE EXTENSION pgstattuple")
        .expect("PostgreSQL's contributed modules");
    println!(
        "# rows = {rows}, in transactions of {BATCH}; {ROUNDS} rounds, a checkpoint after each"
    );
    println!("# times_sequential: the median over the rounds of the ratio to sequential ids");
    println!(
        "kind,insert_s,times_sequential,wal_mb,index_mb,index_bytes_per_row,leaf_density_percent,table_mb"
    );
    let baseline = &costs[0].seconds;
    for (kind, cost) in Kind::ALL.into_iter().zip(costs) {
        let name = kind.name();
        let mut ratios: Vec<f64> = cost
            .seconds
            .iter()
            .zip(baseline)
            .map(|(a, b)| a / b)
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let middle = ratios.len() / 2;
        let median = f64::midpoint(ratios[middle - 1], ratios[middle]);
        let index: i64 = query_one(client, &format!("SELECT pg_relation_size('{name}_pkey')"));
        let table: i64 = query_one(client, &format!("SELECT pg_relation_size('{name}')"));
        let density = format!("SELECT avg_leaf_density FROM pgstatindex('{name}_pkey')");
        let density: f64 = query_one(client, &density);
        let total: f64 = cost.seconds.iter().sum();
        println!(
            "{name},{total:.1},{median:.2},{:.0},{:.0},{:.1},{density:.1},{:.0}",
            mb(cost.wal_bytes),
            mb(index),
            bytes_per_row(index, rows),
            mb(table)
        );
    }
}

fn wal_bytes(client: &mut Client) -> i64 {
    query_one(
        client,
        "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint",
    )
}

fn query_one<T: for<'a> postgres::types::FromSql<'a>>(client: &mut Client, query: &str) -> T {
    client.query_one(query, &[]).expect(query).get(0)
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn mb(bytes: i64) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn bytes_per_row(bytes: i64, rows: u64) -> f64 {
    bytes as f64 / rows as f64
}
