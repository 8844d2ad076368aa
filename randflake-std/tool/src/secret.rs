//! The secret of ids: where it comes from, how the first one is made, and the ciphers of layouts
//! under it.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use randflake_std::lease::KeyCheck;
use randflake_std::private_file::{self, Readers};
use randflake_std::randflake_core::{Cipher, Codec, LayoutSpec};
use randflake_std::{Secret, SecretError};

use crate::failure::{Failure, say};
use crate::layout::LayoutChoice;
use crate::store::{self, StoreArgs};

const VARIABLE: &str = "RANDFLAKE_KEY";

#[derive(Debug, clap::Args)]
pub(crate) struct SecretArgs {
    /// File of the secret, 32 hex digits, which only its owner may read
    ///
    /// Its mode is 0600 or 0400, of a file of root's also 0640 or 0440. In a read-only mount 0444
    /// and 0644 are allowed, with a warning.
    ///
    /// Without it the secret is that of the environment variable RANDFLAKE_KEY; without that the
    /// systemd credential randflake.key, if the service has one
    /// (LoadCredential=randflake.key:/etc/randflake.key); and without that the one that the first
    /// `generate` made in $XDG_STATE_HOME/randflake/key or ~/.local/state/randflake/key.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// A secret that is only ever the named one: that of devices is not that of the user.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyFileArgs {
    /// File of the devices' secret, 32 hex digits, which only its owner may read
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyFileArgs {
    /// The secret, or `None` if no file is named.
    pub(crate) fn read(&self) -> Result<Option<Secret>, Failure> {
        match &self.key_file {
            Some(path) => SecretSource::Given(path.clone()).read(),
            None => Ok(None),
        }
    }
}

/// Environment variable of the key of tickets.
pub(crate) const TICKET_VARIABLE: &str = "RANDFLAKE_TICKET_KEY";

/// Where the secret comes from.
#[derive(Debug)]
pub(crate) enum SecretSource {
    /// Given by the option `--key-file`.
    Given(PathBuf),
    /// Given by the variable `RANDFLAKE_KEY`.
    Variable,
    /// A systemd credential, which is there.
    Credential(PathBuf),
    /// The file in the state directory, which is there or not.
    Default(PathBuf),
}

impl SecretArgs {
    /// Whether a file is named.
    pub(crate) fn is_given(&self) -> bool {
        self.key_file.is_some()
    }

    pub(crate) fn source(&self) -> Result<SecretSource, Failure> {
        // From what was said for this call to what holds for the user: no fallback is tried when
        // one that was named fails.
        Ok(if let Some(path) = &self.key_file {
            SecretSource::Given(path.clone())
        } else if env::var_os(VARIABLE).is_some() {
            // Set but empty counts as given, and is refused when it is read: going on would take
            // another secret.
            SecretSource::Variable
        } else if let Some(path) = credential() {
            SecretSource::Credential(path)
        } else {
            SecretSource::Default(store::state_directory()?.join("key"))
        })
    }

    /// The secret, made if none was ever given or made: for issuing ids.
    ///
    /// None is made where the ids of several machines meet in one store: each machine would make
    /// its own.
    pub(crate) fn read_or_make(&self, store: &StoreArgs) -> Result<Secret, Failure> {
        let source = self.source()?;
        if let Some(secret) = source.read()? {
            return Ok(secret);
        }
        // Ids under two secrets in one namespace may be equal, and nobody would notice before they
        // are.
        if store.is_shared()? {
            return Err(Failure::Failed(no_secret(store)?));
        }
        // A file that was named is never made: with a mistyped name it would become a second
        // secret.
        if let SecretSource::Default(path) = &source {
            make(path)?;
        }
        // Read again: another process may have been first, and its secret counts.
        source.read()?.ok_or_else(|| source.missing())
    }

    /// The secret. A new one could tell nothing of ids that exist, so none is made.
    pub(crate) fn read(&self) -> Result<Secret, Failure> {
        let source = self.source()?;
        source.read()?.ok_or_else(|| source.missing())
    }

