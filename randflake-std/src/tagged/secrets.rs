//! `TagSecrets`, the directory of numbered secrets.

use core::fmt::{self, Debug, Formatter};
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use randflake_core::{AnyLayout, Codec, Id, KeyNumber, Parts, TagKey, TaggedUuid};
use randflake_lease::{Namespace, Secret};

use super::error::{TagCheckError, TagSecretsError};

/// What the name of a key's file ends with, behind the number.
const EXTENSION: &str = "key";

/// The secrets of one namespace of tagged UUIDs, by key number: reads UUIDs, and is what a
/// [`TaggedHandle`] issues under.
///
/// Clones are cheap and share the keys. To check takes no lock and does no I/O. The directory is
/// read again by a [`TaggedHandle`] with these secrets, or by [`refresh`](TagSecrets::refresh).
///
/// A key stays in memory after its file was removed, wiped when the last clone is dropped; no UUID
/// is accepted under it.
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
    /// Reads a directory of files `1.key` to `63.key`, the secrets of one namespace. Files of other
    /// endings are ignored.
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

    /// Reads the directory again: takes new keys, and retires those whose file is gone. It blocks
    /// while files are read. A reader calls it every few seconds; a
    /// [`TaggedHandle`](super::TaggedHandle) does so every ten seconds or faster.
    ///
    /// # Errors
    ///
    /// [`TagSecretsError`]: of several files that are refused, one. The other files count all the same, so a bad file beside it
    /// does not keep a key that is to be retired. A key whose file cannot be read stays as it was,
    /// and so do all of them if the directory cannot be read; one whose file has another secret is
    /// retired.
    pub fn refresh(&self) -> Result<(), TagSecretsError> {
        let Listed {
            there,
            secrets,
            mut refused,
        } = list(&self.0.directory)?;
        let is_empty = there.is_empty() && refused.is_none();
        for number in numbers().filter(|number| !there.contains(number)) {
            self.0.keys.set_there(number, false);
        }
        for (number, secret) in &secrets {
            if let Err(error) = self.take(*number, secret, &secrets) {
                refused = Some(error);
            }
        }
        if is_empty {
            return Err(TagSecretsError::Empty {
                directory: self.0.directory.clone(),
            });
        }
        refused.map_or(Ok(()), Err)
    }

    /// Takes what a file says. Refuses a secret of two numbers, and one that is not what its number
    /// had before.
    fn take(
        &self,
        number: KeyNumber,
        secret: &Secret,
        found: &BTreeMap<KeyNumber, Secret>,
    ) -> Result<(), TagSecretsError> {
        let keys = &self.0.keys;
        if let Some(known) = keys.get(number) {
            let is_same = known.secret == *secret;
            keys.set_there(number, is_same);
            let file = self.file(number);
            return if is_same {
                Ok(())
            } else {
                Err(TagSecretsError::Changed { file })
            };
        }
        // Also that of a retired key: its holders could make UUIDs of the new number.
        let equal = numbers().find(|other| {
            let known = keys.get(*other).map(|key| &key.secret);
            *other != number && [found.get(other), known].contains(&Some(secret))
        });
        if let Some(other) = equal {
            let (first, second) = (number.min(other), number.max(other));
            return Err(TagSecretsError::Equal { first, second });
        }
        let tag = secret
            .tag_key(number, &self.0.namespace)
            .map_err(TagSecretsError::Name)?;
        keys.put(
            number,
            Key {
                secret: secret.clone(),
                tag,
            },
        );
        // After the key: who sees that it is there finds it.
        keys.set_there(number, true);
        Ok(())
    }

    /// Checks the tag of a UUID, and returns the id in it, which is encrypted under the secret of
    /// the UUID's key number.
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

    /// Checks the tag of a UUID as [`check`](TagSecrets::check) does, and returns the fields of its
    /// id in a layout.
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

/// What the files of a directory say.
struct Listed {
    /// The numbers that have a file.
    there: BTreeSet<KeyNumber>,
    secrets: BTreeMap<KeyNumber, Secret>,
    refused: Option<TagSecretsError>,
}

fn list(directory: &Path) -> Result<Listed, TagSecretsError> {
    let failed = |source| TagSecretsError::Directory {
        directory: directory.to_owned(),
        source,
    };
    let mut listed = Listed {
        there: BTreeSet::new(),
        secrets: BTreeMap::new(),
        refused: None,
    };
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
            listed.refused = Some(TagSecretsError::FileName { file });
            continue;
        };
        listed.there.insert(number);
        match Secret::from_file(&file) {
            Ok(secret) => _ = listed.secrets.insert(number, secret),
            Err(source) => listed.refused = Some(TagSecretsError::Secret { file, source }),
        }
    }
    Ok(listed)
}

/// A secret, and the key of tags that is derived from it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) secret: Secret,
    pub(super) tag: TagKey,
}

/// The key of one number. Once it was read it never changes.
#[derive(Debug, Default)]
struct Place {
    key: OnceLock<Key>,
    /// Whether its file was there when the directory was read last.
    is_there: AtomicBool,
}

/// The keys that were read, by number: without a lock, so that a forked child never waits for one.
#[derive(Debug)]
pub(super) struct Keys([Place; KeyNumber::MAX.get() as usize]);

impl Keys {
    pub(super) fn new() -> Self {
        Self(core::array::from_fn(|_| Place::default()))
    }

    /// The key of a number, if it was ever read.
    pub(super) fn get(&self, number: KeyNumber) -> Option<&Key> {
        self.place(number)?.key.get()
    }

    /// Whether its file was there when the directory was read last.
    pub(super) fn is_there(&self, number: KeyNumber) -> bool {
        let place = self.place(number);
        // With the store of `set_there`: who sees it also finds the key.
        place.is_some_and(|place| place.is_there.load(Ordering::Acquire))
    }

    /// Keeps a key, unless the number has one already.
    pub(super) fn put(&self, number: KeyNumber, key: Key) {
        if let Some(place) = self.place(number) {
            _ = place.key.set(key);
        }
    }

    pub(super) fn set_there(&self, number: KeyNumber, is_there: bool) {
        if let Some(place) = self.place(number) {
            place.is_there.store(is_there, Ordering::Release);
        }
    }

    fn place(&self, number: KeyNumber) -> Option<&Place> {
        self.0.get(usize::from(number.get()) - 1)
    }
}

/// All key numbers, in order.
pub(super) fn numbers() -> impl DoubleEndedIterator<Item = KeyNumber> {
    (KeyNumber::MIN.get()..=KeyNumber::MAX.get()).filter_map(|number| KeyNumber::new(number).ok())
}
