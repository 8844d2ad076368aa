//! SQL functions over ids on SQLite connections of each client.

use diesel::RunQueryDsl as _;
use diesel::connection::{Connection as _, SimpleConnection as _};
use diesel::sqlite::SqliteConnection;
use randflake_core::sqlite::dsl::{decrypt, encrypt, id_time};
use randflake_core::sqlite::{register_on_diesel, register_on_rusqlite};
use randflake_core::{Codec, Id, Layout as _, Randflake};
use rusqlite::Connection;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::sqlite_cases::{
    EDGES, FORBIDDEN, Ids, PLANS, REFUSED, SECRET, TABLE, cipher, layouts, vectors,
};

/// A client's connection, as the cases need it.
trait Client {
    fn open() -> Self;
    fn register(&mut self, ids: &Ids);
    fn run(&mut self, statements: &str) -> Result<(), String>;
    /// The text that a statement returns.
    fn ask(&mut self, statement: &str) -> Result<String, String>;
    /// The last column of all rows.
    fn plan(&mut self, statement: &str) -> Vec<String>;
}

impl Client for Connection {
    fn open() -> Self {
        Self::open_in_memory().unwrap()
    }

    fn register(&mut self, ids: &Ids) {
        let cipher = ids.permutation().clone();
        register_on_rusqlite(self, ids.layout(), cipher).unwrap();
    }

    fn run(&mut self, statements: &str) -> Result<(), String> {
        self.execute_batch(statements)
            .map_err(|error| error.to_string())
    }

    fn ask(&mut self, statement: &str) -> Result<String, String> {
        let row = self.query_one(statement, [], |row| row.get(0));
        row.map_err(|error| error.to_string())
    }

    fn plan(&mut self, statement: &str) -> Vec<String> {
        let mut plan = self
            .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
            .unwrap();
        let steps = plan.query_map([], |row| row.get(3)).unwrap();
        steps.map(Result::unwrap).collect()
    }
}

#[derive(diesel::QueryableByName)]
struct Answer {
    #[diesel(sql_type = diesel::sql_types::Text)]
    answer: String,
}

#[derive(diesel::QueryableByName)]
struct Step {
    #[diesel(sql_type = diesel::sql_types::Text)]
    detail: String,
}

impl Client for SqliteConnection {
    fn open() -> Self {
        Self::establish(":memory:").unwrap()
    }

    fn register(&mut self, ids: &Ids) {
        let cipher = ids.permutation().clone();
        register_on_diesel(self, ids.layout(), cipher).unwrap();
    }

    fn run(&mut self, statements: &str) -> Result<(), String> {
        self.batch_execute(statements)
            .map_err(|error| error.to_string())
    }

    fn ask(&mut self, statement: &str) -> Result<String, String> {
        let row = diesel::sql_query(statement).get_result::<Answer>(self);
        row.map(|row| row.answer).map_err(|error| error.to_string())
    }

    fn plan(&mut self, statement: &str) -> Vec<String> {
        let plan = diesel::sql_query(format!("EXPLAIN QUERY PLAN {statement}"));
        let steps = plan.load::<Step>(self).unwrap();
        steps.into_iter().map(|step| step.detail).collect()
    }
}

fn answer(expression: &str) -> String {
    format!("SELECT CAST({expression} AS TEXT) AS answer")
}

fn answers_as_core<C: Client>() {
    let mut client = C::open();
    for (name, ids, cases) in layouts() {
        client.register(&ids);
        for case in cases {
            let found = client.ask(&answer(&case.sql));
            assert_eq!(found.as_ref(), Ok(&case.expected), "{name}: {}", case.sql);
        }
    }
    for (_, ids, case) in vectors() {
        client.register(&ids);
        assert_eq!(client.ask(&answer(&case.sql)), Ok(case.expected));
    }
}

fn says_what_is_wrong<C: Client>() {
    let mut client = C::open();
    client.register(&Codec::new(Randflake::SPEC, Some(cipher(SECRET))));
    for (expression, expected) in EDGES {
        assert_eq!(
            client.ask(&answer(expression)),
            Ok(expected.to_owned()),
            "{expression}"
        );
    }
    for (expression, expected) in REFUSED {
        let problem = client.ask(&answer(expression)).unwrap_err();
        assert!(problem.contains(expected), "{expression}: {problem}");
    }
}