    /// Refuses a key of tickets that is the secret of ids, if that is known here.
    pub(crate) fn differs_from(&self, ticket_key: &Secret) -> Result<(), Failure> {
        // Without a home directory there is no default file, and so no secret here.
        let secret = self.source().ok().map(|source| source.read()).transpose()?;
        match secret.flatten() {
            Some(secret) => differ(&secret, ticket_key),
            None => Ok(()),
        }
    }
}

/// The key that a layout's ids are encrypted with.
impl LayoutChoice {
    /// The check value of the key that encrypts the ids; `None` if that is a secret which is not
    /// known here.
    pub(crate) fn known_key_check(&self, secret: &SecretArgs) -> Result<Option<KeyCheck>, Failure> {
        if !self.form().is_encrypted() {
            return Ok(Some(KeyCheck::Plain));
        }
        // Read and not made: a command that only compares must leave no secret behind.
        let secret = secret.source()?.read()?;
        Ok(secret.map(|secret| self.key_check(&secret)))
    }

    /// The check value of ids under a secret.
    pub(crate) fn key_check(&self, secret: &Secret) -> KeyCheck {
        KeyCheck::of(&self.form().cipher(secret))
    }

    /// The codec, with the secret if the ids are encrypted.
    pub(crate) fn codec(
        &self,
        secret: &SecretArgs,
    ) -> Result<Codec<LayoutSpec, Option<Cipher>>, Failure> {
        let key = self.form().is_encrypted().then(|| secret.read());
        let cipher = key.transpose()?.and_then(|key| self.form().cipher(&key));
        Ok(Codec::new(self.spec(), cipher))
    }

    /// The cipher for new ids, whose secret is made if there is none; `None` for plain ids.
    pub(crate) fn cipher_for_issuing(
        &self,
        secret: &SecretArgs,
        store: &StoreArgs,
    ) -> Result<Option<Cipher>, Failure> {
        let key = self
            .form()
            .is_encrypted()
            .then(|| secret.read_or_make(store));
        Ok(key.transpose()?.and_then(|key| self.form().cipher(&key)))
    }
}

/// Why no secret is made for a store that several machines share.
pub(crate) fn no_secret(store: &StoreArgs) -> Result<String, Failure> {
    Ok(format!(
        "no secret: all machines that use {} need the same one, so none is made here; make it once, `randflake keygen \
         --out randflake.key`, copy that file to each machine, and give --key-file randflake.key or set {VARIABLE}",
        store.shown_url()?
    ))
}

/// Refuses a ticket key that is the secret of ids.
///
/// An id is a block under its secret, and a ticket's authenticator is made of blocks under its key:
/// with one key for both, ids help to forge tickets.
fn differ(secret: &Secret, ticket_key: &Secret) -> Result<(), Failure> {
    if secret == ticket_key || secret.key53() == *ticket_key {
        return Err(Failure::failed(
            "the key of tickets is the secret of ids: take another one for tickets, made with `randflake \
             keygen`",
        ));
    }
    Ok(())
}

impl SecretSource {
    /// Whether somebody has given it, who may have given it to other machines too. The default file
    /// was made on this one.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(self, Self::Default(_))
    }

    /// The secret, or `None` when the default file is not there.
    pub(crate) fn read(&self) -> Result<Option<Secret>, Failure> {
        let read = match self {
            Self::Given(path) | Self::Credential(path) | Self::Default(path) => from_file(path),
            Self::Variable => Secret::from_env(VARIABLE),
        };
        match (read, self) {
            (Ok(secret), _) => {
                // Wherever both keys are known, not only where tickets are made.
                if let Ok(ticket_key) = Secret::from_env(TICKET_VARIABLE) {
                    differ(&secret, &ticket_key)?;
                }
                Ok(Some(secret))
            }
            // The default file is made by the first `generate`, so its absence is no error; a named
            // one's is.
            (Err(error), Self::Default(_)) if is_not_found(&error) => Ok(None),
            // The variable's text was given by the caller, so a wrong one is a usage error; a
            // file's was found.
            (Err(error), Self::Variable) => Err(Failure::usage(format!(
                "{VARIABLE}: {error}; `randflake keygen` makes one"
            ))),
            (Err(error), Self::Given(path) | Self::Credential(path) | Self::Default(path)) => {
                Err(unread(path, &error))
            }
        }
    }

