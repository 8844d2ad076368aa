//! Ids that other implementations made (`vectors/README.md` names them), composed, taken apart,
//! read, written and issued.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::sync::atomic::{AtomicU32, AtomicU64};
use core::time::Duration;

use randflake_core::{
    AtomicWord, Codec, Feistel53, Id, Id53, KeyNumber, Layout, Lease, ManualClock, Parts, Plain,
    Randflake, Randflake53, Sequencer, Snowflake, Sonyflake, Sparx64, TagError, TagKey, TaggedUuid,
};
use serde_json::Value;

/// An entry of any of the files.
struct Vector {
    unix_ms: u64,
    node_id: u32,
    sequence: u32,
    raw: u64,
    id: Id,
}

/// Under Miri a few vectors must do.
const ONE_IN: usize = if cfg!(miri) { 16 } else { 1 };

/// A number, which some files write as a string.
fn number<T: core::str::FromStr<Err: core::fmt::Debug>>(entry: &Value, name: &str) -> T {
    let value = &entry[name];
    let digits = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    digits.parse().unwrap()
}

/// The entries of an array of flat objects; under Miri the others are not even parsed.
fn entries(json: &str, expected_count: usize) -> Vec<Value> {
    let objects: Vec<&str> = json.split_inclusive('}').collect();
    // Behind the last object the array ends.
    assert_eq!(objects.len() - 1, expected_count);
    objects[..expected_count]
        .iter()
        .step_by(ONE_IN)
        .map(|object| object.trim_start_matches([',', '[', '\n', ' ']))
        .map(|object| serde_json::from_str(object).unwrap())
        .collect()
}

fn randflake(entry: &Value) -> (Vector, Sparx64) {
    let secret = u128::from_str_radix(entry["secret"].as_str().unwrap(), 16).unwrap();
    let vector = Vector {
        unix_ms: 1_000 * number::<u64>(entry, "timestamp"),
        node_id: number(entry, "node_id"),
        sequence: number(entry, "sequence"),
        raw: number(entry, "raw_id"),
        id: Id::from_i64(number(entry, "encrypted_id")),
    };
    (vector, Sparx64::new(&secret.to_be_bytes()))
}

fn classic(entry: &Value) -> Vector {
    let raw = number(entry, "id");
    Vector {
        unix_ms: number(entry, "unix_ms"),
        node_id: number(entry, "node_id"),
        sequence: number(entry, "sequence"),
        raw,
        id: Id::from_u64(raw),
    }
}

/// The vector holds in both directions, and is what a generator issues.
fn check<L: Layout>(vector: &Vector, permutation: L::Permutation) {
    let codec = Codec::new(L::default(), permutation);
    let unix = Duration::from_millis(vector.unix_ms);
    let tick = L::SPEC.tick_at(unix).unwrap();
    let parts = Parts {
        tick,
        node_id: vector.node_id,
        sequence: vector.sequence,
    };
    assert_eq!(codec.compose(parts), Ok(vector.id));
    assert_eq!(
        codec.compose_at(unix, vector.node_id, vector.sequence),
        Ok(vector.id)
    );
    assert_eq!(codec.id(vector.raw), vector.id);
    assert_eq!(codec.raw(vector.id), vector.raw);
    assert_eq!(codec.inspect(vector.id), parts);
    assert_eq!(codec.unix_ms(vector.id), vector.unix_ms);
    check_issued::<L, AtomicU64>(&codec, vector, tick);
    check_issued::<L, AtomicU32>(&codec, vector, tick);
}

/// A lease of the vector's tick issues it after the sequences before it.
fn check_issued<L: Layout, W: AtomicWord>(codec: &Codec<L>, vector: &Vector, tick: u64) {
    if cfg!(miri) && vector.sequence > 10 {
        return;
    }
    let lease = Lease::new(L::default(), vector.node_id, tick, tick + 1).unwrap();
    let sequencer = Sequencer::<L, W>::new(lease).unwrap();
    let clock = ManualClock::at_unix_ms(vector.unix_ms);
    for _ in 0..vector.sequence {
        sequencer.take(&clock, 0).unwrap();
    }
    let raw = sequencer.take(&clock, 0).unwrap();
    assert_eq!(raw, vector.raw);
    assert_eq!(codec.id(raw), vector.id);
}

/// Checks a file of Randflake ids and their texts, and counts those after 2041.
fn check_randflake(json: &str, expected_count: usize) -> usize {
    let mut after_2041 = 0;
    for entry in entries(json, expected_count) {
        let (vector, cipher) = randflake(&entry);
        let text = entry["encoded_id"].as_str().unwrap();
        assert_eq!(vector.id.to_text().as_str(), text);
        assert_eq!(Id::from_text(text.as_bytes()), Ok(vector.id));
        assert_eq!(
            Id::from_text_lenient(text.to_uppercase().as_bytes()),
            Ok(vector.id)
        );
        after_2041 += usize::from(vector.raw >> 63 == 1);
        check::<Randflake>(&vector, cipher);
    }
    after_2041
}

#[test]
fn the_packages_own_vectors() {
    let json = include_str!("vectors/reference.json");
    let after_2041 = check_randflake(json, 18);
    assert!(cfg!(miri) || after_2041 == 2);
}

