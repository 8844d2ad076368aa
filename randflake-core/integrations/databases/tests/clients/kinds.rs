//! The ids that all clients are tested with.

use std::sync::OnceLock;

use randflake_core::{Id, Sparx64, StoredPlain, StoredRaw, typed_id};

pub(crate) struct User;
typed_id!(pub(crate) UserId = Id<User>, "user");

pub(crate) struct Order;
typed_id!(pub(crate) OrderId = Id<Order>, "order");
pub(crate) type OrderColumn = StoredRaw<Order>;

impl StoredPlain for Order {
    fn cipher() -> Option<&'static Sparx64> {
        static CIPHER: OnceLock<Sparx64> = OnceLock::new();
        Some(CIPHER.get_or_init(|| Sparx64::new(&[7; 16])))
    }
}

/// Of a program that forgot to set the cipher.
#[derive(Debug)]
pub(crate) struct Forgotten;
typed_id!(pub(crate) ForgottenId = Id<Forgotten>);
pub(crate) type ForgottenColumn = StoredRaw<Forgotten>;

impl StoredPlain for Forgotten {
    fn cipher() -> Option<&'static Sparx64> {
        None
    }
}

/// What an error of such a program says, in the end.
pub(crate) const CIPHER_MISSING: &str = "the cipher of ForgottenId is missing";

/// In no order, and of all signs and sizes.
pub(crate) const NUMBERS: [i64; 5] = [1, i64::MIN, i64::MAX, -1, 0];

pub(crate) fn ids() -> Vec<Id> {
    NUMBERS.map(Id::from_i64).to_vec()
}

pub(crate) fn sorted<T: Ord>(mut ids: Vec<T>) -> Vec<T> {
    ids.sort_unstable();
    ids
}

/// Orders, by the raw numbers that the database must have.
pub(crate) fn orders() -> Vec<OrderColumn> {
    NUMBERS
        .map(|raw| OrderColumn::from_raw(raw).unwrap())
        .to_vec()
}

/// The text of an error and of all that it comes from.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
