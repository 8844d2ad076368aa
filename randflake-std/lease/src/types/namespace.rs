//! Namespaces: the node ids of one kind of id, and the keys of tags that a name makes.

use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use randflake_core::{AnyLayout, KeyNumber, LayoutSpec, TagKey};

use super::{KeyCheck, MAX_SKEW, Terms};
use crate::secret::Secret;

/// Default longest TTL of a namespace: 60 s, or three ticks of the layout if these are longer.
pub const DEFAULT_MAX_TTL: Duration = Duration::from_secs(60);

/// Longest TTL that is assumed, at least, of a namespace whose record may have been lost: 300 s.
pub const ASSUMED_MAX_TTL: Duration = Duration::from_secs(300);

/// Highest value that the longest TTL of a namespace may have: 40 years, 14,610 days.
///
/// The longest leases are grants that a factory programs into devices, for as long as these may
/// last. After a data loss a namespace grants nothing for its longest TTL, unless a person ends
/// that quarantine: so give such devices a namespace of their own.
pub const MAX_TTL_LIMIT: Duration = Duration::from_secs(14_610 * 24 * 60 * 60);

const MAX_NAME_LEN: usize = 64;

/// A time span in milliseconds, rounded up.
fn ms(span: Duration) -> u64 {
    // Up: a limit that is cut would refuse the very TTL that was asked for.
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// A set of node ids under one layout and one secret; a store may keep many.
///
/// Ids are unique within a namespace. Generators with another secret or another layout belong in
/// another namespace; and another namespace needs another secret, or the ids of both are equal:
/// [`Secret::derive`](crate::Secret::derive) makes one of a secret and the namespace's name.
///
/// ```
/// use randflake_lease::Namespace;
/// use randflake_core::Randflake;
///
/// let namespace = Namespace::new("orders", Randflake)?;
/// assert_eq!(namespace.node_ids(), 131_072);
/// assert_eq!(
///     Namespace::new("Orders!", Randflake).unwrap_err().to_string(),
///     "namespace \"Orders!\": 1 to 64 characters of a-z, 0-9, '-' and '_' are allowed"
/// );
/// # Ok::<(), randflake_lease::NamespaceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    name: String,
    terms: Terms,
    shares_secret: bool,
}

impl Namespace {
    /// Creates a namespace with the node ids and ticks of a layout.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] unless the name has 1 to 64 characters of `a-z`, `0-9`, `-` and `_`.
    pub fn new(name: &str, layout: impl AnyLayout) -> Result<Self, NamespaceError> {
        let terms = Terms {
            spec: layout.spec(),
            key_check: None,
            max_ttl_ms: None,
        };
        Self::checked(name.to_owned(), terms)
    }

    /// Restores a namespace from its stored terms.
    pub(crate) fn stored(name: &str, terms: Terms) -> Result<Self, NamespaceError> {
        Self::checked(name.to_owned(), terms)
    }

    fn checked(name: String, terms: Terms) -> Result<Self, NamespaceError> {
        Self::check_name(&name)?;
        Ok(Self {
            name,
            terms,
            shares_secret: false,
        })
    }

