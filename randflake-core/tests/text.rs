//! Text forms of ids, against slow twins and the texts of other packages.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use randflake_core::{Base, BaseError, DecodeError, Id};
use serde_json::Value;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 2_048 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const DIGITS: &str = "0123456789abcdefghijklmnopqrstuv";

fn naive_encode(mut number: u64) -> String {
    let mut text = String::new();
    loop {
        text.insert(
            0,
            DIGITS.as_bytes()[usize::try_from(number % 32).unwrap()].into(),
        );
        number /= 32;
        if number == 0 {
            return text;
        }
    }
}

/// The rule of the Python package's decoder for old texts, which keeps the number below 2^64.
fn naive_lenient(text: &[u8]) -> Option<u64> {
    let mut number: u128 = 0;
    for byte in text {
        let digit = match char::from(*byte) {
            '=' => break,
            digit @ ('0'..='9' | 'a'..='v' | 'A'..='V') => digit.to_digit(32)?,
            _ => return None,
        };
        number = (number << 5 | u128::from(digit)) % (1 << 64);
    }
    u64::try_from(number).ok()
}

/// Numbers of every length.
fn any_number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
}

/// Texts that often are ids, often nearly.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let digit = prop::sample::select(DIGITS.as_bytes());
    let near =
        prop_oneof![20 => digit, 1 => prop::sample::select(&b"=AVWw/:@`{0 "[..]), 1 => any::<u8>()];
    prop_oneof![
        prop::collection::vec(near, 0..=15),
        prop::collection::vec(any::<u8>(), 0..=15),
        any_number().prop_map(|number| naive_encode(number).into_bytes()),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn text_is_that_of_the_slow_twin_and_read_back(number in any_number()) {
        let id = Id::from_u64(number);
        let text = id.to_text();
        prop_assert_eq!(text.as_str(), naive_encode(number));
        prop_assert_eq!(text.as_bytes(), text.as_str().as_bytes());
        prop_assert_eq!(id.to_string(), text.as_str());
        prop_assert_eq!(format!("{id:>20}"), format!("{:>20}", text.as_str()));
        prop_assert_eq!(Id::from_text(text.as_bytes()), Ok(id));
        prop_assert_eq!(text.parse(), Ok(id));
        prop_assert_eq!(Id::from_text_lenient(text.as_bytes()), Ok(id));
    }

    #[test]
    fn an_id_has_one_text(text in any_text()) {
        match Id::from_text(&text) {
            Ok(id) => prop_assert_eq!(naive_encode(id.to_u64()).into_bytes(), text),
            Err(error) => {
                let foreign = text.iter().position(|byte| !DIGITS.as_bytes().contains(byte));
                let expected = match (text.len(), foreign) {
                    (0, _) => DecodeError::Empty,
                    (len @ 14.., _) => DecodeError::TooLong { len },
                    (_, Some(index)) => DecodeError::InvalidDigit { index, byte: text[index] },
                    (_, None) if text[0] == b'0' => DecodeError::LeadingZero,
                    (_, None) => DecodeError::Overflow,
                };
                prop_assert_eq!(error, expected);
            }
        }
    }

    #[test]
    fn old_texts_are_read_as_the_older_packages_read_them(text in any_text()) {
        let id = Id::from_text_lenient(&text);
        prop_assert_eq!(id.ok().map(Id::to_u64), naive_lenient(&text));
        if let Err(DecodeError::InvalidDigit { index, byte }) = id {
            prop_assert_eq!(text[index], byte);
        }
    }

    #[test]
    fn signed_and_unsigned_forms_have_the_same_bits(number: u64) {
        let id = Id::from(number);
        prop_assert_eq!(Id::from(id.to_i64()), id);
        prop_assert_eq!(u64::from(id), number);
        prop_assert_eq!(i64::from(id).to_ne_bytes(), number.to_ne_bytes());
    }
}

