//! The keys of a namespace, and those beside all namespaces.
//!
//! | key                         | value                                                        |
//! |-----------------------------|--------------------------------------------------------------|
//! | `randflake/NAME/namespace`  | the text of [`Key::Namespace`]                               |
//! | `randflake/NAME/counter`    | that of [`Key::Counter`]                                     |
//! | `randflake/NAME/lease/NODE` | those of [`Key::Node`]                                       |
//! | `randflake/NAME/hint/PLACE` | those of [`Key::Hint`]                                       |
//! | `randflake/NAME/past/PAST`  | those of [`Key::History`]: the node id, and its place           |
//! | `randflake/NAME/device/ID`  | those of [`Key::Device`]                                     |
//! | `randflake/NAME/setbacks`   | how often a process has noticed that the cluster was set back |
//! | `randflake/#key/CHECK`      | those of [`Key::Claim`], beside all namespaces               |
//!
//! Numbers in keys have eight hexadecimal digits, places of the history four more, devices sixteen.

use super::transaction::Range;
use randflake_lease::unstable::engine::{Key, Keys};

/// What all keys of a namespace begin with.
#[derive(Debug)]
pub(crate) struct Prefix(String);

impl Prefix {
    const ROOT: &str = "randflake/";
    /// The first key that any namespace can have, behind those of claims, and one behind the last.
    pub(crate) const FIRST: &str = "randflake/-";
    pub(crate) const LAST: &str = "randflake0";

    pub(crate) fn of(name: &str) -> Self {
        Self(format!("{}{name}/", Self::ROOT))
    }

    /// Behind all keys of the namespace, and not behind another one's.
    pub(crate) fn end(&self) -> String {
        // What follows on `/`.
        format!("{}0", self.0.trim_end_matches('/'))
    }

    /// The first key behind all whose name begins so.
    pub(crate) fn behind(start: &str) -> String {
        let mut key = format!("{}{start}", Self::ROOT);
        let last = key.pop().unwrap_or('/');
        key.push(char::from_u32(u32::from(last) + 1).unwrap_or(char::MAX));
        key
    }

    /// The namespace of a key, or what stands in its place.
    pub(crate) fn name_in(key: &str) -> Option<String> {
        let rest = key.strip_prefix(Self::ROOT)?;
        let (name, _) = rest.split_once('/').unwrap_or((rest, ""));
        Some(name.to_owned())
    }

    pub(crate) fn setbacks(&self) -> String {
        format!("{}setbacks", self.0)
    }

    pub(crate) fn key(&self, key: Key) -> String {
        let rest = match key {
            Key::Namespace => "namespace".to_owned(),
            Key::Counter => "counter".to_owned(),
            Key::Node(node_id) => format!("lease/{node_id:08x}"),
            Key::Hint(place) => format!("hint/{place:08x}"),
            Key::History(node_id, place) => format!("past/{node_id:08x}{place:04x}"),
            Key::Device(device) => format!("device/{device:016x}"),
            // No namespace's name begins so, and all sort behind it.
            Key::Claim(check) => return format!("{}#key/{check:08x}", Self::ROOT),
        };
        self.0.clone() + &rest
    }

    pub(crate) fn range(&self, keys: &Keys) -> Range {
        let (first, last) = keys.bounds();
        Range::new(self.key(first), self.key(last))
    }

    /// The ranges of [`Removal::Contents`](randflake_lease::unstable::engine::Removal::Contents).
    pub(crate) fn contents(&self) -> [Range; 4] {
        let [node, hint] = [Key::Node, Key::Hint].map(|key| (key(0), key(u32::MAX)));
        let past = (Key::History(0, 0), Key::History(u32::MAX, u16::MAX));
        let device = (Key::Device(0), Key::Device(u64::MAX));
        [node, hint, past, device].map(|(first, last)| Range::new(self.key(first), self.key(last)))
    }