    /// Checks the name of a namespace: 1 to 32 of a-z, 0-9, '-' and '_'.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] for any other.
    pub fn check_name(name: &str) -> Result<(), NamespaceError> {
        // Few characters, because the name is a part of keys, and messages show it as it is.
        if name.is_empty()
            || name.len() > MAX_NAME_LEN
            || !name
                .chars()
                .all(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
        {
            let name = name.to_owned();
            return Err(NamespaceError { name });
        }
        Ok(())
    }

    /// Sets the longest TTL that any holder may ask for, 60 s unless set; at least one tick, at
    /// most [`MAX_TTL_LIMIT`]. A store refuses a higher one as
    /// [`StoreError::Invalid`](crate::StoreError::Invalid).
    ///
    /// It is one of the namespace's terms, as the layout is: stored when the namespace is created,
    /// fixed from then on, and set by every process that leases. An acquire or a renewal with
    /// another one is refused as [`StoreError::Terms`](crate::StoreError::Terms). A program that
    /// only looks, releases or administers takes the stored one unless it is set.
    ///
    /// After a data loss the store grants nothing for this long and 20 s, so a shorter one recovers
    /// sooner. If the namespace's record is lost, too, the store waits for the longest TTL that is
    /// set here, and at least for
    /// [`ASSUMED_MAX_TTL`]: set the same one everywhere if it is longer.
    #[must_use]
    pub fn with_max_ttl(mut self, max_ttl: Duration) -> Self {
        // No lease is shorter than a tick, so a shorter limit would refuse all.
        self.terms.max_ttl_ms = Some(ms(max_ttl).max(self.spec().tick_ms()));
        self
    }

    /// The shortest TTL with which a process keeps its leases through a quarantine of a server that
    /// was restarted and has lost nothing: 35 s with ticks of a second, 32 s with ticks of a
    /// millisecond.
    ///
    /// In a quarantine a lease is renewed only while more than 20 s of it are left, twice the skew
    /// that clocks may have: one that is nearer to its end may have ended by another clock, and the
    /// store may have forgotten who has the node id since. A lease is renewed when a third of the
    /// TTL has passed, and a tenth more at most.
    #[must_use]
    pub fn min_lasting_ttl(&self) -> Duration {
        let tick = Duration::from_millis(self.spec().tick_ms());
        // What is left of a TTL at its renewal: 1 - 1.1 / 3, which is 19/30. Each end of the span
        // is cut to a tick.
        let needed = (MAX_SKEW + tick) * 2 * 30 / 19;
        // Up to the next second: the rule wants more than that span to be left, not just as much.
        Duration::from_secs(needed.as_secs() + 1)
    }

    /// Lets the namespace take a secret that another namespace of the store took first.
    ///
    /// Without it, the first operation that brings such a secret fails as
    /// [`StoreError::SecretTaken`](crate::StoreError::SecretTaken), and changes nothing. With it,
    /// ids of both namespaces are equal where node id, tick and sequence are: use it only where ids
    /// of the two never meet, or where one takes over from the other, whose leases have expired.
    /// Give it to both, since whichever comes first has the secret.
    #[must_use]
    pub fn with_shared_secret(mut self) -> Self {
        self.shares_secret = true;
        self
    }

    /// Whether it may use a secret that another namespace took first.
    #[must_use]
    pub fn shares_secret(&self) -> bool {
        self.shares_secret
    }

    /// Name of the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The layout's fields, epoch and tick.
    #[must_use]
    pub fn spec(&self) -> LayoutSpec {
        self.terms.spec
    }

    /// The number of node ids; they count from 0.
    #[must_use]
    pub fn node_ids(&self) -> u64 {
        u64::from(self.spec().max_node_id()) + 1
    }

    /// The longest TTL of a lease, as set or stored; [`DEFAULT_MAX_TTL`] unless it is.
    #[must_use]
    pub fn max_ttl(&self) -> Duration {
        self.terms.max_ttl()
    }

    /// Whether ids are plain or under which key.
    pub(crate) fn set_key_check(&mut self, key_check: KeyCheck) {
        self.terms.key_check = Some(key_check);
    }

    /// Form of the ids, and the check value of their key. `None` if this client does not know: a
    /// namespace that is read from a store has it, and one that a handle leases in.
    #[must_use]
    pub fn key_check(&self) -> Option<KeyCheck> {
        self.terms.key_check
    }

    /// A time span in ticks, rounded up.
    #[must_use]
    pub fn ticks(&self, span: Duration) -> u64 {
        self.terms.ticks(span)
    }

    /// Terms that all holders agree on.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Ticks as a time span.
    pub(crate) fn span(&self, ticks: u64) -> Duration {
        Duration::from_millis(ticks.saturating_mul(self.spec().tick_ms()))
    }
}

/// Namespaces of a store, as [`Catalog::names`](crate::Catalog::names) lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamespaceList {
    /// Names of the namespaces, in order.
    pub names: Vec<String>,
    /// Names that no namespace may have, of rows or keys that somebody else has written. Show them
    /// as `{:?}` does; do not use them.
    pub damaged: Vec<String>,
    /// Whether these are all. The list ends after 10,000.
    pub is_complete: bool,
}

/// Error of a name that no namespace may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceError {
    name: String,
}

impl Display for NamespaceError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "namespace {:?}: 1 to {MAX_NAME_LEN} characters of a-z, 0-9, '-' and '_' are allowed",
            self.name
        )
    }
}

impl Error for NamespaceError {}

// Here and not with the other derivations, since a secret knows of no namespaces.
impl Secret {
    /// Returns the key that tags the UUIDs of a namespace under a key number, whose secret this is.
    /// It is wiped on drop, but what moves leaves a copy behind.
    ///
    /// Its key is derived: the first 16 bytes of HKDF-SHA256 (RFC 5869) without salt, with
    /// `randflake-tag`, one byte of key number and the name as `info`. So a UUID of another
    /// namespace, or of another key number, has another tag.
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

    /// Returns the key of [`tag_key`](Secret::tag_key), for what takes a key instead of a secret:
    /// functions in a database. It makes and checks tags of this key number and namespace alone:
    /// nothing of this secret follows from it.
    ///
    /// # Errors
    ///
    /// As [`tag_key`](Secret::tag_key).
    pub fn key_of_tags(&self, number: KeyNumber, namespace: &str) -> Result<Self, NamespaceError> {
        Namespace::check_name(namespace)?;
        Ok(self.expand(&[b"randflake-tag", &[number.get()], namespace.as_bytes()]))
    }
}
