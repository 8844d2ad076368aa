//! Ids of 53 bits in PostgreSQL, MariaDB and SQLite: each column and each JSON document has all of
//! their bits.

use diesel::backend::Backend;
use diesel::deserialize::FromSql;
use diesel::sql_types::BigInt;
use postgres::{Client, NoTls};
use randflake_core::{Feistel53, Id, Id53, Permutation as _, Sparx64};
use rusqlite::Connection as SqliteConnection;
use sqlx::{Connection as _, MySqlConnection};

use crate::servers::{mariadb, postgresql};

const MAX: u64 = Id53::MAX;

/// Those at the edges, and a thousand as they are issued.
fn ids() -> Vec<Id53> {
    let cipher = Feistel53::new(Sparx64::new(&[7; 16]));
    let issued = (0..1_000).map(|raw| cipher.permute(raw));
    let edges = [0, 1, 1 << 31, 1 << 32, 1 << 52, MAX - 1, MAX];
    let numbers = edges.into_iter().chain(issued);
    numbers
        .map(|number| Id::from_u64(number).try_typed().unwrap())
        .collect()
}

/// A JSON array as JavaScript reads it: each number is one of floating point.
fn read_by_javascript(json: &str) -> Vec<Id53> {
    let numbers: Vec<f64> = serde_json::from_str(json).unwrap();
    let read = numbers.into_iter().map(|number| {
        let digits: u64 = format!("{number:.0}").parse().unwrap();
        Id::from_u64(digits).try_typed().unwrap()
    });
    read.collect()
}

#[test]
fn postgresql_keeps_each_bit() {
    let database = postgresql();
    let mut client = Client::connect(&database.url, NoTls).unwrap();
    let create = "CREATE TABLE numbers (place serial, id bigint PRIMARY KEY)";
    client.batch_execute(create).unwrap();
    let ids = ids();
    let insert = "INSERT INTO numbers (id) SELECT unnest($1::bigint[])";
    client.execute(insert, &[&ids]).unwrap();
    let rows = client.query("SELECT id FROM numbers ORDER BY place", &[]);
    let found: Vec<Id53> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(found, ids);
    for document in [
        "json_agg(id ORDER BY place)",
        "jsonb_agg(id ORDER BY place)",
    ] {
        let select = format!("SELECT {document}::text FROM numbers");
        let row = client.query_one(&select, &[]).unwrap();
        assert_eq!(read_by_javascript(row.get(0)), ids);
    }
    let beyond = client.query_one("SELECT 9007199254740992", &[]).unwrap();
    let refused = beyond.try_get::<_, Id53>(0).unwrap_err();
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert!(
        cause.contains("id 9007199254740992 is out of range"),
        "{cause}"
    );
}

#[tokio::test]
async fn mariadb_keeps_each_bit() {
    let database = mariadb();
    let mut client = MySqlConnection::connect(&database.url).await.unwrap();
    let create = "CREATE TABLE numbers (place INT PRIMARY KEY AUTO_INCREMENT, id BIGINT UNIQUE)";
    sqlx::query(create).execute(&mut client).await.unwrap();
    let ids = ids();
    for id in &ids {
        let insert = sqlx::query("INSERT INTO numbers (id) VALUES (?)").bind(id);
        insert.execute(&mut client).await.unwrap();
    }
    let select = sqlx::query_scalar("SELECT id FROM numbers ORDER BY place");
    let found: Vec<Id53> = select.fetch_all(&mut client).await.unwrap();
    assert_eq!(found, ids);
    let limit = sqlx::query("SET SESSION group_concat_max_len = 1000000");
    limit.execute(&mut client).await.unwrap();
    let select = "SELECT CAST(JSON_ARRAYAGG(id ORDER BY place) AS CHAR) FROM numbers";
    let json: String = sqlx::query_scalar(select)
        .fetch_one(&mut client)
        .await
        .unwrap();
    assert_eq!(read_by_javascript(&json), ids);
}

#[test]
fn sqlite_keeps_each_bit() {
    let connection = SqliteConnection::open_in_memory().unwrap();
    let create = "CREATE TABLE numbers (place INTEGER PRIMARY KEY, id INTEGER)";
    connection.execute_batch(create).unwrap();
    let ids = ids();
    for id in &ids {
        let insert = "INSERT INTO numbers (id) VALUES (?1)";
        connection.execute(insert, [id]).unwrap();
    }
    let mut select = connection
        .prepare("SELECT id FROM numbers ORDER BY place")
        .unwrap();
    let found: Vec<Id53> = select
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found, ids);
    let document = "SELECT json_group_array(id) FROM (SELECT id FROM numbers ORDER BY place)";
    let json: String = connection
        .query_row(document, [], |row| row.get(0))
        .unwrap();
    assert_eq!(read_by_javascript(&json), ids);
    let wide: rusqlite::Result<Id53> = connection.query_row("SELECT -1", [], |row| row.get(0));
    assert!(wide.is_err());
}

/// `diesel` and `sea-orm` go the same way as the clients above: through the number of a column.
#[test]
fn each_client_takes_them() {
    fn is_in_diesel<DB: Backend>()
    where
        i64: FromSql<BigInt, DB>,
        Id53: FromSql<BigInt, DB>,
    {
    }
    is_in_diesel::<diesel::sqlite::Sqlite>();
    let value = sea_orm::Value::from(Id::from_u64(MAX));
    let read = <Id53 as sea_orm::sea_query::ValueType>::try_from(value);
    assert_eq!(read.unwrap().to_u64(), MAX);
    let wide = sea_orm::Value::from(i64::MAX);
    assert!(<Id53 as sea_orm::sea_query::ValueType>::try_from(wide).is_err());
}
