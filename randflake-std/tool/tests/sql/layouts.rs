//! Layouts to compare a database with, and ids of each.

use randflake_std::randflake_core::{Cipher, Codec, LAYOUTS, LayoutSpec};
use randflake_std::{Id, Secret};

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

    pub(crate) fn is_encrypted(&self) -> bool {
        self.codec.permutation().is_some()
    }

    pub(crate) fn ids(&self) -> Vec<Id> {
        self.raws.iter().map(|raw| self.codec.id(*raw)).collect()
    }
}

/// Every layout that has a name, and one that has none, each as its name alone makes it and encrypted.
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
