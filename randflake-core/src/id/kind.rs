//! Kinds of ids: the prefix of their text, their width, and those that a database stores
//! unencrypted.

use core::cmp::Ordering;
use core::fmt::{self, Debug, Display, Formatter};
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use super::{Id, IdError};
use crate::{Permutation as _, Sparx64, text};

/// Marker of what an id identifies, such as a user; implement it with
/// [`typed_id!`](crate::typed_id).
pub trait Kind: 'static {
    /// The name of the id's type, as `UserId`, for schemas and `Debug`: a letter, then letters,
    /// digits and `_`.
    const NAME: &'static str;

    /// Prefix of the text form, without the `_` that follows it; empty for none.
    ///
    /// At most 32 characters of `a-z`, `0-9` and `_`, the first a letter, the last not `_`. Another
    /// one does not compile where a text is read or written.
    const PREFIX: &'static str = "";

    /// [`Bits64`], or [`Bits53`] if the ids are numbers in JSON.
    type Width: Width;

    /// Whether the error for a text with a prefix that a kind without one does not allow names that
    /// prefix.
    ///
    /// `false` for [`Any`]: programs that only read untyped ids, such as firmware, then link
    /// neither the search for a prefix nor its error, and the text fails with
    /// [`DecodeError::InvalidDigit`](crate::DecodeError::InvalidDigit). Kinds with a prefix always
    /// name it.
    const NAMES_FOREIGN_PREFIX: bool = true;
}

/// How many bits the ids of a kind have: [`Bits64`] or [`Bits53`].
pub trait Width: sealed::Sealed {
    /// The largest number.
    const MAX: u64;
}

/// The [`Width`] of ids that are text in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits64 {}

impl Width for Bits64 {
    const MAX: u64 = u64::MAX;
}

/// The [`Width`] of ids that are numbers in JSON, as [`Id53`](crate::Id53).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits53 {}

impl Width for Bits53 {
    const MAX: u64 = (1 << 53) - 1;
}

mod sealed {
    #[expect(unnameable_types, reason = "a sealed trait: there is no other width")]
    pub trait Sealed {}
    impl Sealed for super::Bits64 {}
    impl Sealed for super::Bits53 {}
}

/// The kind of an [`Id`] of no kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Any {}

impl Kind for Any {
    const NAME: &'static str = "Id";
    type Width = Bits64;
    const NAMES_FOREIGN_PREFIX: bool = false;
}

/// The kind of an [`Id53`](crate::Id53) of no kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Any53 {}

impl Kind for Any53 {
    const NAME: &'static str = "Id53";
    type Width = Bits53;
}