#[test]
fn the_edges_of_the_text_form() {
    for (text, number) in [("0", 0), ("v", 31), ("10", 32), ("fvvvvvvvvvvvv", u64::MAX)] {
        assert_eq!(Id::from_u64(number).to_text().as_str(), text);
        assert_eq!(text.parse(), Ok(Id::from_u64(number)));
    }
    assert_eq!(Id::from_text(b"g000000000000"), Err(DecodeError::Overflow));
    assert_eq!(Id::from_text(b"00"), Err(DecodeError::LeadingZero));
    assert_eq!(Id::from_text(b""), Err(DecodeError::Empty));
}

const ALL: [Base; 7] = [
    Base::Base2,
    Base::Base10,
    Base::Base32,
    Base::Base36,
    Base::Base58,
    Base::Base62,
    Base::Base64,
];

fn read(base: Base, text: &str) -> Result<u64, DecodeError> {
    let decoded = Id::from_base(base, text.as_bytes());
    decoded.map(Id::to_u64).map_err(|error| error.problem)
}

/// Forty ids, each in the original's own writing.
#[test]
fn the_texts_of_bwmarrin_are_written_and_read() {
    let entries: Vec<Value> = serde_json::from_str(include_str!("vectors/snowflake.json")).unwrap();
    assert_eq!(entries.len(), 40);
    for entry in &entries {
        let id = Id::from_u64(entry["id"].as_str().unwrap().parse().unwrap());
        for (base, text) in [
            (Base::Base2, &entry["B2"]),
            (Base::Base10, &entry["id"]),
            (Base::Base32, &entry["B32"]),
            (Base::Base36, &entry["B36"]),
            (Base::Base58, &entry["B58"]),
            (Base::Base64, &entry["B64"]),
        ] {
            let text = text.as_str().unwrap();
            assert_eq!(id.to_base(base).as_str(), text);
            assert_eq!(Id::from_base(base, text.as_bytes()), Ok(id));
        }
        assert_eq!(Id::from_be_bytes(id.to_be_bytes()), id);
    }
}

/// Remainders, digit after digit.
fn slow(number: u64, digits: &str) -> String {
    let radix = digits.len() as u64;
    let mut text = String::new();
    let mut left = number;
    while left > 0 || text.is_empty() {
        let digit = usize::try_from(left % radix).unwrap();
        text.insert(0, char::from(digits.as_bytes()[digit]));
        left /= radix;
    }
    text
}

#[test]
fn the_largest_id_has_the_most_characters() {
    for base in ALL {
        let text = Id::from_u64(u64::MAX).to_base(base);
        assert_eq!(text.len(), base.max_len(), "{base}");
        assert_eq!(read(base, &text), Ok(u64::MAX));
        assert_eq!(
            read(base, &format!("{text}0")),
            Err(DecodeError::TooLong {
                len: base.max_len() + 1
            })
        );
    }
}

#[test]
fn number_over_64_bits_is_an_error() {
    for (base, text) in [
        (Base::Base10, "18446744073709551616"),
        (Base::Base32, "oyyyyyyyyyyyy"),
        (Base::Base36, "3w5e11264sgsg"),
        (Base::Base58, "ZZZZZZZZZZZ"),
        (Base::Base62, "LygHa16AHYG"),
        (Base::Base64, "MTg0NDY3NDQwNzM3MDk1NTE2MTY="),
    ] {
        assert_eq!(read(base, text), Err(DecodeError::Overflow), "{base}");
    }
}

#[test]
fn each_id_has_one_text() {
    let invalid = |index, byte| Err(DecodeError::InvalidDigit { index, byte });
    for base in ALL {
        assert_eq!(read(base, ""), Err(DecodeError::Empty), "{base}");
        assert!(read(base, "1 ").is_err(), "{base}");
    }
    assert_eq!(read(Base::Base2, "0"), Ok(0));
    assert_eq!(read(Base::Base2, "00"), Err(DecodeError::LeadingZero));
    assert_eq!(read(Base::Base2, "102"), invalid(2, b'2'));
    assert_eq!(read(Base::Base10, "-1"), invalid(0, b'-'));
    assert_eq!(read(Base::Base10, "+1"), invalid(0, b'+'));
    assert_eq!(read(Base::Base32, "yb"), Err(DecodeError::LeadingZero));
    assert_eq!(read(Base::Base32, "bl"), invalid(1, b'l'));
    assert_eq!(read(Base::Base36, "1A"), invalid(1, b'A'));
    assert_eq!(read(Base::Base58, "12"), Err(DecodeError::LeadingZero));
    assert_eq!(read(Base::Base58, "20"), invalid(1, b'0'));
    assert_eq!(read(Base::Base62, "a_"), invalid(1, b'_'));
    assert_eq!(
        read(Base::Base36, "zzzzzzzzzzzz\u{e9}"),
        Err(DecodeError::TooLong { len: 14 })
    );
    // A foreign character is told before a number that is too large.
    assert_eq!(read(Base::Base36, "zzzzzzzzzzzz!"), invalid(12, b'!'));
}

