//! `TagSecrets`, the directory of numbered secrets.

use core::fmt::{self, Debug, Formatter};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use randflake_core::{AnyLayout, Codec, Id, KeyNumber, Parts, TaggedUuid};

use super::error::{TagCheckError, TagSecretsError};
use super::keys::{Key, Keys, numbers};
use crate::secret::Secret;
use crate::vocabulary::Namespace;

/// What the name of a key's file ends with, behind the number.
const EXTENSION: &str = "key";

/// The secrets of one namespace of tagged UUIDs, by key number: reads UUIDs, and is what a [`TaggedHandle`] issues under.
///
/// Clones are cheap and share the keys. To check takes no lock and does no I/O. The directory is read again by a
/// [`TaggedHandle`] with these secrets, or by [`refresh`](TagSecrets::refresh).
///
/// A key stays in memory after its file was removed, wiped when the last clone is dropped; no UUID is accepted under it.
///
/// ```
/// use randflake_std::tagged::{TagCheckError, TagSecrets};
/// use randflake_std::{Id, KeyNumber, Secret};
///
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
/// Secret::generate()?.write_new(directory.join("1.key"))?;
/// let secrets = TagSecrets::open(directory, "orders")?;
///
/// # let key = Secret::from_file(directory.join("1.key"))?.tag_key(KeyNumber::MIN, "orders")?;
/// # let received = key.tag(Id::from_u64(42)).to_string();
/// let id = secrets.check(received.parse().unwrap())?;
/// # assert_eq!(id, Id::from_u64(42));
/// # let forged = Secret::generate()?.tag_key(KeyNumber::MIN, "orders")?.tag(id);
/// assert!(matches!(secrets.check(forged), Err(TagCheckError::Tag { .. })));
///
/// // Retired.
/// std::fs::remove_file(directory.join("1.key"))?;
/// Secret::generate()?.write_new(directory.join("2.key"))?;
/// secrets.refresh()?;
/// assert!(matches!(secrets.check(received.parse().unwrap()), Err(TagCheckError::Retired { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`TaggedHandle`]: super::TaggedHandle
#[derive(Clone)]
pub struct TagSecrets(Arc<Shared>);

struct Shared {
    directory: PathBuf,
    namespace: String,
    keys: Keys,
}

impl TagSecrets {
    /// Reads a directory of files `1.key` to `63.key`, the secrets of one namespace. Files of other endings are ignored.
    ///
    /// # Errors
    ///
    /// [`TagSecretsError`].
    pub fn open(directory: impl AsRef<Path>, namespace: &str) -> Result<Self, TagSecretsError> {
        Namespace::check_name(namespace).map_err(TagSecretsError::Name)?;
        let secrets = Self(Arc::new(Shared {
            directory: directory.as_ref().to_owned(),
            namespace: namespace.to_owned(),
            keys: Keys::new(),
        }));
        secrets.refresh()?;
        Ok(secrets)
    }

    /// Reads the directory again: takes new keys, and retires those whose file is gone. It blocks while files are read. A
    /// reader calls it every few seconds; a [`TaggedHandle`](super::TaggedHandle) does so every ten seconds or faster.
    ///
    /// # Errors
    ///
    /// [`TagSecretsError`]; the keys are as they were then.
    pub fn refresh(&self) -> Result<(), TagSecretsError> {
        let Shared {
            directory,
            namespace,
            keys,
        } = &*self.0;
        let found = read(directory)?;
        if found.is_empty() {
            return Err(TagSecretsError::Empty {
                directory: directory.clone(),
            });
        }
        self.check_distinct(&found)?;
        let is_found = numbers().map(|number| (number, found.contains_key(&number)));
        let is_found: Vec<_> = is_found.collect();
        for (number, secret) in found {
            if keys.get(number).is_none() {
                let tag = secret.tag_key(number, namespace);
                let tag = tag.map_err(TagSecretsError::Name)?;
                keys.put(number, Key { secret, tag });
            }
        }
        // After the keys: who sees that one is there finds it.
        for (number, is_there) in is_found {
            keys.set_there(number, is_there);
        }
        Ok(())
    }

