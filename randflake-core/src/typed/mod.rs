//! Typed ids, which the compiler tells apart.

use core::cmp::Ordering;
use core::fmt::{self, Debug, Display, Formatter};
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::str::FromStr;

use crate::Id;
use crate::integrations::{IdForm, for_all_ids};
pub use error::TypedIdError;

mod error;
mod prefix;

/// Marker of what an id identifies, such as a user; implement it with [`typed_id!`](crate::typed_id).
pub trait Kind: 'static {
    /// The name of the id's type, as `UserId`, for schemas and `Debug`: a letter, then letters, digits and `_`.
    const NAME: &'static str;

    /// Prefix of the text form, without the `_` that follows it; empty for none.
    ///
    /// At most 32 characters of `a-z`, `0-9` and `_`, the first a letter, the last not `_`. Another one does not
    /// compile where a text is read or written.
    const PREFIX: &'static str = "";
}

/// An [`Id`] of one kind: a user's id is a different type from an order's. One 64-bit word.
///
/// Declare one with [`typed_id!`](crate::typed_id). A generator's id becomes a typed one by [`Id::typed`];
/// [`Typed::id`] is the way back. All [integrations](crate#features) treat it as they do an `Id`.
///
/// The text form is that of the `Id`, after the prefix of the kind and `_`. It is read strictly: each id has exactly
/// one, and that of another kind is refused.
///
/// ```
/// use randflake_core::{Id, typed_id};
///
/// struct User { id: UserId }
/// typed_id!(UserId = Typed<User>, "user");
///
/// let user = User { id: Id::from_i64(4_594_531_474_933_654_033).typed() };
/// assert_eq!(user.id.to_string(), "user_3vgoe12ccb8gh");
/// assert_eq!("user_3vgoe12ccb8gh".parse(), Ok(user.id));
///
/// let error = "order_3vgoe12ccb8gh".parse::<UserId>().unwrap_err();
/// assert_eq!(error.to_string(), r#"the id has the prefix "order": "user" is required"#);
/// ```
#[repr(transparent)]
pub struct Typed<K> {
    pub(crate) id: Id,
    /// Neither owns nor borrows a `K`: the id is `Send`, `Sync` and `Copy` for each.
    kind: PhantomData<fn() -> K>,
}

impl Id {
    /// Converts to an id of the kind `K`, with the same bits.
    ///
    /// ```
    /// # use randflake_core::{Id, typed_id};
    /// # struct User;
    /// # typed_id!(UserId = Typed<User>, "user");
    /// let user: UserId = Id::from_u64(31).typed();
    /// assert_eq!(user.id(), Id::from_u64(31));
    /// ```
    #[must_use]
    #[inline]
    pub const fn typed<K>(self) -> Typed<K> {
        Typed {
            id: self,
            kind: PhantomData,
        }
    }
}

impl<K> Typed<K> {
    /// The id with the bits of a database's `bigint`.
    #[must_use]
    #[inline]
    pub const fn from_i64(bits: i64) -> Self {
        Id::from_i64(bits).typed()
    }

    /// The id with these bits.
    #[must_use]
    #[inline]
    pub const fn from_u64(bits: u64) -> Self {
        Id::from_u64(bits).typed()
    }

    /// The id without its kind.
    #[must_use]
    #[inline]
    pub const fn id(self) -> Id {
        self.id
    }

    /// The bits as a database's `bigint` holds them.
    #[must_use]
    #[inline]
    pub const fn to_i64(self) -> i64 {
        self.id.to_i64()
    }

    /// The bits as an unsigned number.
    #[must_use]
    #[inline]
    pub const fn to_u64(self) -> u64 {
        self.id.to_u64()
    }
}

impl<K: Kind> Typed<K> {
    /// Fails to compile if the prefix is invalid.
    #[doc(hidden)]
    pub const PREFIX_IS_VALID: () = assert!(
        prefix::is_valid(K::PREFIX),
        "the prefix of an id has at most 32 characters of a-z, 0-9 and _, the first a letter, the last not _"
    );
}

