//! MariaDB, and whatever server of the kind the environment names.

mod fields;
mod guide;
mod secrecy;
mod tagged;

use harness::mariadb::{Client, MariadbServer};

use crate::answers;
use crate::samples::secret;
use crate::user::{Answer, KEY, User};

/// A server, and somebody who runs the tool.
struct Database {
    server: MariadbServer,
    user: User,
}

impl Database {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(settings: &[&str]) -> Self {
        Self {
            server: MariadbServer::start_with(settings),
            user: User::new(),
        }
    }

    fn client(&self) -> Client {
        self.server.client(None)
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let arguments = [&["sql", "mysql"], arguments].concat();
        self.user.run(&arguments).ok()
    }

    /// Runs what `sql mysql` prints, as root.
    fn install(&self, arguments: &[&str]) -> Client {
        let mut client = self.client();
        run(&mut client, &self.printed(arguments)).unwrap();
        client
    }

    /// Brings the key of the published example.
    fn bring_key(&self, arguments: &[&str]) -> Answer {
        self.bring_key_as("root", arguments)
    }

    fn bring_key_as(&self, user: &str, arguments: &[&str]) -> Answer {
        self.bring_key_of(user, KEY, arguments)
    }

    /// Brings the key of tags of a number, of its own secret.
    fn bring_tag_key(&self, number: u8, arguments: &[&str]) -> Answer {
        let number_text = number.to_string();
        let numbered = ["--tagged", &number_text];
        let arguments = [&numbered[..], arguments].concat();
        self.bring_key_of("root", &secret(number).to_hex(), &arguments)
    }

    /// Brings what follows from a secret, as a user of the server.
    fn bring_key_of(&self, user: &str, secret: &str, arguments: &[&str]) -> Answer {
        let url = format!(
            "mysql://{user}@127.0.0.1:{}/information_schema",
            self.server.port
        );
        let arguments = [&["sql", "key", "--database", &url], arguments].concat();
        self.user.run_in(&[("RANDFLAKE_KEY", secret)], &arguments)
    }

    /// With the database `randflake_orders` of encrypted ids, and its key.
    fn with_orders(settings: &[&str]) -> (Self, Client) {
        let database = Self::start_with(settings);
        let client = database.install(&["--namespace", "orders", "--layout", "randflake"]);
        database.bring_key(&["--namespace", "orders"]).ok();
        (database, client)
    }
}

/// Runs a file as the client of MySQL does, to its first error.
fn run(client: &mut Client, file: &str) -> Result<(), String> {
    for statement in answers::mysql_statements(file) {
        client
            .query_drop(statement)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What the server says of a statement that fails.
#[track_caller]
fn refusal(client: &mut Client, statement: &str) -> String {
    client.query_drop(statement).unwrap_err().to_string()
}
