//! The command `randflake sql key`.

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

use randflake_std::Secret;
use randflake_std::lease::StoreError;
use zeroize::Zeroizing;

use super::schema::SchemaArgs;
use crate::failure::Failure;
use crate::id_form::IdForm;
use crate::output::print_line;
use crate::secret::SecretArgs;

/// Bring the key to a database, for the functions of `sql postgres` and `sql mysql`
///
/// It connects and copies the key into the table of the schema, so that it is in no statement, no log and no shell's
/// history. Superusers of the database and physical backups have it then. So have PostgreSQL's physical replicas; a replica
/// of MySQL has not, because its binary log is left out: bring the key there too.
///
/// A schema has one key for ever: another one is refused, because ids made under the first could not be read any more. In
/// PostgreSQL so is the key that another schema of the same owner, in the same database, has for another namespace.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql key --namespace orders --database postgres://owner@db.internal/shop --key-file orders.key
  randflake keygen --derive invoices | RANDFLAKE_KEY=$(cat) randflake sql key --namespace invoices")]
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
    #[command(flatten)]
    schema: SchemaArgs,
    #[command(flatten)]
    secret: SecretArgs,
}

impl SqlKeyArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let target = Target {
            url: &self.database.0,
            namespace: &self.namespace,
            schema: &self.schema.name(&self.namespace)?,
            may_be_published: self.published,
        };
        let secret = self.secret.read()?;
        // Which of both the functions use is known once they are found.
        let keys = &DatabaseKeys::of(&secret);
        let outcome = match target.url.split(':').next().unwrap_or_default() {
            "mysql" => mysql::bring(&target, keys),
            "postgres" | "postgresql" => postgres::bring(&target, keys),
            // Without the URL, which may have a password.
            _ => Err(Failure::usage(
                "--database: postgres://USER@HOST/DATABASE and mysql://USER@HOST/DATABASE are allowed",
            )),
        }?;
        let schema = target.schema;
        print_line(match outcome {
            Outcome::Brought(DatabaseKey { check, .. }) => {
                format!("{schema} has the key of check value {check}")
            }
            Outcome::WasThere(DatabaseKey { check, .. }) => {
                format!("{schema} had the key of check value {check} already")
            }
        })
    }
}

/// Where the key is to be.
struct Target<'a> {
    url: &'a str,
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

/// What the functions of a schema, or a database, say of themselves.
struct State {
    namespace: String,
    /// The check value of the key that is there.
    check: Option<String>,
    /// Whether ids have 53 bits.
    is_53: bool,
}

/// What is to become of the key in a schema, or a database, of this namespace with a key of this check value; or why it is
/// refused.
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
    let key = if found.is_53 {
        &keys.bits_53
    } else {
        &keys.bits_64
    };
    match &found.check {
        None => Ok(Outcome::Brought(key)),
        Some(found) if *found == key.check => Ok(Outcome::WasThere(key)),
        Some(found) => Err(Failure::failed(format!(
            "the {place} {schema} has the key of check value {found}, and this one has {}: ids made under the first one \
             could not be read any more. If there are none, remove it first: DELETE FROM {schema}.{table}",
            key.check
        ))),
    }
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

/// The key as a database stores it.
struct DatabaseKey {
    /// Two for each round of both branches at once, and two of whitening: the first words, then the second ones. The left
    /// branch's word is in the lower half, the right one's in the upper.
    round_keys: Zeroizing<Vec<i64>>,
    check: String,
}

/// What a secret's key is in each form of ids.
struct DatabaseKeys {
    bits_64: DatabaseKey,
    bits_53: DatabaseKey,
}

impl DatabaseKeys {
    fn of(secret: &Secret) -> Self {
        Self {
            bits_64: DatabaseKey::of(IdForm::Bits64, secret),
            bits_53: DatabaseKey::of(IdForm::Bits53, secret),
        }
    }
}

impl DatabaseKey {
    fn of(form: IdForm, secret: &Secret) -> Self {
        /// Rounds of a branch between two linear layers.
        const ROUNDS: usize = 3;
        let key = form.device_key(secret);
        let cipher = key.cipher();
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
        let check = form.key_check(&key).value().unwrap_or_default();
        let check = format!("{check:08x}");
        Self { round_keys, check }
    }
}

/// A URL that may have a password. Clap's errors would show it, so it is parsed later; and `Debug` does not show it.
#[derive(Clone)]
struct DatabaseUrl(String);

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
