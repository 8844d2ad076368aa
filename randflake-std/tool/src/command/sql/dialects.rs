//! `sql postgres`, `sql mysql` and `sql duckdb`: SQL functions over ids, printed.

use super::template::{
    BITS_53, BITS_64, Contents, Pieces, SchemaArgs, Terms, TermsArgs, fill, values,
};
use crate::failure::Failure;
use crate::output::print_line;

/// Print functions that read and make ids in PostgreSQL
///
/// They are SQL and PL/pgSQL in a schema of their own: no extension and no superuser, so managed
/// services take them. Run the output once, as the role that shall own the schema; it begins and
/// ends its own transaction. Encrypted ids then need the key, which `randflake sql key` brings.
///
/// With --counter the database makes ids itself: an encrypted counter, in a namespace and under a
/// secret of its own. It counts 1, 2, 3, without steps or dates, and shares nothing with a counter
/// of `randflake segment`. It jumps ahead after each start of the server, and in a copy of the
/// database it waits until its owner calls resume. With --tagged it checks and makes tagged UUIDs,
/// by keys that cannot read ids.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql postgres --namespace orders | psql -v ON_ERROR_STOP=1
  randflake sql postgres --namespace invoices --counter | psql -v ON_ERROR_STOP=1
  randflake sql postgres --namespace orders --tagged | psql -v ON_ERROR_STOP=1
  randflake sql postgres --layout discord --schema discord > discord.sql")]
pub(crate) struct SqlPostgresArgs {
    #[command(flatten)]
    schema: SchemaArgs,
    /// Make ids of an encrypted counter here, by next_id, instead of reading those of a layout
    #[arg(long, conflicts_with = "layout")]
    counter: bool,
    /// Check and make tagged UUIDs here, by is_tagged, tagged_id and make_uuid, instead of reading
    /// ids
    #[arg(long, conflicts_with_all = ["layout", "counter"])]
    tagged: bool,
    #[command(flatten)]
    terms: TermsArgs,
}

macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!("../../../sql/postgres/", $name, ".sql"))
    };
}

/// The texts for ids of a layout, encrypted or not, for a counter, and for tagged UUIDs.
const ENCRYPTED: &[&str] = &[
    piece!("schema"),
    piece!("text"),
    piece!("key"),
    piece!("encrypt_block"),
    piece!("decrypt_block"),
    piece!("cipher"),
    piece!("fields"),
    piece!("ranges"),
    piece!("encrypted_fields"),
    piece!("rights"),
];
const ENCRYPTED_53: &[&str] = &[
    piece!("schema"),
    piece!("text"),
    piece!("key"),
    piece!("encrypt_block"),
    piece!("decrypt_block"),
    piece!("cipher"),
    piece!("numbers"),
    piece!("fields"),
    piece!("ranges"),
    piece!("encrypted_fields"),
    piece!("rights"),
];
const PLAIN: &[&str] = &[
    piece!("schema"),
    piece!("text"),
    piece!("fields"),
    piece!("ranges"),
    piece!("plain_fields"),
];
const COUNTER: &[&str] = &[
    piece!("schema"),
    piece!("text"),
    piece!("key"),
    piece!("encrypt_block"),
    piece!("decrypt_block"),
    piece!("cipher"),
    piece!("counter"),
    piece!("rights"),
];
const POSTGRES_TAGGED: &[&str] = &[
    piece!("schema"),
    piece!("tag_key"),
    piece!("encrypt_block"),
    piece!("tagged"),
    piece!("rights"),
];

/// Functions that only the owner calls: they return the key, or take one, or say where a counter
/// goes on.
const INNER_FUNCTIONS: &str = "'round_keys', 'encrypt_block', 'decrypt_block', 'encrypt_number', \
     'decrypt_number', 'here', 'this_run', 'confirm', 'resume'";
/// Functions that use the key for their callers: each is a right that the owner grants.
const GRANTED_FUNCTIONS: &str = "'encrypt', 'decrypt', 'encrypt_many', 'decrypt_many', 'next_id', \
     'is_tagged', 'tagged_id', 'make_uuid'";

/// Operators by their places, `{+}`: with a schema, because the caller's `search_path` chooses
/// among operators without one. There an operator for the exact types of its arguments wins over
/// `pg_catalog`'s, which converts them. So everybody who may create something in `public` could run
/// code as the caller.
///
/// All have one precedence in this form, and are evaluated from left to right: the texts have
/// parentheses for the rest.
const OPERATORS: [&str; 19] = [
    "&", "|", "#", "<<", ">>", "+", "-", "*", "/", "%", "=", "<>", "<", ">", "<=", ">=", "||", "~",
    "!~",
];

/// What the texts have in their places besides the terms of a namespace.
pub(super) fn common_values() -> impl Iterator<Item = (&'static str, String)> {
    let operators = OPERATORS.map(|name| (name, format!("OPERATOR(pg_catalog.{name})")));
    let functions = [
        ("inner_functions", INNER_FUNCTIONS),
        ("granted_functions", GRANTED_FUNCTIONS),
    ]
    .map(|(name, value)| (name, value.to_owned()));
    operators.into_iter().chain(functions)
}

