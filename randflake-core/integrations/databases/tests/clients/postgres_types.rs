//! By `postgres`, whose traits are those of `tokio-postgres`.

use postgres::{Client, NoTls};
use randflake_core::Id;

use crate::kinds::{
    CIPHER_MISSING, ForgottenColumn, NUMBERS, OrderColumn, OrderId, UserId, ids, orders, sorted,
    whole,
};
use crate::servers::{Database, postgresql};

const TABLES: &str = "CREATE TABLE users (id bigint PRIMARY KEY, parent bigint);
    CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint NOT NULL)";

fn client<S>(database: &Database<S>) -> Client {
    let mut client = Client::connect(&database.url, NoTls).unwrap();
    client.batch_execute(TABLES).unwrap();
    client
}

#[test]
fn ids_come_back_in_their_order_and_in_arrays() {
    let database = postgresql();
    let mut client = client(&database);
    let insert = "INSERT INTO users SELECT unnest($1::bigint[])";
    assert_eq!(client.execute(insert, &[&ids()]).unwrap(), 5);
    let found: Vec<Id> = client
        .query("SELECT id FROM users ORDER BY id", &[])
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(found, sorted(ids()));
    let found = client.query_one(
        "SELECT array_agg(id ORDER BY id) FROM users WHERE id = ANY($1)",
        &[&ids()],
    );
    assert_eq!(found.unwrap().get::<_, Vec<Id>>(0), sorted(ids()));
}

#[test]
fn typed_ids_join_and_may_be_null() {
    let database = postgresql();
    let mut client = client(&database);
    let [child, parent]: [UserId; 2] = [31, 32].map(|number| Id::from_i64(number).typed());
    for (id, of) in [(parent, None), (child, Some(parent))] {
        let insert = "INSERT INTO users VALUES ($1, $2)";
        client.execute(insert, &[&id, &of]).unwrap();
    }
    let order: OrderId = Id::from_i64(-5).typed();
    let insert = "INSERT INTO orders VALUES ($1, $2)";
    client.execute(insert, &[&order, &child]).unwrap();
    let question =
        "SELECT o.id, u.id, parent FROM orders o JOIN users u ON user_id = u.id WHERE u.id = $1";
    let row = client.query_one(question, &[&child]).unwrap();
    let found: (OrderId, UserId, Option<UserId>) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(found, (order, child, Some(parent)));
    let question = "SELECT parent FROM users WHERE id = $1";
    let row = client.query_one(question, &[&parent]).unwrap();
    assert_eq!(row.get::<_, Option<UserId>>(0), None);
}

#[test]
fn stored_raw_returns_the_encrypted_id() {
    let database = postgresql();
    let mut client = client(&database);
    for id in orders() {
        let insert = "INSERT INTO orders VALUES ($1, 1)";
        client.execute(insert, &[&id]).unwrap();
    }
    for (raw, id) in NUMBERS.into_iter().zip(orders()) {
        let question = "SELECT id FROM orders WHERE id = $1";
        let row = client.query_one(question, &[&id]).unwrap();
        assert_eq!(row.get::<_, i64>(0), raw);
        assert_eq!(row.get::<_, OrderColumn>(0).id(), id.id());
    }
}

#[test]
fn a_missing_cipher_and_another_column_are_told() {
    let database = postgresql();
    let mut client = client(&database);
    let row = client.query_one("SELECT 1::bigint, 'v'", &[]).unwrap();
    let said = whole(&row.try_get::<_, ForgottenColumn>(0).unwrap_err());
    assert!(said.contains(CIPHER_MISSING), "{said}");
    let said = whole(&row.try_get::<_, UserId>(1).unwrap_err());
    assert!(said.contains("text"), "{said}");
}
