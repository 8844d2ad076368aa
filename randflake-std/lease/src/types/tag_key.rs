//! Keys of tags, which secrets and the names of namespaces make.

use randflake_core::{KeyNumber, TagKey};

use super::{Namespace, NamespaceError};
use crate::secret::Secret;

// Here and not with the other derivations, since a secret knows of no namespaces.
impl Secret {
    /// Returns the key that tags the UUIDs of a namespace under a key number, whose secret this is. It is wiped on drop, but
    /// what moves leaves a copy behind.
    ///
    /// Its key is derived: the first 16 bytes of HKDF-SHA256 (RFC 5869) without salt, with `randflake-tag`, one byte of key
    /// number and the name as `info`. So a UUID of another namespace, or of another key number, has another tag.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] for a name that no [`Namespace`](crate::Namespace) may have.
    ///
    /// ```
    /// use randflake_core::{Id, KeyNumber};
    /// use randflake_lease::Secret;
    ///
    /// let secret = Secret::from_hex("dffd6021bb2bd5b0af676290809ec3a5")?;
    /// let key = secret.tag_key(KeyNumber::new(1)?, "orders")?;
    /// let uuid = key.tag(Id::from_u64(0x0123_4567_89ab_cdef));
    /// assert_eq!(key.check(uuid)?.to_u64(), 0x0123_4567_89ab_cdef);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tag_key(&self, number: KeyNumber, namespace: &str) -> Result<TagKey, NamespaceError> {
        let key = self.key_of_tags(number, namespace)?;
        Ok(TagKey::new(number, key.cipher()))
    }

    /// Returns the key of [`tag_key`](Secret::tag_key), for what takes a key instead of a secret: functions in a database. It
    /// makes and checks tags of this key number and namespace alone: nothing of this secret follows from it.
    ///
    /// # Errors
    ///
    /// As [`tag_key`](Secret::tag_key).
    pub fn key_of_tags(&self, number: KeyNumber, namespace: &str) -> Result<Self, NamespaceError> {
        Namespace::check_name(namespace)?;
        Ok(self.expand(&[b"randflake-tag", &[number.get()], namespace.as_bytes()]))
    }
}