    /// Which key a text is, if it is one.
    pub(crate) fn parse(&self, text: &str) -> Option<Key> {
        let claim = text
            .strip_prefix(Self::ROOT)
            .and_then(|text| text.strip_prefix("#key/"));
        if let Some(check) = claim {
            return u32::from_str_radix(check, 16).ok().map(Key::Claim);
        }
        let (kind, number) = match text.strip_prefix(&self.0)? {
            "namespace" => return Some(Key::Namespace),
            "counter" => return Some(Key::Counter),
            rest => rest.split_once('/')?,
        };
        let number = u64::from_str_radix(number, 16).ok()?;
        // Kinds of `Key::numbers`. The twelve digits of an earlier lease are its number there.
        let kinds = [("lease", 2), ("hint", 4), ("past", 5)];
        // A device has all 64 bits, which `of_numbers` would split over two kinds.
        let key = if kind == "device" {
            Key::Device(number)
        } else {
            let (_, kind) = kinds.into_iter().find(|(name, _)| *name == kind)?;
            Key::of_numbers(kind, number)?
        };
        // Not one that is spelled differently.
        (self.key(key) == text).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(Key, &str); 8] = [
        (Key::Namespace, "randflake/a/namespace"),
        (Key::Counter, "randflake/a/counter"),
        (Key::Node(7), "randflake/a/lease/00000007"),
        (Key::Hint(u32::MAX), "randflake/a/hint/ffffffff"),
        (Key::History(7, 1), "randflake/a/past/000000070001"),
        (Key::Device(u64::MAX), "randflake/a/device/ffffffffffffffff"),
        (Key::Device(1), "randflake/a/device/0000000000000001"),
        (Key::Claim(7), "randflake/#key/00000007"),
    ];

    #[test]
    fn a_key_has_one_spelling() {
        let prefix = Prefix::of("a");
        for (key, text) in KEYS {
            assert_eq!(prefix.key(key), text);
            assert_eq!(prefix.parse(text), Some(key));
        }
        for text in [
            "",
            "randflake/b/lease/00000007",
            "randflake/a/lease/7",
            "randflake/a/lease/0000000A",
            "randflake/a/lease/100000000",
            "randflake/a/other/00000007",
            "randflake/a/setbacks",
            "randflake/#key/x",
        ] {
            assert_eq!(prefix.parse(text), None, "{text}");
        }
    }

    /// Names of which one begins as another one, or sorts between another one and its keys.
    #[test]
    fn namespace_ends_between_its_keys_and_the_next() {
        let prefix = Prefix::of("a");
        let own: Vec<_> = KEYS.iter().map(|(key, _)| prefix.key(*key)).collect();
        for key in &own[..7] {
            assert!(*key < prefix.end());
            assert_eq!(Prefix::name_in(key).as_deref(), Some("a"));
            assert!((Prefix::FIRST..Prefix::LAST).contains(&&**key));
        }
        // A name is in the order of its first key; `a-` and `a.` come before `a/`.
        for name in ["a0", "aa", "b"] {
            assert!(Prefix::of(name).key(Key::Counter) >= prefix.end(), "{name}");
        }
        assert_eq!(Prefix::name_in("randflake/alone").as_deref(), Some("alone"));
        assert_eq!(Prefix::name_in("other/a/namespace"), None);
        assert_eq!(Prefix::behind("a"), "randflake/b");
        assert!(*own[7] < *Prefix::FIRST);
        assert_eq!(prefix.setbacks(), "randflake/a/setbacks");
    }

    #[test]
    fn contents_are_all_but_the_namespace_and_its_counter() {
        let prefix = Prefix::of("a");
        let ranges = prefix.contents().map(|range| format!("{range:?}"));
        let begins = [
            "lease/00000000",
            "hint/00000000",
            "past/000000000000",
            "device/0000000000000000",
        ];
        for (range, begin) in ranges.iter().zip(begins) {
            assert!(range.contains(&format!("randflake/a/{begin}")), "{range}");
        }
    }
}
