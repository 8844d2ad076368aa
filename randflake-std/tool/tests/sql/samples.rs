//! Ids, layouts and tagged UUIDs to compare a database with.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use randflake_std::randflake_core::{Cipher, Codec, LAYOUTS, LayoutSpec};
use randflake_std::{Id, KeyNumber, Secret, TagKey, TaggedUuid};
use serde_json::Value;

use crate::user::KEY;

/// Ids of each layout; of 53 bits, whose functions take 26 times as long, a tenth.
const COUNT: usize = 1_000;

/// A layout as the option says it, and ids of it.
pub(crate) struct Sample {
    pub(crate) layout: String,
    pub(crate) codec: Codec<LayoutSpec, Option<Cipher>>,
    /// Raw ids: those at the edges, and random ones.
    pub(crate) raws: Vec<u64>,
}

impl Sample {
    fn new(layout: String, spec: LayoutSpec, is_encrypted: bool) -> Self {
        let mut random = fastrand::Rng::with_seed(17);
        let edges = [0, 1, i64::MAX.cast_unsigned(), 1 << 63, u64::MAX];
        let secret = Secret::from_hex(KEY).unwrap();
        let (cipher, most, count): (Cipher, u64, _) = if layout.ends_with("53") {
            (secret.feistel53().into(), (1 << 53) - 1, COUNT / 10)
        } else {
            (secret.cipher().into(), u64::MAX, COUNT)
        };
        let raws = edges.into_iter().chain((0..count).map(|_| random.u64(..)));
        Self {
            layout,
            codec: Codec::new(spec, is_encrypted.then_some(cipher)),
            raws: raws.map(|raw| raw & most).collect(),
        }
    }

    pub(crate) fn spec(&self) -> LayoutSpec {
        self.codec.layout()
    }

    /// Bits that belong to a field.
    pub(crate) fn field_bits(&self) -> u64 {
        let fields = self.spec().fields().bit_fields();
        let used = fields.into_iter().filter(|field| field.bits > 0);
        used.fold(0, |bits, field| bits | field.max() << field.shift)
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.codec.permutation().is_some()
    }

    pub(crate) fn ids(&self) -> Vec<Id> {
        self.raws.iter().map(|raw| self.codec.id(*raw)).collect()
    }
}

/// Every layout that has a name, and one that has none, each as its name alone makes it and
/// encrypted.
pub(crate) fn all() -> Vec<Sample> {
    let custom = "custom:34,16,13@2020-01-01/250";
    let quarters = LayoutSpec::new(randflake_std::randflake_core::LayoutFields::in_order(
        [34, 16, 13],
        1_577_836_800_000,
        250,
    ));
    let named = LAYOUTS.into_iter().chain([(custom, quarters.unwrap())]);
    let both = named.flat_map(|(name, spec)| {
        let encrypted = Sample::new(format!("encrypted:{name}"), spec, true);
        // As the command line has them: these have no plain form.
        let has_plain = !["randflake", "milliflake", "randflake53"].contains(&name);
        let plain = has_plain.then(|| Sample::new(name.to_owned(), spec, false));
        [Some(encrypted), plain].into_iter().flatten()
    });
    both.collect()
}

/// A published vector: a secret, and an id with its fields.
pub(crate) struct ReferenceVector {
    pub(crate) secret: String,
    pub(crate) id: i64,
    pub(crate) raw: i64,
    pub(crate) text: String,
    /// Seconds of the Unix time, node id and sequence.
    pub(crate) fields: [i64; 3],
}

/// The vectors of the original and of this project, each under its own key.
pub(crate) fn reference_vectors() -> Vec<ReferenceVector> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../randflake-core/tests/vectors");
    let mut all = Vec::new();
    for file in ["reference.json", "randflake.json"] {
        let vectors = fs::read_to_string(path.join(file)).unwrap();
        let vectors: Vec<Value> = serde_json::from_str(&vectors).unwrap();
        all.extend(vectors.iter().map(|vector| {
            let text = |name: &str| vector[name].as_str().unwrap().to_owned();
            ReferenceVector {
                secret: text("secret"),
                id: text("encrypted_id").parse().unwrap(),
                raw: text("raw_id").parse::<u64>().unwrap().cast_signed(),
                text: text("encoded_id"),
                fields: ["timestamp", "node_id", "sequence"]
                    .map(|name| vector[name].as_i64().unwrap()),
            }
        }));
    }
    assert!(all.len() > 10, "{}", all.len());
    all
}

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
    ids()
        .into_iter()
        .enumerate()
        .map(|(index, id): (usize, Id)| keys[index % 2].tag(id))
        .collect()
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