fn finds_rows_by_their_key<C: Client>() {
    let mut client = C::open();
    client.register(&Codec::new(Randflake::SPEC, Some(cipher(SECRET))));
    client.run(TABLE).unwrap();
    for (statement, expected) in PLANS {
        let plan = client.plan(statement);
        assert!(
            plan.iter().any(|step| step == expected),
            "{statement}: {plan:?}"
        );
    }
}

/// Plain ids are their raw ids: nothing is encrypted by mistake.
fn plain_ids_have_no_key<C: Client>() {
    let mut client = C::open();
    client.register(&Codec::new(Randflake::SPEC, None));
    assert_eq!(client.ask(&answer("id_node(131072)")), Ok("1".to_owned()));
    let problem = client.ask(&answer("encrypt(1)")).unwrap_err();
    assert!(problem.contains("no such function: encrypt"), "{problem}");
}

macro_rules! client {
    ($name:ident, $connection:ty) => {
        mod $name {
            #[test]
            fn answers_as_core() {
                super::answers_as_core::<$connection>();
            }

            #[test]
            fn says_what_is_wrong() {
                super::says_what_is_wrong::<$connection>();
            }

            #[test]
            fn finds_rows_by_their_key() {
                super::finds_rows_by_their_key::<$connection>();
            }

            #[test]
            fn plain_ids_have_no_key() {
                super::plain_ids_have_no_key::<$connection>();
            }
        }
    };
}

client!(rusqlite_connection, rusqlite::Connection);
client!(diesel_connection, diesel::sqlite::SqliteConnection);

#[test]
fn a_schema_may_not_decrypt_nor_keep_what_a_key_makes() {
    let mut client = <Connection as Client>::open();
    client.register(&Codec::new(Randflake::SPEC, Some(cipher(SECRET))));
    client.run(TABLE).unwrap();
    for (statements, expected) in FORBIDDEN {
        let problem = client.run(statements).unwrap_err();
        assert!(problem.contains(expected), "{statements}: {problem}");
    }
}

/// `diesel` has no flag for it: a schema that is not trusted calls none of the functions.
#[test]
fn an_untrusted_schema_may_not_decrypt_through_diesel() {
    let mut client = SqliteConnection::open();
    client.register(&Codec::new(Randflake::SPEC, Some(cipher(SECRET))));
    client.run(TABLE).unwrap();
    client
        .run("CREATE VIEW secret_orders AS SELECT decrypt(1) AS answer")
        .unwrap();
    client.run("PRAGMA trusted_schema = OFF").unwrap();
    let problem = client.ask("SELECT answer FROM secret_orders").unwrap_err();
    assert!(problem.contains("unsafe use of decrypt()"), "{problem}");
}

#[test]
fn the_functions_are_in_diesels_query_builder() {
    let mut client = SqliteConnection::open();
    client.register(&Codec::new(Randflake::SPEC, Some(cipher(SECRET))));
    let id = Id::from_i64(4_594_531_474_933_654_033);
    let question = diesel::select((encrypt(decrypt(id)), id_time(id)));
    let found = question.get_result::<(Id, String)>(&mut client);
    assert_eq!(found, Ok((id, "2024-12-09 01:04:57".to_owned())));
}

/// `sqlx` registers no functions of a program's own: it loads the extension, with the secret that
/// its environment names.
#[tokio::test]
#[expect(unsafe_code, reason = "sqlx cannot know what an extension does")]
async fn sqlx_loads_the_extension() {
    let extension = std::env::var("RANDFLAKE_SQLITE_EXTENSION").unwrap();
    // SAFETY: it is this project's own.
    let options = unsafe {
        SqliteConnectOptions::new()
            .in_memory(true)
            .extension(extension)
    };
    let mut client = options.connect().await.unwrap();
    let id = Id::from_i64(4_594_531_474_933_654_033);
    let question = "SELECT encrypt(decrypt(?1)), id_time(?1), key_check()";
    let found: (Id, String, String) = sqlx::query_as(question)
        .bind(id)
        .fetch_one(&mut client)
        .await
        .unwrap();
    assert_eq!(
        found,
        (id, "2024-12-09 01:04:57".to_owned(), "990dc77e".to_owned())
    );
    let problem = sqlx::query("SELECT id_from_text('V')")
        .execute(&mut client)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        problem.contains("'V', character 1, is not a digit"),
        "{problem}"
    );
}
