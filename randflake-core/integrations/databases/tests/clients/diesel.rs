//! By `diesel`: with `diesel-async`'s connections, which need no library of the database.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{
    AsyncConnection as _, AsyncMysqlConnection, AsyncPgConnection, RunQueryDsl,
    SimpleAsyncConnection as _,
};
use randflake_core::Id;

use crate::kinds::{
    CIPHER_MISSING, ForgottenColumn, NUMBERS, OrderColumn, UserId, ids, orders, sorted, whole,
};
use crate::servers::{in_memory, mariadb, postgresql};

diesel::table! {
    users (id) {
        id -> BigInt,
        parent -> Nullable<BigInt>,
    }
}

diesel::table! {
    orders (id) {
        id -> BigInt,
        user_id -> BigInt,
    }
}

diesel::joinable!(orders -> users (user_id));
diesel::allow_tables_to_appear_in_same_query!(orders, users);

#[derive(Debug, Insertable, PartialEq, Queryable)]
#[diesel(table_name = users)]
struct User {
    id: UserId,
    parent: Option<UserId>,
}

#[derive(Debug, Insertable, PartialEq, Queryable)]
#[diesel(table_name = orders)]
struct Order {
    id: OrderColumn,
    user_id: UserId,
}

/// The same test for a type of connections.
macro_rules! database {
    ($name:ident, $connection:ty, $database:expr) => {
        #[tokio::test]
        async fn $name() {
            let database = $database;
            let mut connection = <$connection>::establish(&database.url).await.unwrap();
            for table in [
                "CREATE TABLE users (id bigint PRIMARY KEY, parent bigint)",
                "CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint NOT NULL)",
            ] {
                connection.batch_execute(table).await.unwrap();
            }

            for id in ids() {
                let row = diesel::insert_into(users::table).values(users::id.eq(id));
                row.execute(&mut connection).await.unwrap();
            }
            let found: Vec<Id> = users::table
                .select(users::id)
                .order(users::id)
                .load(&mut connection)
                .await
                .unwrap();
            assert_eq!(found, sorted(ids()));
            let few = users::table.filter(users::id.eq_any(ids())).count();
            assert_eq!(few.get_result::<i64>(&mut connection).await.unwrap(), 5);

            let [child, parent]: [UserId; 2] = [31, 32].map(|number| Id::from_i64(number).typed());
            for (id, parent) in [(parent, None), (child, Some(parent))] {
                let row = diesel::insert_into(users::table).values(User { id, parent });
                row.execute(&mut connection).await.unwrap();
                let found = users::table.find(id).first::<User>(&mut connection).await;
                assert_eq!(found.unwrap(), User { id, parent });
            }
            for id in orders() {
                let row = Order { id, user_id: child };
                let row = diesel::insert_into(orders::table).values(row);
                row.execute(&mut connection).await.unwrap();
            }
            for (raw, id) in NUMBERS.into_iter().zip(orders()) {
                let found = orders::table
                    .inner_join(users::table)
                    .filter(orders::id.eq(id))
                    .select((orders::all_columns, users::parent, orders::id));
                let (order, of, stored) = found
                    .first::<(Order, Option<UserId>, i64)>(&mut connection)
                    .await
                    .unwrap();
                assert_eq!((order.id.id(), order.user_id), (id.id(), child));
                assert_eq!((of, stored), (Some(parent), raw));
            }

            let found = users::table
                .select(users::id)
                .limit(1)
                .load::<ForgottenColumn>(&mut connection)
                .await;
            let said = whole(&found.unwrap_err());
            assert!(said.contains(CIPHER_MISSING), "{said}");
        }
    };
}

database!(rows_of_postgresql, AsyncPgConnection, postgresql());
database!(rows_of_mariadb, AsyncMysqlConnection, mariadb());
database!(
    rows_of_sqlite,
    SyncConnectionWrapper<SqliteConnection>,
    in_memory(":memory:")
);

#[tokio::test]
async fn arrays_of_postgresql() {
    use diesel::sql_types::{Array, BigInt};

    let database = postgresql();
    let mut connection = AsyncPgConnection::establish(&database.url).await.unwrap();
    let all: Vec<UserId> = ids().into_iter().map(Id::typed).collect();
    let question = diesel::select(all.clone().into_sql::<Array<BigInt>>());
    let found: Vec<UserId> = question.get_result(&mut connection).await.unwrap();
    assert_eq!(found, all);
}
