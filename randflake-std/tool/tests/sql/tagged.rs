//! Tagged UUIDs to compare a database with.

use std::collections::BTreeMap;

use randflake_std::{Id, KeyNumber, Secret, TagKey, TaggedUuid};
use serde_json::Value;

use crate::user::KEY;

/// Secret of a key number of the namespace `orders`.
pub(crate) fn secret(number: u8) -> Secret {
    Secret::from_hex(KEY).unwrap().derive(&number.to_string())
}

pub(crate) fn number(number: u8) -> KeyNumber {
    number.try_into().unwrap()
}

pub(crate) fn tag_key(of: u8) -> TagKey {
    secret(of).tag_key(number(of), "orders").unwrap()
}

/// Those at the edges, and random ones.
pub(crate) fn ids() -> Vec<Id> {
    let mut random = fastrand::Rng::with_seed(23);
    let edges = [0, 1, 15, 16, 0xffff, 0x1_0000, 1 << 63, u64::MAX];
    let random = (0..500).map(|_| random.u64(..));
    edges.into_iter().chain(random).map(Id::from_u64).collect()
}

/// The UUIDs of these ids, under one key number and another in turn.
pub(crate) fn uuids(numbers: [u8; 2]) -> Vec<TaggedUuid> {
    let keys = numbers.map(tag_key);
    let of = |(index, id): (usize, Id)| keys[index % 2].tag(id);
    ids().into_iter().enumerate().map(of).collect()
}

/// What is no tagged UUID under the keys 1 and 2 of `orders`, and why.
pub(crate) fn forged() -> Vec<(&'static str, [u8; 16])> {
    let id = Id::from_u64(4_594_531_474_933_654_033);
    let genuine = [1, 2].map(|of| tag_key(of).tag(id).to_bytes());
    let flips = genuine.into_iter().flat_map(|bytes| {
        (0..128).map(move |bit| {
            let flipped = u128::from_be_bytes(bytes) ^ 1 << bit;
            ("a bit is another", flipped.to_be_bytes())
        })
    });
    let swapped = secret(2).tag_key(number(1), "orders").unwrap();
    let elsewhere = secret(1).tag_key(number(1), "items").unwrap();
    let others = [
        ("it has no tag", id.to_uuid_bytes()),
        ("a number without a key", tag_key(9).tag(id).to_bytes()),
        ("the secret of another number", swapped.tag(id).to_bytes()),
        ("another namespace", elsewhere.tag(id).to_bytes()),
        ("all zeros", [0; 16]),
        ("all ones", [0xff; 16]),
        (
            "version 4",
            0x5b1c_0d37_9a0e_4c5e_8f5d_3c2b_1a09_f8e7_u128.to_be_bytes(),
        ),
    ];
    flips.chain(others).collect()
}

/// Secret, namespace and key number of vectors.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Keyed {
    pub(crate) secret: String,
    pub(crate) namespace: String,
    pub(crate) number: u8,
}

/// The ids and UUIDs of the vectors.
pub(crate) fn vectors() -> BTreeMap<Keyed, Vec<(u64, String)>> {
    let text = include_str!("../../../../randflake-core/tests/vectors/tagged.json");
    let vectors: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for vector in &vectors {
        let text = |name: &str| vector[name].as_str().unwrap().to_owned();
        let key = Keyed {
            secret: text("secret"),
            namespace: text("namespace"),
            number: vector["key_number"].as_u64().unwrap().try_into().unwrap(),
        };
        let id = vector["id"].as_u64().unwrap();
        all.entry(key).or_default().push((id, text("uuid")));
    }
    assert_eq!(all.values().map(Vec::len).sum::<usize>(), 64);
    all
}
