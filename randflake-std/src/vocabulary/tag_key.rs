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
    /// [`NamespaceError`] for a name that no [`Namespace`](crate::lease::Namespace) may have.
    ///
    /// ```
    /// use randflake_std::{Id, KeyNumber, Secret};
    ///
    /// let secret = Secret::from_hex("dffd6021bb2bd5b0af676290809ec3a5")?;
    /// let key = secret.tag_key(KeyNumber::new(1)?, "orders")?;
    /// let uuid = key.tag(Id::from_u64(0x0123_4567_89ab_cdef));
    /// assert_eq!(key.check(uuid)?.to_u64(), 0x0123_4567_89ab_cdef);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tag_key(&self, number: KeyNumber, namespace: &str) -> Result<TagKey, NamespaceError> {
        Namespace::check_name(namespace)?;
        let key = self.expand(&[b"randflake-tag", &[number.get()], namespace.as_bytes()]);
        Ok(TagKey::new(number, key.cipher()))
    }
}
