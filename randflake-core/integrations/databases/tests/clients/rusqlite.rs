//! Ids in SQLite by `rusqlite`.

use randflake_core::Id;
use rusqlite::{Connection, params};

use crate::kinds::{
    CIPHER_MISSING, ForgottenColumn, NUMBERS, OrderColumn, OrderId, UserId, ids, orders, sorted,
    whole,
};

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let tables = "CREATE TABLE users (id INTEGER PRIMARY KEY, parent INTEGER);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, user INTEGER NOT NULL)";
    connection.execute_batch(tables).unwrap();
    connection
}

#[test]
fn ids_come_back_in_their_order() {
    let connection = database();
    for id in ids() {
        connection
            .execute("INSERT INTO users VALUES (?1, NULL)", [id])
            .unwrap();
    }
    let mut query = connection
        .prepare("SELECT id FROM users ORDER BY id")
        .unwrap();
    let found: Vec<Id> = query
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found, sorted(ids()));
}

#[test]
fn typed_ids_join_and_may_be_null() {
    let connection = database();
    let [child, parent]: [UserId; 2] = [31, 32].map(|number| Id::from_i64(number).typed());
    for row in [(parent, None), (child, Some(parent))] {
        connection
            .execute("INSERT INTO users VALUES (?1, ?2)", row)
            .unwrap();
    }
    let order: OrderId = Id::from_i64(-5).typed();
    connection
        .execute("INSERT INTO orders VALUES (?1, ?2)", params![order, child])
        .unwrap();
    let question = "SELECT orders.id, users.id, parent FROM orders JOIN users ON user = users.id WHERE users.id = ?1";
    let found: (OrderId, UserId, Option<UserId>) = connection
        .query_one(question, [child], |row| row.try_into())
        .unwrap();
    assert_eq!(found, (order, child, Some(parent)));
    let question = "SELECT parent FROM users WHERE id = ?1";
    let none: Option<UserId> = connection
        .query_one(question, [parent], |row| row.get(0))
        .unwrap();
    assert_eq!(none, None);
}

#[test]
fn stored_raw_returns_the_encrypted_id() {
    let connection = database();
    for id in orders() {
        connection
            .execute("INSERT INTO orders VALUES (?1, 1)", [id])
            .unwrap();
    }
    for (raw, id) in NUMBERS.into_iter().zip(orders()) {
        let question = "SELECT id, id FROM orders WHERE id = ?1";
        let found: (i64, OrderColumn) = connection
            .query_one(question, [id], |row| row.try_into())
            .unwrap();
        assert_eq!(found, (raw, id));
        assert_eq!(found.1.id(), id.id());
    }
}

#[test]
fn a_missing_cipher_is_told() {
    let connection = database();
    let found = connection.query_one("SELECT 1", [], |row| row.get::<_, ForgottenColumn>(0));
    let said = whole(&found.unwrap_err());
    assert!(said.contains(CIPHER_MISSING), "{said}");
}