#[test]
fn randflake_vectors() {
    let json = include_str!("vectors/randflake.json");
    let after_2041 = check_randflake(json, 200);
    assert!(cfg!(miri) || after_2041 == 102);
}

#[test]
fn randflake53_vectors() {
    for entry in entries(include_str!("vectors/randflake53.json"), 60) {
        let vector = Vector {
            unix_ms: 1_000 * number::<u64>(&entry, "timestamp"),
            node_id: number(&entry, "node_id"),
            sequence: number(&entry, "sequence"),
            raw: number(&entry, "raw_id"),
            id: Id::from_u64(number(&entry, "id")),
        };
        let id: Id53 = vector.id.try_typed().unwrap();
        assert_eq!(entry["text"], id.to_string());
        // How the key comes from the secret is tested where that is done.
        let key = u128::from_str_radix(entry["key"].as_str().unwrap(), 16).unwrap();
        let cipher = Feistel53::new(Sparx64::new(&key.to_be_bytes()));
        check::<Randflake53>(&vector, cipher);
    }
}

#[test]
fn tagged_vectors() {
    let entries = entries(include_str!("vectors/tagged.json"), 64);
    let vectors: Vec<(TagKey, TaggedUuid)> = entries.iter().map(tagged).collect();
    for (index, (key, uuid)) in vectors.iter().enumerate() {
        for (other, (other_key, _)) in vectors.iter().enumerate() {
            // Another number, namespace or secret: the keys of all vectors differ but where all
            // three repeat.
            let same = ["secret", "namespace", "key_number"]
                .iter()
                .all(|name| entries[index][name] == entries[other][name]);
            let checked = other_key.check(*uuid);
            if same {
                assert_eq!(checked, key.check(*uuid));
            } else if other_key.number() == key.number() {
                assert_eq!(checked, Err(TagError::Tag { key: key.number() }));
            } else {
                let (uuid, key) = (key.number(), other_key.number());
                assert_eq!(checked, Err(TagError::KeyNumber { uuid, key }));
            }
        }
        for bit in 0..128 {
            let changed = u128::from_be_bytes(uuid.to_bytes()) ^ 1 << bit;
            let read = TaggedUuid::from_bytes(changed.to_be_bytes());
            assert!(read.is_err() || key.check(read.unwrap()).is_err(), "{bit}");
        }
    }
}

/// Checks a vector in both directions.
fn tagged(entry: &Value) -> (TagKey, TaggedUuid) {
    // How the key comes from secret, number and namespace is tested where that is done.
    let key = u128::from_str_radix(entry["tag_key"].as_str().unwrap(), 16).unwrap();
    let number = KeyNumber::new(number(entry, "key_number")).unwrap();
    let key = TagKey::new(number, Sparx64::new(&key.to_be_bytes()));
    let id = Id::from_u64(entry["id"].as_u64().unwrap());
    let text = entry["uuid"].as_str().unwrap();
    let uuid: TaggedUuid = text.parse().unwrap();
    assert_eq!(key.tag(id), uuid);
    assert_eq!(key.check(uuid), Ok(id));
    assert_eq!(uuid.to_string(), text);
    assert_eq!(uuid.key_number(), number);
    let bits = u128::from_str_radix(&text.replace('-', ""), 16).unwrap();
    assert_eq!(TaggedUuid::from_bytes(bits.to_be_bytes()), Ok(uuid));
    assert_eq!(
        bits & ((1 << 52) - 1),
        entry["tag"].as_u64().unwrap().into()
    );
    (key, uuid)
}

#[test]
fn snowflake_vectors() {
    for entry in entries(include_str!("vectors/snowflake.json"), 40) {
        let vector = classic(&entry);
        let (datacenter, worker) = Snowflake::datacenter_and_worker(vector.node_id);
        assert_eq!(Snowflake::node_id(datacenter, worker), Ok(vector.node_id));
        check::<Snowflake>(&vector, Plain);
    }
}

#[test]
fn sonyflake_vectors() {
    for entry in entries(include_str!("vectors/sonyflake.json"), 40) {
        check::<Sonyflake>(&classic(&entry), Plain);
    }
}

mod cipher {
    //! A cipher that is chosen at run time does as the one that it is.

    use randflake_core::{Cipher, Feistel53, Permutation, Sparx64};

    const KEY: [u8; 16] = [7; 16];

    fn agrees(cipher: &Cipher, expected: &impl Permutation) {
        assert_eq!(cipher.bits(), expected.bits());
        let raws = [0, 1, 42, (1 << 53) - 1];
        let mut all = raws;
        cipher.permute_all(&mut all);
        for (raw, id) in raws.into_iter().zip(all) {
            assert_eq!(id, expected.permute(raw));
            assert_eq!(cipher.permute(raw), id);
            assert_eq!(cipher.invert(id), raw);
        }
        cipher.invert_all(&mut all);
        assert_eq!(all, raws);
    }

    #[test]
    fn each_cipher_is_itself() {
        let wide = Sparx64::new(&KEY);
        agrees(&wide.clone().into(), &wide);
        let numbers = Feistel53::new(wide);
        agrees(&numbers.clone().into(), &numbers);
    }
}