impl<K> From<Id> for Typed<K> {
    /// Adds the kind, as [`Id::typed`] does.
    fn from(id: Id) -> Self {
        id.typed()
    }
}

impl<K> From<Typed<K>> for Id {
    /// Removes the kind, as [`Typed::id`] does.
    fn from(typed: Typed<K>) -> Self {
        typed.id
    }
}

impl<K: Kind> FromStr for Typed<K> {
    type Err = TypedIdError;

    fn from_str(text: &str) -> Result<Self, TypedIdError> {
        // Also here, for kinds that were not declared by `typed_id!`.
        let () = Self::PREFIX_IS_VALID;
        prefix::parse(Self::PREFIX, text).map(Id::typed)
    }
}

impl<K: Kind> Display for Typed<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let () = Self::PREFIX_IS_VALID;
        prefix::write(Self::PREFIX, self.id, f)
    }
}

for_all_ids! {
    /// The type and the text: the raw id does not get into logs.
    impl[] Debug {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            write!(f, "{}({self})", Self::NAME)
        }
    }
}

// Written by hand: derived impls would require the same traits of `K`, which is only a marker.

impl<K> Clone for Typed<K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Typed<K> {}

impl<K> PartialEq for Typed<K> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<K> Eq for Typed<K> {}

impl<K> PartialOrd for Typed<K> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Typed<K> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl<K> Hash for Typed<K> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// Declares the id of a type of yours, in one line: `UserId = Typed<User>`, with the prefix of its text form or
/// without one.
///
/// `User` is any type of the crate: the struct that has the id, or an `enum User {}`. The macro writes a type alias and
/// `impl Kind for User`. The alias is private unless a visibility stands before its name.
///
/// In place of `Typed` stands [`StoredRaw`](crate::StoredRaw) for ids that a database stores unencrypted, or
/// [`Id53`](crate::Id53) for numbers of 53 bits. Name ids by the alias: some derive macros, such as those of `utoipa`, take no
/// `Typed<User>`, because they want their trait for `User` then.
///
/// ```
/// use randflake_core::typed_id;
///
/// pub struct User { pub id: UserId, pub name: String }
/// typed_id!(pub UserId = Typed<User>, "user");
///
/// enum Message {}
/// typed_id!(MessageId = Typed<Message>);
///
/// assert_eq!(UserId::from_i64(31).to_string(), "user_v");
/// assert_eq!(MessageId::from_i64(31).to_string(), "v");
/// ```
///
/// A user's id is no order's:
///
/// ```compile_fail,E0308
/// # use randflake_core::typed_id;
/// # enum User {}
/// # enum Order {}
/// typed_id!(UserId = Typed<User>, "user");
/// typed_id!(OrderId = Typed<Order>, "order");
///
/// let user: UserId = OrderId::from_i64(31);
/// ```
///
/// A prefix is of `a-z`, `0-9` and `_`, begins with a letter, and has at most 32 characters:
///
/// ```compile_fail,E0080
/// # use randflake_core::typed_id;
/// # enum User {}
/// typed_id!(UserId = Typed<User>, "User");
/// ```
#[macro_export]
macro_rules! typed_id {
    ($(#[$attribute:meta])* $visibility:vis $name:ident = $form:ident<$kind:ty> $(,)?) => {
        $crate::typed_id!($(#[$attribute])* $visibility $name = $form<$kind>, "");
    };
    ($(#[$attribute:meta])* $visibility:vis $name:ident = $form:ident<$kind:ty>, $prefix:expr $(,)?) => {
        $(#[$attribute])*
        // An alias, so that `UserId` and `Typed<User>` are one type, and generic code takes any kind.
        $visibility type $name = $crate::$form<$kind>;

        impl $crate::Kind for $kind {
            const NAME: &'static str = ::core::stringify!($name);
            const PREFIX: &'static str = $prefix;
        }

        // Where it is declared, not where it is first used: so the error names the declaration.
        const _: () = $crate::Typed::<$kind>::PREFIX_IS_VALID;
    };
}