    /// Refuses a secret of two numbers, and one that is not what its number had before.
    fn check_distinct(&self, found: &BTreeMap<KeyNumber, Secret>) -> Result<(), TagSecretsError> {
        for (&number, secret) in found {
            let known = self.0.keys.get(number);
            if known.is_some_and(|key| key.secret != *secret) {
                return Err(TagSecretsError::Changed {
                    file: self.file(number),
                });
            }
            let later = found.range(number..).skip(1);
            // Also that of a retired key: UUIDs of it would be made again by whoever has it.
            let retired = numbers().filter(|other| !found.contains_key(other));
            let retired =
                retired.filter_map(|other| Some((other, &self.0.keys.get(other)?.secret)));
            let others = later.map(|(&other, secret)| (other, secret)).chain(retired);
            if let Some((other, _)) = others.into_iter().find(|(_, other)| *other == secret) {
                let (first, second) = (number.min(other), number.max(other));
                return Err(TagSecretsError::Equal { first, second });
            }
        }
        Ok(())
    }

    /// Checks the tag of a UUID, and returns the id in it, which is encrypted under the secret of the UUID's key number.
    ///
    /// That is *made by a holder of the key*, and nothing more: a copied UUID passes, too.
    ///
    /// # Errors
    ///
    /// [`TagCheckError`].
    pub fn check(&self, uuid: TaggedUuid) -> Result<Id, TagCheckError> {
        let key = self.key(uuid.key_number())?;
        key.tag.check(uuid).map_err(|_| TagCheckError::Tag {
            number: uuid.key_number(),
        })
    }

    /// Checks the tag of a UUID as [`check`](TagSecrets::check) does, and returns the fields of its id in a layout.
    ///
    /// # Errors
    ///
    /// [`TagCheckError`].
    pub fn inspect(
        &self,
        layout: impl AnyLayout,
        uuid: TaggedUuid,
    ) -> Result<Parts, TagCheckError> {
        let id = self.check(uuid)?;
        let key = self.key(uuid.key_number())?;
        let codec = key.secret.boxed(|cipher| Codec::new(layout, cipher));
        Ok(codec.inspect(id))
    }

    /// The numbers whose files were there when the directory was read last, in order.
    #[must_use]
    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = KeyNumber> {
        numbers().filter(|number| self.0.keys.is_there(*number))
    }

    /// Name of the namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// The file of a number.
    #[must_use]
    pub fn file(&self, number: KeyNumber) -> PathBuf {
        self.0.directory.join(format!("{number}.{EXTENSION}"))
    }

    /// The key of a number that is not retired.
    pub(super) fn key(&self, number: KeyNumber) -> Result<&Key, TagCheckError> {
        let keys = &self.0.keys;
        match keys.get(number) {
            None => Err(TagCheckError::Unknown { number }),
            Some(_) if !keys.is_there(number) => Err(TagCheckError::Retired { number }),
            Some(key) => Ok(key),
        }
    }
}

/// Shows the numbers, and no secret.
impl Debug for TagSecrets {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagSecrets")
            .field("directory", &self.0.directory)
            .field("namespace", &self.0.namespace)
            .field("numbers", &self.numbers().collect::<Vec<_>>())
            .finish()
    }
}

/// The secrets of a directory, by number.
fn read(directory: &Path) -> Result<BTreeMap<KeyNumber, Secret>, TagSecretsError> {
    let failed = |source| TagSecretsError::Directory {
        directory: directory.to_owned(),
        source,
    };
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_none_or(|it| it != EXTENSION) {
            continue;
        }
        let number = file
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        // A misspelt name must not look like a key that is not there.
        let Some(number) = number else {
            return Err(TagSecretsError::FileName { file });
        };
        let secret =
            Secret::from_file(&file).map_err(|source| TagSecretsError::Secret { file, source })?;
        found.insert(number, secret);
    }
    Ok(found)
}
