//! Kinds of ids, and the prefix of their text.

use core::fmt::{self, Formatter};

use super::{Id, IdError};
use crate::text;

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
