//! Ids of kinds: text, errors, and what they share with an `Id`.

use std::collections::HashSet;

use proptest::prelude::*;
use randflake_core::{Any, DecodeError, Id, IdError, Kind, typed_id};

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
fn another_text_is_refused_with_what_was_expected_and_found() {
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
