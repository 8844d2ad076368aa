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

mod id53 {
    //! Ids of 53 bits: what is refused, and what a generator issues.

    use core::error::Error;
    use core::sync::atomic::AtomicU64;
    use std::collections::HashSet;

    use randflake_core::{
        Any53, Feistel53, Generator, Id, Id53, IdError, Kind, Lane, Layout, LayoutFields,
        LayoutSpec, Lease, LeaseError, ManualClock, Permutation, Randflake, Randflake53, Sparx64,
        Sparx64OnTheFly, typed_id,
    };

    enum User {}
    typed_id!(UserId = Id53<User>, "user");

    const KEY: [u8; 16] = [7; 16];
    const MAX: u64 = (1 << 53) - 1;

    fn id53<K: Kind>(number: u64) -> Result<Id<K>, IdError> {
        Id::from_u64(number).try_typed()
    }

    fn cipher() -> Feistel53 {
        Feistel53::new(Sparx64::new(&KEY))
    }

    #[test]
    fn only_numbers_that_javascript_holds_are_ids() {
        for number in [0, 1, 31, 1 << 52, MAX] {
            let id: Id53 = id53(number).unwrap();
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "that there is none is tested"
            )]
            let through_javascript = id.to_u64() as f64 as u64;
            assert_eq!(through_javascript, number);
            assert_eq!(id.untyped().try_typed(), Ok(id));
            assert_eq!(id.to_string().parse(), Ok(id));
            let user: UserId = id53(number).unwrap();
            assert_eq!(user.to_string(), format!("user_{id}"));
            assert_eq!(user.to_string().parse(), Ok(user));
            assert_eq!(format!("{user:?}"), format!("UserId({user})"));
        }
        for number in [MAX + 1, 1 << 63, u64::MAX] {
            let id = Id::from_u64(number);
            let text = id.to_string();
            assert_eq!(text.parse::<Id53>(), Err(IdError::TooLarge { number }));
            let refused = match id.to_i64() {
                number @ ..0 => IdError::Negative { number },
                0.. => IdError::TooLarge { number },
            };
            assert_eq!(id.try_typed::<User>(), Err(refused));
        }
    }

    #[test]
    fn a_refusal_says_what_is_allowed() {
        let allowed = "is out of range: 0 to 9007199254740991, 53 bits, are allowed";
        let large = id53::<Any53>(MAX + 1).unwrap_err();
        assert_eq!(large.to_string(), format!("id 9007199254740992 {allowed}"));
        let negative = Id::from_i64(-7).try_typed::<User>().unwrap_err();
        assert_eq!(negative.to_string(), format!("id -7 {allowed}"));
        assert!(large.source().is_none() && negative.source().is_none());

        let kind = "order_v".parse::<UserId>().unwrap_err();
        assert_eq!(
            kind.to_string(),
            r#"the id has the prefix "order": "user" is required"#
        );
        let digit = "user_V".parse::<UserId>().unwrap_err();
        assert!(digit.to_string().contains("is not a digit"), "{digit}");
        assert!(matches!(digit, IdError::Digits(_)));
    }

    #[test]
    fn a_generator_issues_only_such_numbers() {
        let lease = Lease::new(Randflake53, 1_023, 0, 60).unwrap();
        let clock = ManualClock::at_unix_ms(Randflake53::SPEC.unix_ms(0));
        let ids = Generator::<_, AtomicU64, _>::new(lease, &clock, cipher()).unwrap();
        let mut issued = HashSet::new();
        let mut buffer = [Id::from_u64(0); 100];
        for _ in 0..3 {
            let single = ids.generate().unwrap();
            assert_eq!(ids.fill(&mut buffer), Ok(100));
            for id in buffer.into_iter().chain([single]) {
                let number = id.try_typed::<User>().unwrap();
                assert!(issued.insert(number), "{number} twice");
                assert_eq!(ids.inspect(id).node_id, 1_023);
            }
        }
        let mut most = vec![Id::from_u64(0); 8_192];
        assert_eq!(ids.fill(&mut most), Ok(8_192 - 303));
    }

    #[test]
    fn a_microcontroller_issues_the_same() {
        let lease = || Lease::new(Randflake53, 42, 1_000, 1_060).unwrap();
        let clock = ManualClock::at_unix_ms(Randflake53::SPEC.unix_ms(1_000));
        let small = Feistel53::new(Sparx64OnTheFly::new(&KEY));
        let [mut lane] = Lane::split(lease(), &clock, &small).unwrap();
        let ids = Generator::<_, AtomicU64, _>::new(lease(), &clock, cipher()).unwrap();
        for _ in 0..10 {
            assert_eq!(lane.generate(), ids.generate());
        }
    }

    #[test]
    fn a_layout_with_bits_that_would_show_is_refused() {
        let clock = ManualClock::at_unix_ms(Randflake::SPEC.unix_ms(1_000));
        let lease = Lease::new(Randflake, 42, 1_000, 1_060).unwrap();
        let too_wide = Some(LeaseError::TooWide { bits: 64, max: 53 });
        let generator = |cipher| Generator::<_, AtomicU64, _, _>::new(lease, &clock, cipher).err();
        assert_eq!(generator(Some(cipher())), too_wide);
        assert_eq!(generator(None), None, "plain ids hide nothing");
        assert_eq!(
            Generator::<_, AtomicU64, _, _>::new(lease, &clock, &cipher()).err(),
            too_wide
        );
        assert_eq!(Lane::split::<2>(lease, &clock, &cipher()).err(), too_wide);

        for (bits, refused) in [([30, 10, 13], false), ([30, 11, 13], true)] {
            let layout = LayoutSpec::new(LayoutFields::in_order(bits, 0, 1_000)).unwrap();
            let lease = Lease::new(layout, 1, 0, 60).unwrap();
            let generator = Generator::<_, AtomicU64, _, _>::new(lease, &clock, cipher());
            assert_eq!(generator.is_err(), refused, "{bits:?}");
        }
    }

    #[test]
    fn each_type_that_holds_it_gets_the_same_number() {
        fn copy<T: Clone>(value: &T) -> T {
            value.clone()
        }
        let id: Id53 = id53(42).unwrap();
        assert_eq!(u64::from(id), 42);
        assert_eq!(i64::from(id), 42);
        assert_eq!(copy(&id).untyped(), Id::from_u64(42));
    }

    #[test]
    fn the_cipher_shows_nothing_of_its_key() {
        assert_eq!(format!("{:?}", cipher()), "Feistel53 { .. }");
        assert_eq!(cipher().bits(), 53);
    }

    #[test]
    fn ticks_last_to_2058() {
        assert_eq!(Randflake53::SPEC.end_unix_ms(), 2_803_741_824_000);
        assert_eq!(
            Randflake53::SPEC.end_unix_ms(),
            Randflake::SPEC.end_unix_ms()
        );
    }
}
