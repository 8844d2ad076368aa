//! Cases that use secrets besides encryption: text, derivation, comparison, check value, tags and
//! tokens.

use randflake_std::lease::KeyCheck;
use randflake_std::randflake_core::{Lease, Randflake, Ticket, TicketReader};
use randflake_std::{Id, KeyNumber, Secret, TagError, TagKey, TaggedUuid};
use sha2::{Digest as _, Sha256};
use sparx64::Sparx64;

use super::{Allowed, Case, KEY, hidden_key, shown};
use crate::memcheck::{Words, hide, show};
use crate::token::Hash;

const ID: Id = Id::from_u64(0x0123_4567_89ab_cdef);
const WRONG_TAG: TagError = TagError::Tag {
    key: KeyNumber::MIN,
};
const HEX: [u8; 32] = *b"7369787465656e2062797465206b6579";

pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, run: fn()| Case::new(name, Allowed::Nothing, run);
    let verdict =
        |name: &str, of: &'static str, run: fn()| Case::new(name, Allowed::Verdict(of), run);
    vec![
        case("a secret derived by name", || {
            let derived = Secret::from_bytes(hidden_key()).derive("orders");
            let mut block = derived.cipher().encrypt_u64(7);
            let expected = Secret::from_bytes(KEY).derive("orders");
            assert_eq!(shown(&mut block), &expected.cipher().encrypt_u64(7));
        }),
        case("a secret written in hexadecimal", || {
            let mut hex = [0; 32];
            hex.copy_from_slice(Secret::from_bytes(hidden_key()).to_hex().as_bytes());
            assert_eq!(shown(&mut hex), &HEX);
        }),
        verdict(
            "a secret read from hexadecimal",
            "whether all are digits",
            || {
                let mut hex = HEX;
                hide(&mut hex);
                let secret = Secret::from_hex(as_text(&hex)).expect("it is hexadecimal");
                let mut block = secret.cipher().encrypt_u64(7);
                assert_eq!(shown(&mut block), &Sparx64::new(&KEY).encrypt_u64(7));
            },
        ),
        case("two secrets compared", || {
            for (bit, expected) in (0..128).map(|bit| (1 << bit, false)).chain([(0, true)]) {
                let other = u128::from_be_bytes(KEY) ^ bit;
                let mut other = other.to_be_bytes();
                hide(&mut other);
                let [secret, other] = [hidden_key(), other].map(Secret::from_bytes);
                let mut is_equal = secret == other;
                assert_eq!(shown(&mut is_equal), &expected);
            }
        }),
        verdict("check value of a key", "whether ids are plain", || {
            let KeyCheck::Key(mut check) = KeyCheck::of(&Sparx64::new(&hidden_key())) else {
                panic!("a cipher is not plain");
            };
            show(&mut check);
            assert_eq!(KeyCheck::Key(check), KeyCheck::of(&Sparx64::new(&KEY)));
        }),
        case("a ticket made", || {
            let mut bytes = ticket().encode(&hidden_key());
            assert_eq!(shown(&mut bytes), &ticket().encode(&KEY));
        }),
        verdict("a ticket checked", "whether it is forged", || {
            let lease = TicketReader::new(7, 0).accept(&ticket().encode(&KEY), &hidden_key(), None);
            assert_eq!(lease, Ok(lease_of_ticket()));
        }),
        case("a UUID tagged, under a derived key", || {
            let tag = |secret: [u8; 16]| {
                let key = Secret::from_bytes(secret).tag_key(KeyNumber::MIN, "orders");
                key.expect("the name is valid").tag(ID).to_bytes()
            };
            let mut bytes = tag(hidden_key());
            assert_eq!(shown(&mut bytes), &tag(KEY));
        }),
        verdict("a tagged UUID checked", "whether the tag is right", || {
            assert_eq!(checked_with(0), Ok(ID));
        }),
        verdict(
            "one whose first bit is wrong",
            "whether the tag is right",
            || {
                assert_eq!(checked_with(1 << 51), Err(WRONG_TAG));
            },
        ),
        verdict(
            "one whose last bit is wrong",
            "whether the tag is right",
            || {
                assert_eq!(checked_with(1), Err(WRONG_TAG));
            },
        ),
        // A table has the tokens by these hashes. How long a search there takes may tell of a hash,
        // from which nobody finds a token.
        case("a token's hash, by which it is found", || {
            let mut token =
                *b"rft_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
            let expected = Sha256::digest(token).map(|byte| format!("{byte:02x}"));
            hide(&mut token);
            let mut hash = Hash::of(&token);
            assert_eq!(
                Some(*shown(&mut hash)),
                Hash::from_hex(&expected.as_slice().concat())
            );
        }),
    ]
}

#[expect(unsafe_code, reason = "a promise")]
// SAFETY: it is an array of bytes.
unsafe impl Words for Hash {}

/// The text of bytes that are: `str::from_utf8` would look at them.
#[expect(unsafe_code, reason = "as said")]
fn as_text(hex: &[u8; 32]) -> &str {
    // SAFETY: they are hexadecimal digits.
    unsafe { str::from_utf8_unchecked(hex) }
}

/// What the key says of a UUID of its own, of which some bits of the tag are changed.
fn checked_with(changed: u128) -> Result<Id, TagError> {
    let key = |secret| TagKey::new(KeyNumber::MIN, Sparx64::new(&secret));
    let right = u128::from_be_bytes(key(KEY).tag(ID).to_bytes());
    let uuid = TaggedUuid::from_bytes((right ^ changed).to_be_bytes());
    key(hidden_key()).check(uuid.expect("its key number is 1"))
}

fn lease_of_ticket() -> Lease<Randflake> {
    Lease::new(Randflake, 42, 1_000, 1_060).expect("the lease is of the layout")
}

fn ticket() -> Ticket {
    Ticket::of(&lease_of_ticket(), 7, 1).expect("the lease fits a ticket")
}
