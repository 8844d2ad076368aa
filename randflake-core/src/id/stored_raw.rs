//! Ids that a database stores unencrypted and that are encrypted everywhere else.

use core::cmp::Ordering;
use core::fmt::{self, Debug, Display, Formatter};
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use super::{Bits64, Id, IdError, Kind};
use crate::{Permutation as _, Sparx64};

/// A kind whose ids the database stores unencrypted, as [`StoredRaw`], and the program encrypts.
pub trait StoredPlain: Kind<Width = Bits64> {
    /// Cipher of the secret that generates the ids; `None` until the program has set it.
    ///
    /// It must never change: under another cipher the stored numbers are other ids.
    fn cipher() -> Option<&'static Sparx64>;
}

/// An id that the database stores unencrypted: the column ascends with time, and the program sees,
/// shows and reads the encrypted id.
///
/// The order of the stored bits is the layout's. With [`Milliflake`](crate::Milliflake) the rows of
/// a fleet go to the end of the index: in PostgreSQL an insert takes 1.0 to 1.1 times as long as
/// with a sequence; with [`Randflake`](crate::Randflake) 1.3 to 1.4 times, and 3 times with
/// encrypted ids in the column (two million rows). MariaDB fills pages better with `Randflake`. The
/// price: anyone who reads the database sees times and node ids.
///
/// Declare it by [`typed_id!`](crate::typed_id) in place of [`Id`], and use it as the type of the
/// field; the database clients' traits write the raw number, `Display` and the traits for text
/// write the encrypted id. A value has both, so only making one needs the cipher, and fails with
/// [`IdError::CipherMissing`] before the program has set it. Its order is that of the column. Raw
/// Randflake ids of 2041-10-31 and later are negative in the column, and sort before those of
/// today.
///
/// ```
/// use std::sync::OnceLock;
///
/// use randflake_core::{StoredPlain, Id, Sparx64, typed_id};
///
/// struct Order { id: OrderId }
/// typed_id!(OrderId = StoredRaw<Order>, "order");
///
/// static CIPHER: OnceLock<Sparx64> = OnceLock::new();
/// impl StoredPlain for Order {
///     fn cipher() -> Option<&'static Sparx64> { CIPHER.get() }
/// }
///
/// // Once, when the program starts; with `randflake-std`, `secret.cipher()`.
/// CIPHER.get_or_init(|| Sparx64::new(&[7; 16]));
///
/// let order = Order { id: "order_3vgoe12ccb8gh".parse()? };
/// assert_eq!(order.id.to_string(), "order_3vgoe12ccb8gh");
/// assert_ne!(order.id.raw(), order.id.id().to_i64());
/// let another = OrderId::new(Id::from_i64(31).typed())?; // as `generate` returns it
/// # Ok::<(), randflake_core::IdError>(())
/// ```
///
/// Do not compare such a column with an [`Id`]: it goes into the query as it is, and finds
/// nothing. In Rust the types are different, in the text of a query they are not.
///
/// Derived schemas and texts have the encrypted id:
#[cfg_attr(not(doctest), doc = include_str!("../integrations/schema.md"))]
pub struct StoredRaw<K> {
    id: Id<K>,
    pub(crate) raw: i64,
}

impl<K: StoredPlain> StoredRaw<K> {
    /// Computes what the database stores for an id.
    ///
    /// # Errors
    ///
    /// [`IdError::CipherMissing`].
    pub fn new(id: Id<K>) -> Result<Self, IdError> {
        // Computed once, here: writing a row then needs no cipher and cannot fail.
        let raw = cipher::<K>()?.invert(id.to_u64()).cast_signed();
        Ok(Self { id, raw })
    }

    /// Restores an id from a stored number.
    ///
    /// # Errors
    ///
    /// [`IdError::CipherMissing`].
    pub fn from_raw(raw: i64) -> Result<Self, IdError> {
        let id = cipher::<K>()?.permute(raw.cast_unsigned());
        Ok(Self {
            id: Id::from_u64(id).typed(),
            raw,
        })
    }
}

fn cipher<K: StoredPlain>() -> Result<&'static Sparx64, IdError> {
    K::cipher().ok_or(IdError::CipherMissing { name: K::NAME })
}

impl<K> StoredRaw<K> {
    /// The encrypted id, as users see it.
    #[must_use]
    pub const fn id(self) -> Id<K> {
        self.id
    }

    /// The number that the database stores. Not for users: it reveals time and node id.
    #[must_use]
    pub const fn raw(self) -> i64 {
        self.raw
    }
}

impl<K: StoredPlain> TryFrom<Id<K>> for StoredRaw<K> {
    type Error = IdError;

    /// Computes the stored number: see [`StoredRaw::new`].
    fn try_from(id: Id<K>) -> Result<Self, IdError> {
        Self::new(id)
    }
}

impl<K> From<StoredRaw<K>> for Id<K> {
    /// Returns the encrypted id, as [`StoredRaw::id`] does.
    fn from(stored: StoredRaw<K>) -> Self {
        stored.id
    }
}

impl<K: StoredPlain> FromStr for StoredRaw<K> {
    type Err = IdError;

    /// Reads the encrypted id.
    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::new(text.parse()?)
    }
}

impl<K: Kind> Display for StoredRaw<K> {
    /// Writes the encrypted id.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.id, f)
    }
}

/// The type and the text of the encrypted id.
impl<K: Kind> Debug for StoredRaw<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.id, f)
    }
}

// Written by hand: derived impls would require the same traits of `K`, which is only a marker.

impl<K> Clone for StoredRaw<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for StoredRaw<K> {}

impl<K> PartialEq for StoredRaw<K> {
    fn eq(&self, other: &Self) -> bool {
        // Equal numbers are equal ids, as the cipher never changes; so comparing needs no key.
        self.raw == other.raw
    }
}

impl<K> Eq for StoredRaw<K> {}

impl<K> PartialOrd for StoredRaw<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for StoredRaw<K> {
    /// Compares the stored numbers, so that a program and its database sort alike.
    fn cmp(&self, other: &Self) -> Ordering {
        self.raw.cmp(&other.raw)
    }
}

impl<K> Hash for StoredRaw<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}
