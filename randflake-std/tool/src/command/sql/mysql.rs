//! The command `randflake sql mysql`.

use super::schema::SchemaArgs;
use super::template::Pieces;
use super::terms::TermsArgs;
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
  randflake sql mysql --layout discord --schema discord > discord.sql")]
pub(crate) struct SqlMysqlArgs {
    #[command(flatten)]
    schema: SchemaArgs,
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
        piece!("fields"),
        piece!("ranges"),
        piece!("text"),
        piece!("plain_fields"),
        piece!("end"),
    ],
    parts: &[
        ("declare_key", piece!("declare_key")),
        ("load_key", piece!("load_key")),
        ("encrypt_steps", piece!("encrypt_steps")),
    ],
};

impl SqlMysqlArgs {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let terms = self.terms.read()?;
        let schema = self.schema.name(&terms.namespace)?;
        let text = PIECES.of_layout(terms, schema)?;
        print_line(text.trim_end())
    }
}
