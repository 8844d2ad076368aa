//! Forged UUIDs against the check of tags. `cargo xtask deep forgeries` tries 10^9 of them.
//!
//! None passes: 2.2·10^-7 of 10^9 would. What is counted beside it, tags of which the first bits
//! are right, has an expectation that a wrong comparison or a generator that repeats itself would
//! miss.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the counts are also for readers")]
#![expect(clippy::cast_precision_loss, reason = "expectations need few digits")]

use std::thread;

use randflake_core::{Id, KeyNumber, Sparx64, TagError, TagKey, TaggedUuid};

const THREADS: u64 = 4;
const TAG_BITS: u32 = 52;

/// Number of forgeries, and bits of which the right ones are counted: about a thousand are
/// expected.
fn size() -> (u64, u32) {
    if std::env::var_os("RANDFLAKE_FORGERIES_LONG").is_some() {
        (1_000_000_000, 20)
    } else if cfg!(miri) {
        (4_096, 2)
    } else {
        (1_000_000, 10)
    }
}

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014): what it gives has nothing to do with the
/// cipher.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A UUID of the key number with any id and any tag.
    fn forgery(&mut self, number: KeyNumber) -> TaggedUuid {
        let (id, tag) = (Id::from_u64(self.next()), self.next() >> (64 - TAG_BITS));
        let rest = u64::from(number.get()) << TAG_BITS | tag;
        let bits = u128::from_be_bytes(id.to_uuid_bytes()) | u128::from(rest);
        TaggedUuid::from_bytes(bits.to_be_bytes()).unwrap()
    }
}

/// Forgeries that passed, and those whose first bits of the tag were right.
fn tried(key: &TagKey, seed: u64, count: u64, weak_bits: u32) -> (u64, u64) {
    let mut random = Random(seed);
    let (mut passed, mut weak) = (0, 0);
    for _ in 0..count {
        let uuid = random.forgery(key.number());
        match key.check(uuid) {
            Ok(_) => passed += 1,
            Err(error) => assert_eq!(error, TagError::Tag { key: key.number() }),
        }
        let untagged = u128::from_be_bytes(uuid.to_bytes()) >> 58 << 58;
        let id = Id::from_uuid_bytes(untagged.to_be_bytes()).unwrap();
        let right = u128::from_be_bytes(key.tag(id).to_bytes());
        let differing = u128::from_be_bytes(uuid.to_bytes()) ^ right;
        weak += u64::from(differing >> (TAG_BITS - weak_bits) == 0);
    }
    (passed, weak)
}

#[test]
fn no_forged_uuid_passes() {
    let (count, weak_bits) = size();
    let key = TagKey::new(KeyNumber::new(17).unwrap(), Sparx64::new(&[7; 16]));
    let (passed, weak) = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                let key = &key;
                // Far apart: no two threads come to the same numbers.
                scope.spawn(move || tried(key, seed << 62, count / THREADS, weak_bits))
            })
            .collect();
        let counts = threads.into_iter().map(|thread| thread.join().unwrap());
        counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    });
    let expected = |bits: u32| count as f64 / 2_f64.powi(bits.cast_signed());
    let (mean, deviation) = (expected(weak_bits), expected(weak_bits).sqrt());
    println!(
        "{count} forgeries: {passed} passed, {:.1e} are expected; {weak} had {weak_bits} bits right, {mean:.0} ± {deviation:.0} are expected",
        expected(TAG_BITS)
    );
    assert_eq!(passed, 0);
    assert!(
        (weak as f64 - mean).abs() < 5.0 * deviation,
        "{weak} are not about {mean:.0}"
    );
}
