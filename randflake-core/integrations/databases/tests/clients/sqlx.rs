//! Ids in databases by `sqlx`.

use randflake_core::Id;
use sqlx::{Connection as _, MySqlConnection, PgConnection, SqliteConnection};

use crate::kinds::{
    CIPHER_MISSING, ForgottenColumn, NUMBERS, OrderColumn, OrderId, UserId, ids, orders, sorted,
    whole,
};
use crate::servers::{in_memory, mariadb, postgresql};

const TABLES: &str = "CREATE TABLE users (id bigint PRIMARY KEY, parent bigint);
    CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint NOT NULL)";

/// The same tests for a database: how it is made, the type of its connections, and how statements
/// name parameters.
macro_rules! database {
    ($name:ident, $connection:ty, $database:expr, $first:literal, $second:literal) => {
        mod $name {
            use super::*;

            async fn connect(url: &str) -> $connection {
                let mut connection = <$connection>::connect(url).await.unwrap();
                sqlx::raw_sql(TABLES).execute(&mut connection).await.unwrap();
                connection
            }

            #[tokio::test]
            async fn ids_come_back_in_their_order() {
                let database = $database;
                let mut connection = connect(&database.url).await;
                for id in ids() {
                    let insert = concat!("INSERT INTO users VALUES (", $first, ", NULL)");
                    let insert = sqlx::query(insert).bind(id);
                    insert.execute(&mut connection).await.unwrap();
                }
                let question = sqlx::query_scalar("SELECT id FROM users ORDER BY id");
                let found: Vec<Id> = question.fetch_all(&mut connection).await.unwrap();
                assert_eq!(found, sorted(ids()));
            }

            #[tokio::test]
            async fn typed_ids_join_and_may_be_null() {
                let database = $database;
                let mut connection = connect(&database.url).await;
                let [child, parent]: [UserId; 2] = [31, 32].map(|number| Id::from_i64(number).typed());
                for (id, of) in [(parent, None), (child, Some(parent))] {
                    let insert = concat!("INSERT INTO users VALUES (", $first, ", ", $second, ")");
                    let insert = sqlx::query(insert).bind(id).bind(of);
                    insert.execute(&mut connection).await.unwrap();
                }
                let order: OrderId = Id::from_i64(-5).typed();
                let insert = concat!("INSERT INTO orders VALUES (", $first, ", ", $second, ")");
                let insert = sqlx::query(insert).bind(order).bind(child);
                insert.execute(&mut connection).await.unwrap();
                let question = concat!(
                    "SELECT o.id, u.id, parent FROM orders o JOIN users u ON user_id = u.id WHERE u.id = ",
                    $first
                );
                let found: (OrderId, UserId, Option<UserId>) = sqlx::query_as(question)
                    .bind(child)
                    .fetch_one(&mut connection)
                    .await
                    .unwrap();
                assert_eq!(found, (order, child, Some(parent)));
                let question = concat!("SELECT parent FROM users WHERE id = ", $first);
                let question = sqlx::query_scalar(question).bind(parent);
                let none: Option<UserId> = question.fetch_one(&mut connection).await.unwrap();
                assert_eq!(none, None);
            }

            #[tokio::test]
            async fn stored_raw_returns_the_encrypted_id() {
                let database = $database;
                let mut connection = connect(&database.url).await;
                for id in orders() {
                    let insert = concat!("INSERT INTO orders VALUES (", $first, ", 1)");
                    let insert = sqlx::query(insert).bind(id);
                    insert.execute(&mut connection).await.unwrap();
                }
                for (raw, id) in NUMBERS.into_iter().zip(orders()) {
                    let question = concat!("SELECT id, id FROM orders WHERE id = ", $first);
                    let question = sqlx::query_as(question).bind(id);
                    let found: (i64, OrderColumn) =
                        question.fetch_one(&mut connection).await.unwrap();
                    assert_eq!(found, (raw, id));
                    assert_eq!(found.1.id(), id.id());
                }
            }

            #[tokio::test]
            async fn a_missing_cipher_and_another_column_are_told() {
                let database = $database;
                let mut connection = connect(&database.url).await;
                let question = concat!("INSERT INTO users VALUES (", $first, ", NULL)");
                let user: UserId = Id::from_i64(1).typed();
                let insert = sqlx::query(question).bind(user);
                insert.execute(&mut connection).await.unwrap();
                let question = sqlx::query_scalar("SELECT id FROM users");
                let found: Result<ForgottenColumn, _> = question.fetch_one(&mut connection).await;
                let said = whole(&found.unwrap_err());
                assert!(said.contains(CIPHER_MISSING), "{said}");
                let question = sqlx::query_scalar("SELECT 'v'");
                let found: Result<UserId, _> = question.fetch_one(&mut connection).await;
                let said = whole(&found.unwrap_err());
                assert!(said.contains("not compatible with SQL type"), "{said}");
            }
        }
    };
}

database!(postgresql_database, PgConnection, postgresql(), "$1", "$2");
database!(mariadb_database, MySqlConnection, mariadb(), "?", "?");
database!(
    sqlite_database,
    SqliteConnection,
    in_memory("sqlite::memory:"),
    "?1",
    "?2"
);

#[tokio::test]
async fn arrays_of_postgresql() {
    let database = postgresql();
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql(TABLES)
        .execute(&mut connection)
        .await
        .unwrap();
    let users: Vec<UserId> = ids().into_iter().map(Id::typed).collect();
    let insert = sqlx::query("INSERT INTO users SELECT unnest($1)").bind(&users);
    insert.execute(&mut connection).await.unwrap();
    let question = "SELECT array_agg(id ORDER BY id) FROM users WHERE id = ANY($1)";
    let question = sqlx::query_scalar(question).bind(&users);
    let found: Vec<UserId> = question.fetch_one(&mut connection).await.unwrap();
    assert_eq!(found, sorted(users));
    let question = sqlx::query_scalar("SELECT $1").bind(orders());
    let found: Vec<OrderColumn> = question.fetch_one(&mut connection).await.unwrap();
    assert_eq!(found, orders());
}
