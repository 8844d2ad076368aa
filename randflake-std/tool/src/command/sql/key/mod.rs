//! The command `randflake sql key`.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;

use core::fmt::{self, Debug, Formatter};
use std::path::Path;

use randflake_common::layout::IdEncryption;
use randflake_std::lease::{KeyCheck, NamespaceError, StoreError, StoreUrl};
use randflake_std::{KeyNumber, Secret, Sparx64};
use zeroize::Zeroizing;

use super::template::SchemaArgs;
use crate::failure::Failure;
use crate::output::print_line;
use crate::secret::{SecretArgs, SecretSource};

/// Bring the key to a database, for the functions of `sql postgres` and `sql mysql`
///
/// It connects and copies the key into the table of the schema, so that it is in no statement, no
/// log and no shell's history. The connection must be encrypted (?sslmode=verify-full), a Unix
/// socket, or to a loopback address. Superusers of the database and physical backups have it then.
/// So have PostgreSQL's physical replicas; a replica of MySQL has not, because its binary log is
/// left out: bring the key there too.
///
/// A schema has one key for ever: another one is refused, because ids made under the first could
/// not be read any more. In PostgreSQL so is the key that another schema of the same owner, in the
/// same database, has for another namespace. A schema of tagged UUIDs has one key for each key
/// number.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql key --namespace orders --database 'postgres://owner@db.internal/shop?sslmode=verify-full' --key-file orders.key
  randflake keygen --derive invoices | RANDFLAKE_KEY=$(cat) randflake sql key --namespace invoices
  randflake sql key --namespace orders --tagged 1 --key-file orders/1.key")]
pub(crate) struct SqlKeyArgs {
    /// Where the schema is: postgres://USER@HOST/DATABASE, as the owner of the schema, or
    /// mysql://USER@HOST/DATABASE
    ///
    /// Options of the URL are those of --store, such as ?sslmode=verify-full. Every user of the
    /// machine can list the arguments of processes: a URL with a password belongs into the
    /// environment.
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
    /// Bring it even though a publication or a binary log has the table: its subscribers and
    /// replicas get the key
    ///
    /// A publication FOR ALL TABLES has every table. In MySQL and MariaDB it goes into the binary
    /// log then.
    #[arg(long)]
    published: bool,
    /// Send the key over a connection that is not encrypted: nobody else can read that network
    ///
    /// Without it the connection must be encrypted (?sslmode=verify-full), a Unix socket, or to a
    /// loopback address: on any other one the key would cross the network in clear.
    #[arg(long)]
    trusted_network: bool,
    /// Bring the key of tags of this key number, 1 to 63, for the functions of `sql postgres
    /// --tagged` and `sql mysql --tagged`
    ///
    /// It is derived from the secret of that number and the name of the namespace. The database
    /// then checks and makes tagged UUIDs of that number; it cannot read ids, and no other key
    /// follows from this one.
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

/// The key number that the name of a file says: `1.key` to `63.key`, as in a directory of
/// `TagSecrets`.
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

/// A URL that may have a password. Clap's errors would show it, so it is parsed later; and `Debug`
/// does not show it.
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

/// A build without MySQL.
#[cfg(not(feature = "mysql"))]
mod mysql {
    use super::DatabaseKeys;
    use super::{Outcome, Target};
    use crate::failure::Failure;

    pub(super) fn bring<'a>(_: &Target<'_>, _: &'a DatabaseKeys) -> Result<Outcome<'a>, Failure> {
        Err(Failure::failed(
            "this build cannot connect to MySQL: build it with the cargo feature `mysql`",
        ))
    }
}

/// A build without PostgreSQL.
#[cfg(not(feature = "postgres"))]
mod postgres {
    use super::DatabaseKeys;
    use super::{Outcome, Target};
    use crate::failure::Failure;

    pub(super) fn bring<'a>(_: &Target<'_>, _: &'a DatabaseKeys) -> Result<Outcome<'a>, Failure> {
        Err(Failure::failed(
            "this build cannot connect to PostgreSQL: build it with the cargo feature `postgres`",
        ))
    }
}

/// The key as a database stores it.
struct DatabaseKey {
    /// Two for each round of both branches at once, and two of whitening: the first words, then the
    /// second ones. The left branch's word is in the lower half, the right one's in the upper.
    round_keys: Zeroizing<Vec<i64>>,
    check: String,
}

/// What a secret's key is, for each use that it may be brought for.
enum DatabaseKeys {
    /// Which of both the functions use is known once they are found.
    OfIds {
        bits_64: DatabaseKey,
        bits_53: DatabaseKey,
    },
    /// Of the tags of a key number. Ids cannot be read by it.
    OfTags { number: KeyNumber, key: DatabaseKey },
}

impl DatabaseKeys {
    fn of_ids(secret: &Secret) -> Self {
        let of = |form: IdEncryption| {
            let key = form.device_key(secret);
            DatabaseKey::new(&key.cipher(), form.key_check(&key))
        };
        Self::OfIds {
            bits_64: of(IdEncryption::Bits64),
            bits_53: of(IdEncryption::Bits53),
        }
    }

    fn of_tags(
        secret: &Secret,
        number: KeyNumber,
        namespace: &str,
    ) -> Result<Self, NamespaceError> {
        let key = secret.key_of_tags(number, namespace)?;
        // That of the secret: a store shows it, and it is the same whatever number the secret is
        // brought for.
        let check = KeyCheck::tagged(number, &secret.cipher());
        Ok(Self::OfTags {
            number,
            key: DatabaseKey::new(&key.cipher(), check),
        })
    }

