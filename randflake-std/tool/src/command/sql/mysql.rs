//! The command `randflake sql mysql`.

use super::schema::SchemaArgs;
use super::template::{BITS_64, Pieces};
use super::terms::{Contents, Terms, TermsArgs};
use crate::failure::Failure;
use crate::output::print_line;

/// Print functions that read and make ids in MySQL and MariaDB
///
/// They are stored functions in a database of their own. Run the output once, with the client, which knows DELIMITER. With
/// the binary log on, its user needs SUPER, or the server the setting log_bin_trust_function_creators. Encrypted ids then
/// need the key, which `randflake sql key` brings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  randflake sql mysql --namespace orders | mysql
  randflake sql mysql --namespace orders --tagged | mysql
  randflake sql mysql --layout discord --schema discord > discord.sql")]
pub(crate) struct SqlMysqlArgs {
    #[command(flatten)]
    schema: SchemaArgs,
    /// Check and make tagged UUIDs here, by is_tagged, tagged_id and make_uuid, instead of reading ids
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

const PIECES: Pieces = Pieces {
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

const TAGGED: &[&str] = &[
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
            PIECES.filled(TAGGED, namespace, schema, BITS_64, vec![layout])
        } else {
            let terms = self.terms.read()?;
            let schema = self.schema.name(&terms.namespace)?;
            PIECES.of_layout(terms, schema)?
        };
        print_line(text.trim_end())
    }
}
