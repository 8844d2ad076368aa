//! The text form, beside the obvious way to write and read it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use randflake_core::{DecodeError, Id};

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
    fn an_id_is_written_as_the_obvious_way_does_and_read_back(number in any_number()) {
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
