extern crate std;

use std::format;
use std::string::ToString as _;

use super::*;
use crate::{Sparx64, UuidError};

const ID: Id = Id::from_u64(0x0123_4567_89ab_cdef);

fn key(number: u8, byte: u8) -> TagKey {
    TagKey::new(KeyNumber::new(number).unwrap(), Sparx64::new(&[byte; 16]))
}

#[test]
fn each_bit_is_in_its_place() {
    let uuid = u128::from_be_bytes(key(0b10_1101, 7).tag(ID).to_bytes());
    let tag = Sparx64::new(&[7; 16]).encrypt_u64(ID.to_u64()) >> 12;
    assert_eq!(uuid >> 64, 0x0123_4567_89ab_8cde);
    assert_eq!(uuid >> 52 & 0x3f, 0b10_1101);
    assert_eq!(uuid >> 58 & 0x3f, 0b10_1111);
    assert_eq!(uuid & ((1 << 52) - 1), u128::from(tag));
}

#[test]
fn a_uuid_is_checked_by_its_key_alone() {
    // An interpreter takes a while for each.
    for number in (1..=63).step_by(if cfg!(miri) { 31 } else { 1 }) {
        let uuid = key(number, 7).tag(ID);
        assert_eq!(uuid.key_number().get(), number);
        assert_eq!(key(number, 7).check(uuid), Ok(ID));
        let number = uuid.key_number();
        assert_eq!(
            key(number.get(), 8).check(uuid),
            Err(TagError::Tag { key: number })
        );
        let other = KeyNumber::new(number.get() % 63 + 1).unwrap();
        assert_eq!(
            key(other.get(), 7).check(uuid),
            Err(TagError::KeyNumber {
                uuid: number,
                key: other
            })
        );
    }
}

#[test]
fn every_changed_bit_is_refused() {
    let key = key(17, 7);
    let bits = u128::from_be_bytes(key.tag(ID).to_bytes());
    for bit in 0..128 {
        let changed = TaggedUuid::from_bytes((bits ^ 1 << bit).to_be_bytes());
        match bit {
            76..80 | 62..64 => assert_eq!(changed, Err(TaggedUuidError::NotVersion8)),
            52..58 => assert!(matches!(
                key.check(changed.unwrap()),
                Err(TagError::KeyNumber { .. })
            )),
            _ => assert_eq!(
                key.check(changed.unwrap()),
                Err(TagError::Tag { key: key.number() }),
                "bit {bit}"
            ),
        }
    }
}

#[test]
fn neither_form_is_read_as_the_other() {
    assert_eq!(
        TaggedUuid::from_bytes(ID.to_uuid_bytes()),
        Err(TaggedUuidError::NoKeyNumber)
    );
    let tagged = key(1, 7).tag(ID).to_bytes();
    assert_eq!(Id::from_uuid_bytes(tagged), Err(UuidError::NoId));
}

#[test]
fn one_text_is_read() {
    let uuid = key(17, 7).tag(ID);
    let text = uuid.to_string();
    assert_eq!(text.parse(), Ok(uuid));
    for wrong in [
        "",
        &text.to_uppercase(),
        &text.replace('-', ""),
        &text.replace('-', "_"),
        &["{", &text, "}"].concat(),
        &[&text[..35], "g"].concat(),
        &[&text[..35], "é"].concat(),
        &text[..35],
        &[&text, "0"].concat(),
        &["+", &text[1..]].concat(),
    ] {
        assert_eq!(wrong.parse::<TaggedUuid>(), Err(TaggedUuidError::Text));
    }
    assert_eq!(
        "00000000-0000-0000-0000-000000000000".parse::<TaggedUuid>(),
        Err(TaggedUuidError::NotVersion8)
    );
}

#[test]
fn key_numbers_are_from_1_to_63() {
    for number in 0..=u8::MAX {
        let allowed = (1..=63).contains(&number);
        assert_eq!(KeyNumber::new(number).is_ok(), allowed);
        assert_eq!(
            number.to_string().parse::<KeyNumber>().is_ok(),
            allowed && number < 100
        );
    }
    for text in ["", "01", "+1", "-1", " 1", "1 ", "a", "100", "1.0"] {
        assert_eq!(text.parse::<KeyNumber>(), Err(KeyNumberError::Text));
    }
    assert_eq!(
        core::iter::successors(Some(KeyNumber::MIN), |number| number.next()).count(),
        63
    );
}

#[test]
fn debug_shows_no_key() {
    assert_eq!(
        format!("{:?}", key(17, 7)),
        "TagKey { number: KeyNumber(17), .. }"
    );
}

#[test]
fn a_uuid_and_a_number_are_converted_both_ways() {
    let uuid = key(17, 7).tag(ID);
    let bytes: [u8; 16] = uuid.into();
    assert_eq!(TaggedUuid::try_from(bytes), Ok(uuid));
    assert_eq!(
        TaggedUuid::try_from([0; 16]),
        Err(TaggedUuidError::NotVersion8)
    );
    assert_eq!(format!("{uuid:?}"), format!("TaggedUuid({uuid})"));
    let number = uuid.key_number();
    assert_eq!(u8::from(number), 17);
    assert_eq!(KeyNumber::try_from(17), Ok(number));
    assert_eq!(
        KeyNumber::try_from(0),
        Err(KeyNumberError::OutOfRange { number: 0 })
    );
}