    /// The failure of a command that needs a secret where there is none.
    fn missing(&self) -> Failure {
        let default = match self {
            Self::Default(path) => format!(
                " ({}, which the first `randflake generate` makes, is not there)",
                path.display()
            ),
            Self::Given(_) | Self::Variable | Self::Credential(_) => String::new(),
        };
        Failure::failed(format!(
            "no secret: set {VARIABLE} or give --key-file FILE{default}"
        ))
    }
}

/// The credential that systemd gives a service with `LoadCredential=randflake.key:...`.
fn credential() -> Option<PathBuf> {
    let directory = PathBuf::from(env::var_os("CREDENTIALS_DIRECTORY")?);
    let path = directory.join("randflake.key");
    let found = path.symlink_metadata();
    // One that cannot be looked at is refused when it is read: another secret would be taken
    // instead.
    let is_absent = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    // Relative, the directory would depend on where the service was started.
    (directory.is_absolute() && !is_absent).then_some(path)
}

/// Reads a file, with a warning if others may.
pub(crate) fn from_file(path: &Path) -> Result<Secret, SecretError> {
    let (secret, readers) = Secret::from_file_with_readers(path)?;
    // A warning and no refusal: Kubernetes mounts secrets with mode 0644 unless told otherwise.
    if readers == Readers::All {
        say(&format!(
            "warning: every user of this machine or container may read the secret file {}: mount it with mode 0440 \
             and a group (Kubernetes: defaultMode: 0440 with fsGroup)",
            path.display()
        ));
    }
    Ok(secret)
}

/// The failure of a file of a secret.
pub(crate) fn unread(path: &Path, error: &SecretError) -> Failure {
    let name = path.file_name().and_then(OsStr::to_str);
    match error {
        SecretError::Hex { .. } => {
            Failure::failed(format!("secret file {}: {error}", path.display()))
        }
        // The secret itself in the place of its file: a common mistake, and the message must not
        // repeat it.
        _ if is_not_found(error) && name.is_some_and(|name| Secret::from_hex(name).is_ok()) => {
            Failure::usage(format!(
                "the name of a secret's file is asked for, not the secret itself: write it to a file of mode 0600, or set \
                 {VARIABLE} to it, and remove it from the shell's history"
            ))
        }
        _ if is_not_found(error) => Failure::failed(format!(
            "{error}: is the path right, and its volume mounted? `randflake keygen --out FILE` makes a first one"
        )),
        _ => Failure::failed(error),
    }
}

fn is_not_found(error: &SecretError) -> bool {
    matches!(error, SecretError::File(refusal) if refusal.io_kind() == Some(ErrorKind::NotFound))
}

/// Makes the secret at the default place. Of several processes that do so at once one wins, and its
/// secret is everybody's.
///
/// The file is whole when it gets its name, by a hard link, which fails where the name is taken.
fn make(path: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("secret file {}: {error}", path.display()));
    let directory = path.parent().unwrap_or(path);
    store::create_state_directory(directory)?;
    // A name of its own for each draft: two processes that start at once must not write to one
    // file.
    let random = getrandom::u64().map_err(Failure::failed)?;
    let draft = directory.join(format!("key.{random:016x}"));
    Secret::generate()
        .and_then(|secret| secret.write_new(&draft))
        .map_err(Failure::failed)?;
    // Not renamed: that would replace the secret of a process that was faster, and under which ids
    // exist by now.
    let linked = fs::hard_link(&draft, path);
    // Also where the link failed: no second copy of a secret may lie around.
    fs::remove_file(&draft).map_err(failed)?;
    let is_ours = linked.is_ok();
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
        // After a crash of the machine the name must be there: ids were made under that secret.
        _ => private_file::sync_name(path).map_err(failed)?,
    }
    if is_ours {
        say(&format!("made a new secret in {}", path.display()));
    }
    Ok(())
}
