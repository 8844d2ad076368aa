//! Ids that are stored raw and shown encrypted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::sync::OnceLock;

use randflake_core::{
    Codec, Id, IdError, Parts, Snowflake, Sparx64, StoredPlain, StoredRaw, typed_id,
};

#[derive(Debug)]
struct Order;
typed_id!(OrderId = Id<Order>, "order");

impl StoredPlain for Order {
    fn cipher() -> Option<&'static Sparx64> {
        static CIPHER: OnceLock<Sparx64> = OnceLock::new();
        Some(CIPHER.get_or_init(|| Sparx64::new(&[7; 16])))
    }
}

#[derive(Debug)]
struct Forgotten;
typed_id!(ForgottenId = Id<Forgotten>);

impl StoredPlain for Forgotten {
    fn cipher() -> Option<&'static Sparx64> {
        None
    }
}

fn of_tick(tick: u64) -> StoredRaw<Order> {
    let parts = Parts {
        tick,
        node_id: 42,
        sequence: 1,
    };
    let codec = Codec::new(Snowflake, Sparx64::new(&[7; 16]));
    let id = codec.compose(parts).unwrap();
    StoredRaw::new(id.typed()).unwrap()
}

#[test]
fn the_stored_numbers_ascend_with_time_and_the_shown_ids_do_not() {
    let ids: Vec<_> = (0..20).map(of_tick).collect();
    assert!(ids.is_sorted());
    assert!(ids.is_sorted_by_key(|id| id.raw()));
    assert!(!ids.is_sorted_by_key(|id| id.id()));
}

#[test]
fn both_ways_in_give_the_same_id() {
    let id = of_tick(1);
    assert_eq!(StoredRaw::from_raw(id.raw()), Ok(id));
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!(StoredRaw::try_from(id.id()), Ok(id));
    assert_eq!(OrderId::from(id), id.id());
}

#[test]
fn only_the_encrypted_id_is_shown() {
    let id = of_tick(1);
    assert_eq!(id.to_string(), id.id().to_string());
    assert_eq!(format!("{id:?}"), format!("OrderId({id})"));
}

#[test]
fn another_kind_is_refused() {
    let error = "user_v".parse::<StoredRaw<Order>>().unwrap_err();
    assert!(matches!(error, IdError::Prefix { .. }));
    assert_eq!(
        error.to_string(),
        r#"the id has the prefix "user": "order" is required"#
    );
}

#[test]
fn a_missing_cipher_is_told_before_anything_is_stored() {
    let missing = IdError::CipherMissing {
        name: "ForgottenId",
    };
    let id = Id::from_u64(31);
    assert_eq!(StoredRaw::<Forgotten>::new(id.typed()), Err(missing));
    assert_eq!(StoredRaw::<Forgotten>::from_raw(31), Err(missing));
    assert_eq!("v".parse::<StoredRaw<Forgotten>>(), Err(missing));
    assert_eq!(
        missing.to_string(),
        "the cipher of ForgottenId is missing: set it before ids are read or written"
    );
}

/// One id in both of its forms, in whatever it is kept.
#[test]
fn an_id_is_the_same_from_and_to_each_type() {
    let stored = of_tick(7);
    let id = Id::from(stored).untyped();
    assert_eq!(StoredRaw::new(id.typed()), Ok(stored));
    let all: HashSet<_> = (0..9).chain([7]).map(of_tick).collect();
    assert!(all.len() == 9 && all.contains(&stored));
}