/// Declares the id of a type of yours, in one line: `UserId = Id<User>`, with the prefix of its
/// text form or without one.
///
/// `User` is any type of the crate: the struct that has the id, or an `enum User {}`. The macro
/// writes a type alias and `impl Kind for User`. The alias is private unless a visibility stands
/// before its name.
///
/// In place of `Id` stands [`Id53`](crate::Id53) for numbers of 53 bits, or
/// [`StoredRaw`](crate::StoredRaw) for ids that a database stores unencrypted. Name ids by the
/// alias: some derive macros, such as those of `utoipa`, take no `Id<User>`, because they want
/// their trait for `User` then.
///
/// ```
/// use randflake_core::{Id, typed_id};
///
/// pub struct User { pub id: UserId, pub name: String }
/// typed_id!(pub UserId = Id<User>, "user");
///
/// enum Message {}
/// typed_id!(MessageId = Id<Message>);
///
/// let (user, message): (UserId, MessageId) = (Id::from_i64(31).typed(), Id::from_i64(31).typed());
/// assert_eq!(user.to_string(), "user_v");
/// assert_eq!(message.to_string(), "v");
/// ```
///
/// A user's id is no order's:
///
/// ```compile_fail,E0308
/// # use randflake_core::{Id, typed_id};
/// # enum User {}
/// # enum Order {}
/// typed_id!(UserId = Id<User>, "user");
/// typed_id!(OrderId = Id<Order>, "order");
///
/// let user: UserId = Id::from_i64(31).typed::<Order>();
/// ```
///
/// A number of 53 bits is not made of any id:
///
/// ```compile_fail,E0271
/// # use randflake_core::{Id, typed_id};
/// # enum User {}
/// typed_id!(UserId = Id53<User>, "user");
///
/// let user: UserId = Id::from_i64(31).typed();
/// ```
///
/// A prefix is of `a-z`, `0-9` and `_`, begins with a letter, and has at most 32 characters:
///
/// ```compile_fail,E0080
/// # use randflake_core::typed_id;
/// # enum User {}
/// typed_id!(UserId = Id<User>, "User");
/// ```
#[macro_export]
macro_rules! typed_id {
    ($(#[$attribute:meta])* $visibility:vis $name:ident = Id53<$kind:ty> $(, $prefix:expr)? $(,)?) => {
        $crate::typed_id!(@ $(#[$attribute])* $visibility $name = Id<$kind>, Bits53 $(, $prefix)?);
    };
    ($(#[$attribute:meta])* $visibility:vis $name:ident = $id:ident<$kind:ty> $(, $prefix:expr)? $(,)?) => {
        $crate::typed_id!(@ $(#[$attribute])* $visibility $name = $id<$kind>, Bits64 $(, $prefix)?);
    };
    (@ $(#[$attribute:meta])* $visibility:vis $name:ident = $id:ident<$kind:ty>, $width:ident $(, $prefix:expr)?) => {
        $(#[$attribute])*
        // An alias, so that `UserId` and `Id<User>` are one type, and generic code takes any kind.
        $visibility type $name = $crate::$id<$kind>;

        impl $crate::Kind for $kind {
            const NAME: &'static str = ::core::stringify!($name);
            $(const PREFIX: &'static str = $prefix;)?
            type Width = $crate::$width;
        }

        // Where it is declared, not where it is first used: so the error names the declaration.
        const _: () = $crate::Id::<$kind>::PREFIX_IS_VALID;
    };
}

/// Length of the longest prefix in bytes.
pub(super) const MAX_PREFIX_LEN: usize = 32;
/// Never a digit, so the last one in a text ends the prefix.
const SEPARATOR: char = '_';

/// Whether a prefix keeps the text form unambiguous and safe in a URL, a file name and a JSON key.
pub(super) const fn is_valid_prefix(prefix: &str) -> bool {
    let bytes = prefix.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return true;
    };
    // No `_` at the end: before the separator it would look like a part of it.
    bytes.len() <= MAX_PREFIX_LEN && first.is_ascii_lowercase() && *last != b'_' && all_valid(bytes)
}

const fn all_valid(mut bytes: &[u8]) -> bool {
    while let [first, rest @ ..] = bytes {
        if !matches!(first, b'a'..=b'z' | b'0'..=b'9' | b'_') {
            return false;
        }
        bytes = rest;
    }
    true
}

/// Reads the text form of an id with this prefix, strictly.
pub(super) fn parse(expected: &'static str, text: &str) -> Result<Id, IdError> {
    let digits = match (expected, text.rsplit_once(SEPARATOR)) {
        ("", None) => text,
        // The last separator: a prefix may contain `_`, digits never do.
        (_, Some((found, digits))) if found == expected && !expected.is_empty() => digits,
        (_, split) => {
            let found = split.map_or("", |(found, _)| found);
            return Err(IdError::prefix(expected, found));
        }
    };
    Ok(Id::from_text(digits.as_bytes())?)
}

/// Writes the text form of an id with this prefix, padded as `f` asks for.
pub(super) fn write(prefix: &str, id: Id, f: &mut Formatter<'_>) -> fmt::Result {
    let digits = id.to_text();
    if prefix.is_empty() {
        // `pad` and not `write_str`, so that width and alignment apply: ids line up in tables.
        return f.pad(&digits);
    }
    // Composed first and written at once, because `pad` aligns a whole text only.
    let mut buffer = [0; MAX_PREFIX_LEN + 1 + text::MAX_LEN];
    let parts = [prefix.as_bytes(), &[SEPARATOR as u8], digits.as_bytes()];
    let mut len = 0_usize;
    for (to, from) in buffer.iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
        len = len.wrapping_add(1);
    }
    let text = buffer.get(..len).unwrap_or_default();
    f.pad(str::from_utf8(text).unwrap_or_default())
}

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
