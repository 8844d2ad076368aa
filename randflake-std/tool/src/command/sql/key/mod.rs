//! The command `randflake sql key`.

mod checks;
#[cfg(not(feature = "mysql"))]
#[path = "no_mysql.rs"]
mod mysql;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(not(feature = "postgres"))]
#[path = "no_postgres.rs"]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres;

use core::fmt::{self, Debug, Formatter};
use std::path::Path;

use checks::{DatabaseKey, DatabaseKeys};
use randflake_std::KeyNumber;
use randflake_std::lease::{StoreError, StoreUrl};

use super::template::SchemaArgs;
use crate::failure::Failure;
use crate::output::print_line;
use crate::secret::{SecretArgs, SecretSource};

/// Bring the key to a database, for the functions of `sql postgres` and `sql mysql`
///
/// It connects and copies the key into the table of the schema, so that it is in no statement, no log and no shell's
/// history. The connection must be encrypted (?sslmode=verify-full), a Unix socket, or to a loopback address. Superusers of the database and physical backups have it then. So have PostgreSQL's physical replicas; a replica
/// of MySQL has not, because its binary log is left out: bring the key there too.
///
/// A schema has one key for ever: another one is refused, because ids made under the first could not be read any more. In
/// PostgreSQL so is the key that another schema of the same owner, in the same database, has for another namespace. A schema of
/// tagged UUIDs has one key for each key number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql key --namespace orders --database 'postgres://owner@db.internal/shop?sslmode=verify-full' --key-file orders.key
  randflake keygen --derive invoices | RANDFLAKE_KEY=$(cat) randflake sql key --namespace invoices
  randflake sql key --namespace orders --tagged 1 --key-file orders/1.key")]
pub(crate) struct SqlKeyArgs {
    /// Where the schema is: postgres://USER@HOST/DATABASE, as the owner of the schema, or mysql://USER@HOST/DATABASE
    ///
    /// Options of the URL are those of --store, such as ?sslmode=verify-full. Every user of the machine can list
    /// the arguments of processes: a URL with a password belongs into the environment.
    #[arg(
        long,
        value_name = "URL",
        env = "RANDFLAKE_DATABASE",
        hide_env_values = true
    )]
    database: DatabaseUrl,
    /// Namespace of the ids
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        env = "RANDFLAKE_NAMESPACE",
        hide_env_values = true
    )]
    namespace: String,
    /// Bring it even though a publication or a binary log has the table: its subscribers and replicas get the key
    ///
    /// A publication FOR ALL TABLES has every table. In MySQL and MariaDB it goes into the binary log then.
    #[arg(long)]
    published: bool,
    /// Send the key over a connection that is not encrypted: nobody else can read that network
    ///
    /// Without it the connection must be encrypted (?sslmode=verify-full), a Unix socket, or to a loopback address: on any other
    /// one the key would cross the network in clear.
    #[arg(long)]
    trusted_network: bool,
    /// Bring the key of tags of this key number, 1 to 63, for the functions of `sql postgres --tagged` and `sql mysql --tagged`
    ///
    /// It is derived from the secret of that number and the name of the namespace. The database then checks and makes tagged
    /// UUIDs of that number; it cannot read ids, and no other key follows from this one.
    #[arg(long, value_name = "NUMBER")]
    tagged: Option<KeyNumber>,
    #[command(flatten)]
    schema: SchemaArgs,
    #[command(flatten)]
    secret: SecretArgs,
}

impl SqlKeyArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let target = Target {
            url: self.url()?,
            namespace: &self.namespace,
            schema: &self.schema.name(&self.namespace)?,
            may_be_published: self.published,
        };
        let keys = &self.keys()?;
        let outcome = match self.database.scheme() {
            "mysql" => mysql::bring(&target, keys),
            _ => postgres::bring(&target, keys),
        }?;
        let schema = target.schema;
        let of_number = match self.tagged {
            Some(number) => format!("of number {number} "),
            None => String::new(),
        };
        print_line(match outcome {
            Outcome::Brought(DatabaseKey { check, .. }) => {
                format!("{schema} has the key {of_number}of check value {check}")
            }
            Outcome::WasThere(DatabaseKey { check, .. }) => {
                format!("{schema} had the key {of_number}of check value {check} already")
            }
        })
    }

    /// A place that nobody else learns the key from.
    fn url(&self) -> Result<StoreUrl, Failure> {
        if !["mysql", "postgres", "postgresql"].contains(&self.database.scheme()) {
            // Without the URL, which may have a password.
            return Err(Failure::usage(
                "--database: postgres://USER@HOST/DATABASE and mysql://USER@HOST/DATABASE are allowed",
            ));
        }
        let url: StoreUrl = self.database.0.parse().map_err(unconnected)?;
        if self.trusted_network {
            return Ok(url);
        }
        url.confined().map_err(|error| match error {
            StoreError::FailedPrecondition(why) => Failure::usage(format!(
                "--database: {why}, or say with --trusted-network that nobody else can read that network"
            )),
            other => unconnected(other),
        })
    }

    fn keys(&self) -> Result<DatabaseKeys, Failure> {
        let Some(number) = self.tagged else {
            return Ok(DatabaseKeys::of_ids(&self.secret.read()?));
        };
        let file = match self.secret.source()? {
            SecretSource::Given(path) => named(&path),
            _ => None,
        };
        if let Some(other) = file.filter(|other| *other != number) {
            return Err(Failure::usage(format!(
                "--key-file: the file {other}.key is that of key number {other}, and --tagged names {number}"
            )));
        }
        DatabaseKeys::of_tags(&self.secret.read()?, number, &self.namespace).map_err(Failure::usage)
    }
}

/// The key number that the name of a file says: `1.key` to `63.key`, as in a directory of `TagSecrets`.
fn named(path: &Path) -> Option<KeyNumber> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".key")?.parse().ok()
}

/// Where the key is to be.
struct Target<'a> {
    url: StoreUrl,
    namespace: &'a str,
    schema: &'a str,
    may_be_published: bool,
}

/// What became of it.
#[derive(Clone, Copy)]
enum Outcome<'a> {
    Brought(&'a DatabaseKey),
    WasThere(&'a DatabaseKey),
}

/// Says of a connection that fails what it was to. The databases of others are lease stores.
fn unconnected(error: StoreError) -> Failure {
    match error {
        StoreError::Invalid(why) => {
            Failure::usage(why.replace("the lease store's URL", "--database: the URL"))
        }
        StoreError::Unavailable(error) => {
            Failure::failed(format!("the database is unavailable: {error}"))
        }
        other => other.into(),
    }
}

/// A URL that may have a password. Clap's errors would show it, so it is parsed later; and `Debug` does not show it.
#[derive(Clone)]
struct DatabaseUrl(String);

impl DatabaseUrl {
    fn scheme(&self) -> &str {
        self.0.split(':').next().unwrap_or_default()
    }
}

impl From<String> for DatabaseUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl Debug for DatabaseUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl(..)")
    }
}
