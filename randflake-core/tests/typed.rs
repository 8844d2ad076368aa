//! Ids with a kind: their text, and how `StoredRaw` stores them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::sync::OnceLock;

use proptest::prelude::*;
use randflake_core::{
    Any, Codec, DecodeError, Id, IdError, Kind, Parts, Snowflake, Sparx64, StoredPlain, StoredRaw,
    typed_id,
};

/// Has none of the traits that its ids have.
struct User(#[expect(dead_code, reason = "it is neither `Send` nor `Sync`")] *const u8);
typed_id!(UserId = Id<User>, "user");

enum Order {}
typed_id!(
    /// An attribute is allowed, as are a prefix with `_` and a comma.
    pub OrderId = Id<Order>, "store_2_order",
);

enum Message {}
typed_id!(MessageId = Id<Message>);

const BITS: i64 = 4_594_531_474_933_654_033;

mod named_as_the_type {
    use randflake_core::typed_id;

    #[derive(Debug)]
    pub(crate) enum Order {}

    typed_id!(pub(crate) Id = Id<Order>, "order");
}

#[test]
fn a_kind_named_id_keeps_its_prefix() {
    let id = "order_v".parse::<named_as_the_type::Id>().unwrap();
    assert_eq!(id.to_string(), "order_v");
    "v".parse::<named_as_the_type::Id>().unwrap_err();
    assert_eq!("v".parse::<Id>().unwrap().to_u64(), id.to_u64());
}

#[test]
fn text_has_the_prefix_of_its_kind() {
    assert_eq!(
        Id::from_i64(BITS).typed::<User>().to_string(),
        "user_3vgoe12ccb8gh"
    );
    assert_eq!(
        Id::from_i64(-1).typed::<Order>().to_string(),
        "store_2_order_fvvvvvvvvvvvv"
    );
    assert_eq!(Id::from_i64(0).typed::<Message>().to_string(), "0");
    assert_eq!(
        format!(
            "{:>8}|{:<8}|",
            Id::from_i64(1).typed::<User>(),
            Id::from_i64(1).typed::<Message>()
        ),
        "  user_1|1       |"
    );
}

#[test]
fn each_text_is_read_as_it_was_written() {
    for bits in [0, 1, 31, 32, BITS, i64::MAX, -1, i64::MIN] {
        let (user, order, message) = (
            Id::from_i64(bits).typed::<User>(),
            Id::from_i64(bits).typed::<Order>(),
            Id::from_i64(bits).typed::<Message>(),
        );
        assert_eq!(user.to_string().parse(), Ok(user));
        assert_eq!(order.to_string().parse(), Ok(order));
        assert_eq!(message.to_string().parse(), Ok(message));
    }
}

#[test]
fn refused_text_names_expected_and_found_prefix() {
    let user = |text: &str| text.parse::<UserId>().map_err(|error| error.to_string());
    let message = |text: &str| text.parse::<MessageId>().map_err(|error| error.to_string());
    let refused = |result: Result<_, _>, why: &str| assert_eq!(result, Err(why.to_owned()));

    refused(
        user("order_v"),
        r#"the id has the prefix "order": "user" is required"#,
    );
    refused(
        user("User_v"),
        r#"the id has the prefix "User": "user" is required"#,
    );
    refused(
        user("a_user_v"),
        r#"the id has the prefix "a_user": "user" is required"#,
    );
    refused(
        user("é_v"),
        r#"the id has the prefix "\xc3\xa9": "user" is required"#,
    );
    refused(user("v"), r#"the id has no prefix: "user_" is required"#);
    refused(user("_v"), r#"the id has no prefix: "user_" is required"#);
    refused(user(""), r#"the id has no prefix: "user_" is required"#);
    assert_eq!(
        message("user_v").map(drop),
        Err(r#"the id has the prefix "user": none is allowed"#.to_owned())
    );
    assert!(message("_v").is_err());
    let long = format!("{}_v", "x".repeat(100));
    let shown = "x".repeat(32);
    refused(
        user(&long),
        &format!(r#"the id has the prefix "{shown}": "user" is required"#),
    );
    for (digits, error) in [
        ("user_", DecodeError::Empty),
        ("user_0v", DecodeError::LeadingZero),
        (
            "user_V",
            DecodeError::InvalidDigit {
                index: 0,
                byte: b'V',
            },
        ),
        ("user_11111111111111", DecodeError::TooLong { len: 14 }),
        ("user_g000000000000", DecodeError::Overflow),
    ] {
        assert_eq!(digits.parse::<UserId>(), Err(IdError::Digits(error)));
    }
}

#[test]
fn a_typed_id_is_an_id_whatever_its_kind_is() {
    let (low, high) = (
        Id::from_i64(-1).typed::<User>(),
        Id::from_u64(1).typed::<User>(),
    );
    assert!(low < high, "the order is that of the i64");
    assert_eq!((low.to_i64(), low.to_u64()), (-1, u64::MAX));
    assert_eq!(low.untyped().typed(), low);
    assert_eq!(low.untyped().try_typed(), Ok(low));
    assert_eq!(HashSet::from([low, high, low]).len(), 2);
    assert_eq!(
        format!("{high:?} {:?}", high.untyped()),
        "UserId(user_1) Id(1)"
    );
    assert_eq!(size_of::<Option<UserId>>(), size_of::<Option<Id>>());
    is_shared(low);
    assert_eq!(Any::PREFIX, "");
    assert_eq!((User::NAME, User::PREFIX), ("UserId", "user"));
}

fn is_shared<T: Send + Sync + Copy + 'static>(_: T) {}

#[test]
fn typed_ids_are_constants() {
    const ROOT: UserId = Id::from_u64(1).typed();
    const BITS: i64 = ROOT.untyped().to_i64();
    assert_eq!(BITS, 1);
}

proptest! {
    #[test]
    fn what_is_read_is_written_the_same(text in "(user_|store_2_order_|_|é)?[0-9a-v_]{0,14}") {
        if let Ok(id) = text.parse::<UserId>() {
            prop_assert_eq!(id.to_string(), &text[..]);
        }
        if let Ok(id) = text.parse::<OrderId>() {
            prop_assert_eq!(id.to_string(), &text[..]);
        }
        let message = text.parse::<MessageId>().map(Id::untyped).ok();
        prop_assert_eq!(message, text.parse::<Id>().ok(), "without a prefix it is an id's text");
    }
}

#[derive(Debug)]
struct Purchase;
typed_id!(PurchaseId = Id<Purchase>, "order");

impl StoredPlain for Purchase {
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

fn of_tick(tick: u64) -> StoredRaw<Purchase> {
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
fn stored_numbers_ascend_and_shown_ids_do_not() {
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
    assert_eq!(PurchaseId::from(id), id.id());
}

#[test]
fn only_the_encrypted_id_is_shown() {
    let id = of_tick(1);
    assert_eq!(id.to_string(), id.id().to_string());
    assert_eq!(format!("{id:?}"), format!("PurchaseId({id})"));
}

#[test]
fn another_kind_is_refused() {
    let error = "user_v".parse::<StoredRaw<Purchase>>().unwrap_err();
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
