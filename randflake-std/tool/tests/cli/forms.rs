//! Forms of ids: UUIDs, and texts in each base.

use crate::user::{User, words};

#[test]
fn an_id_is_converted_to_a_uuid_and_back() {
    let user = User::new();
    let uuid = "01234567-89ab-8cde-bc00-000000000000";
    let convert = words("convert --from hex --to uuid 0123456789abcdef");
    assert_eq!(user.run(&convert).ok(), format!("{uuid}\n"));
    let convert = ["convert", "--from", "uuid", "--to", "hex"];
    let read = |value: &str| user.run(&[&convert[..], &[value]].concat());
    assert_eq!(read(uuid).ok(), "0123456789abcdef\n");
    for (value, problem) in [
        (
            "01234567-89ab-4cde-bc00-000000000000",
            "the UUID is not of version 8: only those made of ids are allowed",
        ),
        (
            "01234567-89ab-8cde-bc00-000000000001",
            "the UUID was not made of an id: its last 58 bits must be zero",
        ),
    ] {
        assert_eq!(read(value).fails(2), format!("{value:?}: {problem}"));
    }
    let said = read("0123").fails(2);
    assert!(said.starts_with("\"0123\": not a UUID: "), "{said}");
}

#[test]
fn a_number_over_64_bits_is_refused_in_each_base() {
    let user = User::new();
    for (base, text, problem) in [
        (
            "base2",
            "1".repeat(65),
            "the text has 65 characters: at most 64 are allowed in base2",
        ),
        (
            "base32",
            "oyyyyyyyyyyyy".to_owned(),
            "the number is over 64 bits: at most x999999999999 is allowed in base32",
        ),
        (
            "base36",
            "3w5e11264sgsg".to_owned(),
            "the number is over 64 bits: at most 3w5e11264sgsf is allowed in base36",
        ),
        (
            "base58",
            "ZZZZZZZZZZZ".to_owned(),
            "the number is over 64 bits: at most JPwcyDCgEup is allowed in base58",
        ),
        (
            "base62",
            "LygHa16AHYG".to_owned(),
            "the number is over 64 bits: at most LygHa16AHYF is allowed in base62",
        ),
    ] {
        let said = user
            .run(&["convert", "--from", base, "--to", "int", &text])
            .fails(2);
        assert!(said.ends_with(problem), "{said}");
    }
}
