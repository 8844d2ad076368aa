//! The id types of these tests.

use std::sync::OnceLock;

use randflake_core::{Id, Sparx64, StoredPlain, typed_id};

pub(crate) struct User;
typed_id!(pub(crate) UserId = Id<User>, "user");

/// A kind without a prefix.
pub(crate) enum Message {}
typed_id!(pub(crate) MessageId = Id<Message>);

pub(crate) enum Order {}
typed_id!(pub(crate) OrderId = Id<Order>, "order");

/// A kind whose ids are numbers.
pub(crate) enum Row {}
typed_id!(pub(crate) RowId = Id53<Row>, "row");

static CIPHER: OnceLock<Sparx64> = OnceLock::new();

impl StoredPlain for Order {
    fn cipher() -> Option<&'static Sparx64> {
        Some(CIPHER.get_or_init(|| Sparx64::new(&[7; 16])))
    }
}

/// The id with the text `3vgoe12ccb8gh`.
pub(crate) const ID: Id = Id::from_i64(4_594_531_474_933_654_033);

/// The ends of each length of the text, and of each kind of integer.
pub(crate) const IDS: [Id; 10] = [
    Id::from_i64(0),
    Id::from_i64(1),
    Id::from_i64(31),
    Id::from_i64(32),
    Id::from_i64(1 << 53),
    Id::from_i64((1 << 60) - 1),
    Id::from_i64(1 << 60),
    Id::from_i64(i64::MAX),
    Id::from_i64(i64::MIN),
    Id::from_i64(-1),
];

/// Texts of which none is one of `UserId`, with a part of the error.
pub(crate) const NO_USERS: [(&str, &str); 8] = [
    ("", "no prefix"),
    ("3vgoe12ccb8gh", "no prefix"),
    ("order_3vgoe12ccb8gh", "\"order\": \"user\" is required"),
    ("user_", "empty"),
    ("user_3VGOE12CCB8GH", "is not a digit"),
    ("user_0v", "leading zero"),
    ("user_g000000000000", "64 bits"),
    ("user_11111111111111", "14 characters"),
];
