//! Cost of writing an id as text to a buffer on the stack, and of reading it back.
//!
//! The texts differ: 26 characters and 128 bits for a ULID, 32 for a UUID, 11 to 13 and 64 bits
//! for the others, of which ours leaves out leading zeros.

use std::hint::black_box;
use std::time::Duration;

use ferroid::base32::Base32SnowExt;
use ferroid::id::SnowflakeTwitterId;
use randflake_core::Id;
use scru64::Scru64Id;
use snowid::base62;
use typedflake::{Alphabet, typedflake};
use ulid::Ulid;
use uuid::Uuid;

use super::peer;
use crate::measure::{Case, time};
use crate::ours::WHO;

/// Ids in turn, so that no branch is foretold from the one before.
const IDS: usize = 256;

#[typedflake(epoch = "2025-01-01", alphabet = Alphabet::BASE62)]
struct TypedId(i64);

/// `call` on one item after another.
fn each<I>(n: u64, items: &[I], call: impl Fn(&I)) -> Duration {
    time(n / IDS as u64, || items.iter().for_each(&call))
}

fn numbers() -> Vec<u64> {
    (0..IDS).map(|_| rand::random()).collect()
}

/// A pair of cases for items made of random numbers.
fn pair<I: 'static, B: 'static>(
    who: &str,
    what: &str,
    make: impl Fn(u64) -> I,
    text: impl Fn(&I) -> B,
    encode: impl Fn(&I) + 'static,
    decode: impl Fn(&B) + 'static,
) -> [Case; 2] {
    let items: Vec<I> = numbers().into_iter().map(make).collect();
    let texts: Vec<B> = items.iter().map(text).collect();
    [
        Case::new("text_encode", what, who, move |n| each(n, &items, &encode)).unit(IDS as u64),
        Case::new("text_decode", what, who, move |n| each(n, &texts, &decode)).unit(IDS as u64),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(pair(
        WHO,
        "base32hex",
        Id::from_u64,
        |id| id.to_text(),
        |id| _ = black_box(black_box(id).to_text().as_bytes()),
        |text| _ = black_box(Id::from_text(black_box(text.as_bytes())).expect("is its own")),
    ));
    let ids: Vec<_> = numbers().into_iter().map(Id::from_u64).collect();
    let as_str = |id: &Id| _ = black_box(black_box(id).to_text().as_str());
    let run = move |n| each(n, &ids, as_str);
    cases.push(Case::new("text_encode", "base32hex, checked UTF-8", WHO, run).unit(IDS as u64));
    cases.extend(pair(
        &peer("ferroid"),
        "Crockford base32",
        |n| SnowflakeTwitterId::from_raw(n >> 1),
        |id| id.encode().as_str().to_owned(),
        |id| {
            let mut buffer = SnowflakeTwitterId::base32_array();
            _ = black_box(black_box(id).encode_to_buf(&mut buffer).as_str());
        },
        |text| _ = black_box(SnowflakeTwitterId::decode(black_box(text)).expect("is its own")),
    ));
    cases.extend(pair(
        &peer("snowid"),
        "base62",
        |n| n,
        |&id| base62::encode(id),
        |&id| {
            let mut buffer = [0; base62::MAX_LEN];
            _ = black_box(base62::encode_into(black_box(id), &mut buffer));
        },
        |text| _ = black_box(base62::decode(black_box(text)).expect("is its own")),
    ));
    cases.extend(pair(
        &peer("typedflake"),
        "base62",
        |n| TypedId::try_from(i64::try_from(n >> 1).unwrap_or(0)).expect("63 bits are valid"),
        |id| id.encode().as_str().to_owned(),
        |id| _ = black_box(black_box(id).encode().as_str()),
        |text| _ = black_box(TypedId::decode(black_box(text)).expect("is its own")),
    ));
    cases.extend(pair(
        &peer("scru64"),
        "base36",
        |n| Scru64Id::try_from(n % Scru64Id::MAX.to_u64()).expect("it is in range"),
        |id| id.encode().as_str().to_owned(),
        |id| _ = black_box(black_box(id).encode().as_str()),
        |text| _ = black_box(black_box(text).parse::<Scru64Id>().expect("is its own")),
    ));
    cases.extend(pair(
        &peer("ulid"),
        "Crockford base32, 128 bits",
        |n| Ulid(u128::from(n) << 64 | u128::from(n)),
        Ulid::to_string,
        |id| {
            let mut buffer = [0; ulid::ULID_LEN];
            _ = black_box(black_box(id).array_to_str(&mut buffer));
        },
        |text| _ = black_box(Ulid::from_string(black_box(text)).expect("is its own")),
    ));
    cases.extend(pair(
        &peer("uuid"),
        "hexadecimal, 128 bits",
        |n| Uuid::from_u64_pair(n, n),
        |id| id.simple().to_string(),
        |id| {
            let mut buffer = Uuid::encode_buffer();
            _ = black_box(black_box(id).simple().encode_lower(&mut buffer));
        },
        |text| _ = black_box(Uuid::try_parse(black_box(text)).expect("is its own")),
    ));
    cases
}