#[test]
fn base64_is_that_of_the_decimal_digits_alone() {
    let invalid = |index, byte| Err(DecodeError::InvalidDigit { index, byte });
    assert_eq!(read(Base::Base64, "MA=="), Ok(0));
    assert_eq!(read(Base::Base64, "MTA="), Ok(10));
    assert_eq!(read(Base::Base64, "MTAw"), Ok(100));
    assert_eq!(read(Base::Base64, "MTA"), Err(DecodeError::Truncated));
    assert_eq!(
        read(Base::Base64, "MTAw===="),
        Err(DecodeError::TooLong { len: 8 })
    );
    assert_eq!(
        read(Base::Base64, "MB=="),
        invalid(1, b'B'),
        "bits after the digit"
    );
    assert_eq!(read(Base::Base64, "LTE="), invalid(0, b'L'), "-1");
    assert_eq!(
        read(Base::Base64, "MDE="),
        Err(DecodeError::LeadingZero),
        "01"
    );
    assert_eq!(read(Base::Base64, "MT-w"), invalid(2, b'-'));
    assert_eq!(read(Base::Base64, "=MTA"), invalid(0, b'='));
}

#[test]
fn an_error_says_what_is_allowed() {
    let told = |base, text: &str| {
        Id::from_base(base, text.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        told(Base::Base58, "ZZZZZZZZZZZ"),
        "the number is over 64 bits: at most JPwcyDCgEup is allowed in base58"
    );
    assert_eq!(
        told(Base::Base2, ""),
        "the text is empty: 1 to 64 digits of base2, 01, are allowed"
    );
    assert_eq!(
        told(Base::Base64, "????"),
        "'?', character 1, does not belong to the base64 of a decimal number"
    );
    let error = BaseError {
        base: Base::Base62,
        problem: DecodeError::TooLong { len: 12 },
    };
    assert_eq!(
        error.to_string(),
        "the text has 12 characters: at most 11 are allowed in base62"
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_number_goes_there_and_back(number: u64, shift in 0..64_u32) {
        let id = Id::from_u64(number >> shift);
        for base in ALL {
            prop_assert_eq!(Id::from_base(base, id.to_base(base).as_bytes()), Ok(id));
        }
        for (base, digits) in [
            (Base::Base36, "0123456789abcdefghijklmnopqrstuvwxyz"),
            (Base::Base62, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
        ] {
            let expected = slow(id.to_u64(), digits);
            prop_assert_eq!(id.to_base(base).to_string(), expected);
        }
    }

    /// Whatever is read is written the same: there is no second text of an id.
    #[test]
    fn what_is_read_is_what_would_be_written(text in "[0-9A-Za-z+/=]{1,16}") {
        for base in ALL {
            if let Ok(id) = Id::from_base(base, text.as_bytes()) {
                prop_assert_eq!(id.to_base(base).to_string(), text.as_str());
            }
        }
    }

    #[test]
    fn a_uuid_is_of_one_id(number: u64, flipped in 0..128_u32) {
        let id = Id::from_u64(number);
        let uuid = id.to_uuid_bytes();
        prop_assert_eq!(Id::from_uuid_bytes(uuid), Ok(id));
        // Any other bit makes it another id's, or none's.
        let other = (u128::from_be_bytes(uuid) ^ (1 << flipped)).to_be_bytes();
        prop_assert_ne!(Id::from_uuid_bytes(other), Ok(id));
        if let Ok(id) = Id::from_uuid_bytes(other) {
            prop_assert_eq!(id.to_uuid_bytes(), other);
        }
    }
}