impl SqlPostgresArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let terms = match (self.counter, self.tagged) {
            (true, _) => self.terms.without_layout(Contents::Counter)?,
            (_, true) => self.terms.without_layout(Contents::Tagged)?,
            _ => self.terms.read()?,
        };
        let schema = self.schema.name(&terms.namespace)?;
        let (pieces, form, of_layout) = match terms.contents {
            Contents::Encrypted(spec) => (ENCRYPTED, BITS_64, values(spec)?),
            Contents::Encrypted53(spec) => (ENCRYPTED_53, BITS_53, values(spec)?),
            Contents::Plain(spec) => (PLAIN, BITS_64, values(spec)?),
            Contents::Counter => (COUNTER, BITS_64, described("a counter, encrypted")),
            Contents::Tagged => (POSTGRES_TAGGED, BITS_64, described("tagged UUIDs")),
        };
        let mut values = vec![("schema", schema), ("namespace", terms.namespace)];
        values.extend(form.map(|(name, value)| (name, value.to_owned())));
        values.extend(of_layout);
        // Last: the expressions of a layout have operators.
        values.extend(common_values());
        let text = fill(&pieces.concat(), &values);
        // For the types of columns and arguments, which have no schema there.
        let search_path = "SET LOCAL search_path = pg_catalog, pg_temp;";
        print_line(format_args!("BEGIN;\n{search_path}\n\n{text}\nCOMMIT;"))
    }
}

/// The values of what has no layout.
fn described(layout: &str) -> Vec<(&'static str, String)> {
    vec![("layout", layout.to_owned())]
}

/// Print functions that read and make ids in MySQL and MariaDB
///
/// They are stored functions in a database of their own. Run the output once, with the client,
/// which knows DELIMITER. With the binary log on, its user needs SUPER, or the server the setting
/// log_bin_trust_function_creators. Encrypted ids then need the key, which `randflake sql key`
/// brings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql mysql --namespace orders | mysql
  randflake sql mysql --namespace orders --tagged | mysql
  randflake sql mysql --layout discord --schema discord > discord.sql")]
pub(crate) struct SqlMysqlArgs {
    #[command(flatten)]
    schema: SchemaArgs,
    /// Check and make tagged UUIDs here, by is_tagged, tagged_id and make_uuid, instead of reading
    /// ids
    #[arg(long, conflicts_with = "layout")]
    tagged: bool,
    #[command(flatten)]
    terms: TermsArgs,
}

macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!("../../../sql/mysql/", $name, ".sql"))
    };
}

const MYSQL_PIECES: Pieces = Pieces {
    encrypted: &[
        piece!("schema"),
        piece!("bits"),
        piece!("fields"),
        piece!("ranges"),
        piece!("text"),
        piece!("key"),
        piece!("cipher"),
        piece!("encrypted_fields"),
        piece!("end"),
    ],
    encrypted_53: &[
        piece!("schema"),
        piece!("bits"),
        piece!("fields"),
        piece!("ranges"),
        piece!("text"),
        piece!("key"),
        piece!("numbers"),
        piece!("encrypted_fields"),
        piece!("end"),
    ],
    plain: &[
        piece!("schema"),
        piece!("bits"),
        piece!("fields"),
        piece!("ranges"),
        piece!("text"),
        piece!("plain_fields"),
        piece!("end"),
    ],
    parts: &[
        ("declare_key", piece!("declare_key")),
        // Before what it has in it.
        ("load_key", piece!("load_key")),
        ("select_key", piece!("select_key")),
        ("key_columns", piece!("key_columns")),
        ("encrypt_steps", piece!("encrypt_steps")),
    ],
};

const MYSQL_TAGGED: &[&str] = &[
    piece!("schema"),
    piece!("bits"),
    piece!("tag_key"),
    piece!("tagged"),
    piece!("uuid_text"),
    piece!("end"),
];

impl SqlMysqlArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let text = if self.tagged {
            let Terms { namespace, .. } = self.terms.without_layout(Contents::Tagged)?;
            let schema = self.schema.name(&namespace)?;
            let layout = ("layout", "tagged UUIDs".to_owned());
            MYSQL_PIECES.filled(MYSQL_TAGGED, namespace, schema, BITS_64, vec![layout])
        } else {
            let terms = self.terms.read()?;
            let schema = self.schema.name(&terms.namespace)?;
            MYSQL_PIECES.of_layout(terms, schema)?
        };
        print_line(text.trim_end())
    }
}

/// Print macros that read and make ids in DuckDB
///
/// They are in a schema of their own, of a database file or of one session. The key is a variable
/// of the session, which the macro `key_of` makes of a secret: it is in no file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql duckdb --namespace orders > randflake_orders.sql
  duckdb orders.duckdb < randflake_orders.sql")]
pub(crate) struct SqlDuckdbArgs {
    #[command(flatten)]
    schema: SchemaArgs,
    #[command(flatten)]
    terms: TermsArgs,
}

macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!("../../../sql/duckdb/", $name, ".sql"))
    };
}

const DUCKDB_PIECES: Pieces = Pieces {
    encrypted: &[
        piece!("schema"),
        piece!("text"),
        piece!("fields"),
        piece!("ranges"),
        piece!("key"),
        piece!("blocks"),
        piece!("cipher"),
        piece!("encrypted_fields"),
    ],
    encrypted_53: &[
        piece!("schema"),
        piece!("text"),
        piece!("fields"),
        piece!("ranges"),
        piece!("key"),
        piece!("blocks"),
        piece!("numbers"),
        piece!("cipher"),
        piece!("encrypted_fields"),
    ],
    plain: &[
        piece!("schema"),
        piece!("text"),
        piece!("fields"),
        piece!("ranges"),
        piece!("plain_fields"),
    ],
    parts: &[],
};

impl SqlDuckdbArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let terms = self.terms.read()?;
        let schema = self.schema.name(&terms.namespace)?;
        let text = DUCKDB_PIECES.of_layout(terms, schema)?;
        print_line(text.trim_end())
    }
}