    /// The key number; `None` of ids.
    const fn number(&self) -> Option<KeyNumber> {
        match self {
            Self::OfIds { .. } => None,
            Self::OfTags { number, .. } => Some(*number),
        }
    }
}

impl DatabaseKey {
    fn new(cipher: &Sparx64, check: KeyCheck) -> Self {
        /// Rounds of a branch between two linear layers.
        const ROUNDS: usize = 3;
        let all: Zeroizing<Vec<[u16; 2]>> = Zeroizing::new(cipher.round_keys().collect());
        // With room for all, so that no part of it is left behind where it grew.
        let mut round_keys = Zeroizing::new(Vec::with_capacity(all.len()));
        let mut put = |left: [u16; 2], right: [u16; 2]| {
            let both = left.iter().zip(right);
            round_keys.extend(both.map(|(left, right)| i64::from(*left) | i64::from(right) << 32));
        };
        let (steps, whitening) = all.as_chunks::<{ 2 * ROUNDS }>();
        for step in steps {
            for round in 0..ROUNDS {
                put(step[round], step[ROUNDS + round]);
            }
        }
        if let [left, right] = *whitening {
            put(left, right);
        }
        let check = check.value().unwrap_or_default();
        let check = format!("{check:08x}");
        Self { round_keys, check }
    }
}

/// What the functions of a schema, or a database, say of themselves.
struct State {
    namespace: String,
    keys: KeysThere,
}

/// The check values of the keys that are there.
enum KeysThere {
    OfIds {
        check: Option<String>,
        /// Whether ids have 53 bits.
        is_53: bool,
    },
    /// By key number.
    OfTags(Vec<(i32, String)>),
}

/// What is to become of the key in a schema, or a database, of this namespace with a key of this
/// check value; or why it is refused.
fn judged<'a>(
    target: &Target<'_>,
    keys: &'a DatabaseKeys,
    (place, table): (&str, &str),
    found: &State,
) -> Result<Outcome<'a>, Failure> {
    let Target { schema, .. } = target;
    if found.namespace != target.namespace {
        return Err(Failure::failed(format!(
            "the {place} {schema} is for the namespace {:?}, not for {:?}",
            found.namespace, target.namespace
        )));
    }
    match (keys, &found.keys) {
        (DatabaseKeys::OfIds { bits_64, bits_53 }, KeysThere::OfIds { check, is_53 }) => {
            let key = if *is_53 { bits_53 } else { bits_64 };
            of_ids(key, check.as_deref()).map_err(|found| {
                Failure::failed(format!(
                    "the {place} {schema} has the key of check value {found}, and this one has {}: ids made under the first \
                     one could not be read any more. If there are none, remove it first: DELETE FROM {schema}.{table}",
                    key.check
                ))
            })
        }
        (DatabaseKeys::OfTags { number, key }, KeysThere::OfTags(there)) => {
            of_tags(*number, key, there).map_err(|mistake| {
                Failure::failed(match mistake {
                    TagMistake::OtherKey(found) => format!(
                        "the {place} {schema} has a key of number {number} with check value {found}, and this one has {}: \
                         is this the file of another number or namespace? To replace the key, retire it first: DELETE FROM \
                         {schema}.{table} WHERE number = {number}",
                        key.check
                    ),
                    TagMistake::OtherNumber(other) => format!(
                        "the {place} {schema} has the key of this secret as number {other}: is this the file of \
                         another number? Each number has a secret of its own"
                    ),
                })
            })
        }
        (DatabaseKeys::OfIds { .. }, KeysThere::OfTags(_)) => Err(Failure::failed(format!(
            "the {place} {schema} is for tagged UUIDs: name the number of the key with --tagged"
        ))),
        (DatabaseKeys::OfTags { .. }, KeysThere::OfIds { .. }) => Err(Failure::failed(format!(
            "the {place} {schema} is not for tagged UUIDs: leave out --tagged, or make another {place}, with the same option"
        ))),
    }
}

/// Ids have one key for ever. Fails with the check value of another one that is there.
fn of_ids<'a>(key: &'a DatabaseKey, there: Option<&str>) -> Result<Outcome<'a>, String> {
    match there {
        None => Ok(Outcome::Brought(key)),
        Some(there) if there == key.check => Ok(Outcome::WasThere(key)),
        Some(there) => Err(there.to_owned()),
    }
}

enum TagMistake {
    /// The number has a key of this check value.
    OtherKey(String),
    /// This number has the key.
    OtherNumber(i32),
}

/// Each number of tagged UUIDs has its own key.
fn of_tags<'a>(
    number: KeyNumber,
    key: &'a DatabaseKey,
    there: &[(i32, String)],
) -> Result<Outcome<'a>, TagMistake> {
    let number = i32::from(number.get());
    // The file of another number is the likelier mistake, so it is looked for first.
    let same = there.iter().find(|(_, check)| *check == key.check);
    match same.or_else(|| there.iter().find(|(of, _)| *of == number)) {
        None => Ok(Outcome::Brought(key)),
        Some((of, check)) if *check == key.check && *of == number => Ok(Outcome::WasThere(key)),
        Some((of, check)) if *check == key.check => Err(TagMistake::OtherNumber(*of)),
        Some((_, check)) => Err(TagMistake::OtherKey(check.clone())),
    }
}
