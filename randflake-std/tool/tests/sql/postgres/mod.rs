//! PostgreSQL, in the version whose programs the environment names.

mod counter_faults;
mod fields;
mod guide;
mod overloads;
mod secrecy;
mod tagged;

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use harness::postgres::PostgresServer;
use postgres::{Client, NoTls};

use crate::samples::secret;
use crate::user::{Answer, KEY, User};

/// A server, and somebody who runs the tool.
struct Database {
    server: PostgresServer,
    user: User,
}

impl Database {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(settings: &[&str]) -> Self {
        // Nothing here outlives its test.
        let settings = [&["fsync=off"], settings].concat();
        Self {
            server: PostgresServer::start_with(&settings),
            user: User::new(),
        }
    }

    fn client(&self) -> Client {
        self.server.client("postgres")
    }

    /// A client of another role, which may log in.
    fn client_of(&self, role: &str) -> Client {
        Client::connect(&self.url_of(role), NoTls).unwrap()
    }

    fn url_of(&self, role: &str) -> String {
        let port = self.server.port;
        format!("postgres://{role}@127.0.0.1:{port}/postgres")
    }

    /// Runs what `sql postgres` prints, as the superuser.
    fn install(&self, arguments: &[&str]) -> Client {
        let mut client = self.client();
        client.batch_execute(&self.printed(arguments)).unwrap();
        client
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let arguments = [&["sql", "postgres"], arguments].concat();
        self.user.run(&arguments).ok()
    }

    /// Brings the key of the published example.
    fn bring_key(&self, namespace: &str) -> Answer {
        self.bring_key_as("postgres", &["--namespace", namespace])
    }

    fn bring_key_as(&self, role: &str, arguments: &[&str]) -> Answer {
        self.bring_key_of(role, KEY, arguments)
    }

    /// Brings the key of tags of a number, of its own secret.
    fn bring_tag_key(&self, number: u8, arguments: &[&str]) -> Answer {
        let number_text = number.to_string();
        let numbered = ["--tagged", &number_text];
        let arguments = [&numbered[..], arguments].concat();
        self.bring_key_of("postgres", &secret(number).to_hex(), &arguments)
    }

    /// Brings what follows from a secret, as a role.
    fn bring_key_of(&self, role: &str, secret: &str, arguments: &[&str]) -> Answer {
        let url = self.url_of(role);
        let arguments = [&["sql", "key", "--database", &url], arguments].concat();
        self.user.run_in(&[("RANDFLAKE_KEY", secret)], &arguments)
    }

    /// With the schema `randflake_orders` of encrypted ids, and its key.
    fn with_orders(settings: &[&str]) -> (Self, Client) {
        let database = Self::start_with(settings);
        let client = database.install(&["--namespace", "orders", "--layout", "randflake"]);
        database.bring_key("orders").ok();
        (database, client)
    }

    /// What `pg_dump` writes of the database.
    fn dump(&self, arguments: &[&str]) -> String {
        let url = self.server.url("postgres");
        let dumped = program("pg_dump").args(arguments).arg(url).output();
        let dumped = dumped.unwrap();
        assert!(dumped.status.success(), "{dumped:?}");
        String::from_utf8(dumped.stdout).unwrap()
    }

    /// Restores a dump as another database.
    fn restore(&self, dump: &str, name: &str) -> Client {
        let create = format!("CREATE DATABASE {name}");
        self.client().batch_execute(&create).unwrap();
        self.run_script(dump, name);
        self.server.client(name)
    }

    /// Runs statements by `psql`, in a database.
    fn run_script(&self, text: &str, name: &str) {
        let script = self.user.path("dump.sql");
        fs::write(&script, text).unwrap();
        let restored = program("psql")
            .args(["--quiet", "--set", "ON_ERROR_STOP=1", "--file"])
            .arg(script)
            .arg(self.server.url(name))
            .output()
            .unwrap();
        assert!(restored.status.success(), "{restored:?}");
    }
}

fn program(name: &str) -> Command {
    Command::new(Path::new(&env::var_os("RANDFLAKE_POSTGRES").unwrap()).join(name))
}

/// What the server says of a statement that fails.
#[track_caller]
fn refusal(client: &mut Client, statement: &str) -> String {
    let error = client.batch_execute(statement).unwrap_err();
    let error = error.as_db_error().unwrap_or_else(|| panic!("{error}"));
    let detail = error.detail().map(|detail| format!(" {detail}"));
    format!("{}{}", error.message(), detail.unwrap_or_default())
}
