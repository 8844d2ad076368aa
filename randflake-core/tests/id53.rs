//! Ids of 53 bits: what is refused, and what a generator issues.

use core::error::Error;
use core::sync::atomic::AtomicU64;
use std::collections::HashSet;

use randflake_core::{
    Any53, Feistel53, Generator, Id, Id53, IdError, Kind, Lane, Layout, LayoutFields, LayoutSpec,
    Lease, LeaseError, ManualClock, Permutation, Randflake, Randflake53, Sparx64, Sparx64OnTheFly,
    typed_id,
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
