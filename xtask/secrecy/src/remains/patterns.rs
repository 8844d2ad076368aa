//! Byte patterns that reveal a key: eight bytes of it, or of a value derived from it, in the forms
//! that memory may have it in.

use core::fmt::{self, Display, Formatter};
use core::ops::RangeInclusive;
use std::collections::{BTreeMap, HashMap};

use randflake_std::Secret;
use sparx64::Sparx64;

pub(super) const LEN: usize = 8;

pub(super) struct Patterns(HashMap<[u8; LEN], &'static str>);

impl Patterns {
    pub(super) fn of(key: &[u8; 16]) -> Self {
        let mut all = Self(HashMap::new());
        all.add_key(key, "key", "round keys", "round keys in vectors");
        let secret = Secret::from_bytes(*key);
        all.add("key in hexadecimal", secret.to_hex().as_bytes());
        // HMAC begins with the key in these masks.
        for mask in [0x36, 0x5c] {
            all.add("key in HMAC", &key.map(|byte| byte ^ mask));
        }
        let derived = secret.derive(super::held::DERIVED);
        let mut bytes = [0; 16];
        for (byte, word) in bytes.chunks_mut(4).zip(derived.cipher().round_keys()) {
            let [x, y] = word;
            byte.copy_from_slice(&(u32::from(x) << 16 | u32::from(y)).to_be_bytes());
        }
        all.add_key(
            &bytes,
            "derived key",
            "derived round keys",
            "derived round keys in vectors",
        );
        all
    }

    fn add_key(
        &mut self,
        key: &[u8; 16],
        of_key: &'static str,
        of_round_keys: &'static str,
        of_vectors: &'static str,
    ) {
        let words: Vec<[u16; 2]> = Sparx64::new(key).round_keys().collect();
        for pair in words.windows(2) {
            let bytes: Vec<u8> = pair
                .as_flattened()
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect();
            self.add(of_round_keys, &bytes);
        }
        // A word like 0x2020 or 0x0007 is in texts and tables, too, time and again.
        let is_rare = |word: &&u16| {
            let [low, high] = word.to_le_bytes();
            low != high && low != 0 && high != 0
        };
        for word in words.as_flattened().iter().filter(is_rare) {
            let bytes: Vec<u8> = [*word; 4]
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect();
            self.add(of_vectors, &bytes);
        }
        self.add(of_key, key);
    }

    fn add(&mut self, name: &'static str, bytes: &[u8]) {
        for (window, _) in bytes
            .windows(LEN)
            .filter_map(|window| window.split_first_chunk::<LEN>())
        {
            self.0.insert(*window, name);
        }
    }

    pub(super) fn find(&self, bytes: [u8; LEN]) -> Option<&'static str> {
        self.0.get(&bytes).copied()
    }
}

/// Stretches of memory that match: what, and where.
#[derive(Default)]
pub(super) struct Found(Vec<Stretch>);

struct Stretch {
    what: &'static str,
    mapped: String,
    offsets: RangeInclusive<usize>,
}

impl Found {
    /// What begins before the last one of its kind has ended belongs to it.
    pub(super) fn add(&mut self, what: &'static str, mapped: &str, offset: usize) {
        let end = offset + LEN;
        match self.0.last_mut() {
            Some(last)
                if last.what == what && last.mapped == mapped && last.offsets.contains(&offset) =>
            {
                last.offsets = *last.offsets.start()..=end;
            }
            _ => self.0.push(Stretch {
                what,
                mapped: mapped.to_owned(),
                offsets: offset..=end,
            }),
        }
    }

    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn places(&self) -> String {
        let line = |stretch: &Stretch| {
            let (start, end) = (stretch.offsets.start(), stretch.offsets.end());
            format!(
                "    {} bytes of {} at {}+{start:#x}\n",
                end - start,
                stretch.what,
                stretch.mapped
            )
        };
        self.0.iter().map(line).collect()
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut counts = BTreeMap::<_, usize>::new();
        for stretch in &self.0 {
            *counts.entry(stretch.what).or_default() += 1;
        }
        if counts.is_empty() {
            return f.write_str("none");
        }
        let counts = counts
            .iter()
            .map(|(what, count)| format!("{count} of {what}"));
        f.write_str(&counts.collect::<Vec<_>>().join(", "))
    }
}
