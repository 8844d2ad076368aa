//! The option `--keys`: the directory of a namespace's numbered keys.

use std::path::PathBuf;

use randflake_std::tagged::TagSecrets;
use randflake_std::{KeyNumber, Secret};

use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct KeysArgs {
    /// Directory of the namespace's keys: 1.key to 63.key, each a secret that only its owner may read
    ///
    /// `randflake keygen --out DIRECTORY/1.key` makes the first one. A key whose file was removed is retired.
    #[arg(long, value_name = "DIRECTORY", env = "RANDFLAKE_KEYS")]
    keys: PathBuf,
}

impl KeysArgs {
    /// Reads the keys. The tags of a namespace's UUIDs depend on its name.
    pub(crate) fn read(&self, namespace: &str) -> Result<TagSecrets, Failure> {
        Ok(TagSecrets::open(&self.keys, namespace)?)
    }
}

/// The secret of a key number.
pub(crate) fn secret(keys: &TagSecrets, number: KeyNumber) -> Result<Secret, Failure> {
    let file = keys.file(number);
    if !keys.numbers().any(|other| other == number) {
        let there: Vec<_> = keys.numbers().map(|other| format!("{other}.key")).collect();
        return Err(Failure::failed(format!(
            "{} is not there: put the secret there that others have for that number, or if nobody has one yet, make it once with \
             `randflake keygen --out` and copy it to all; there are {}",
            file.display(),
            there.join(", ")
        )));
    }
    Secret::from_file(&file).map_err(Failure::failed)
}
