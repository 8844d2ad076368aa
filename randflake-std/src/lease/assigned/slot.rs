//! What the file holds, in one sector that is written as a whole.

use crate::lease::Namespace;

const MAGIC: [u8; 16] = *b"randflake node\x1a\n";

/// A sector of any disk that is made today has a multiple of this size.
pub(super) const LEN: usize = 512;
/// Before and behind the text.
const HEAD_LEN: usize = MAGIC.len() + 8;
const SUM_LEN: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// How often the file was written.
    pub(super) writes: u64,
    name: String,
    node_id: u32,
    /// The namespace's record.
    pub(super) namespace: Option<String>,
    /// That of the last lease.
    pub(super) node: Option<String>,
}

impl Slot {
    /// Of a file that is not there yet.
    pub(super) fn new(namespace: &Namespace, node_id: u32) -> Self {
        Self {
            writes: 0,
            name: namespace.name().to_owned(),
            node_id,
            namespace: None,
            node: None,
        }
    }

    /// Refuses what was written for something else.
    pub(super) fn check(&self, namespace: &Namespace, node_id: u32) -> Result<(), String> {
        if self.name != namespace.name() {
            return Err(format!(
                "this is the file of namespace {:?}, not of {:?}: give each its own",
                self.name,
                namespace.name()
            ));
        }
        if self.node_id != node_id {
            let theirs = self.node_id;
            return Err(format!(
                "this is the file of node id {theirs}, not of {node_id}: give each its own, and delete \
                 none"
            ));
        }
        Ok(())
    }

    /// `None` when it is longer than that.
    pub(super) fn to_bytes(&self) -> Option<[u8; LEN]> {
        let lines = [
            &self.name,
            &*self.node_id.to_string(),
            self.namespace.as_deref().unwrap_or_default(),
            self.node.as_deref().unwrap_or_default(),
        ];
        let writes = self.writes.to_le_bytes();
        let mut bytes = [&MAGIC[..], &writes, lines.join("\n").as_bytes()].concat();
        if bytes.len() > LEN - SUM_LEN {
            return None;
        }
        bytes.resize(LEN - SUM_LEN, 0);
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes.try_into().ok()
    }

    /// Whether these may be the first bytes of one.
    pub(super) fn may_begin(bytes: &[u8]) -> bool {
        let len = bytes.len().min(MAGIC.len());
        bytes[..len] == MAGIC[..len]
    }

    /// `None` when it was not written whole, or by another program.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_at_checked(LEN - SUM_LEN)?;
        if sum != checksum(body).to_le_bytes() {
            return None;
        }
        let (head, text) = body.split_at_checked(HEAD_LEN)?;
        let writes = head.strip_prefix(&MAGIC)?;
        let text = str::from_utf8(text).ok()?.trim_end_matches('\0');
        let [name, node_id, namespace, node] = text.split('\n').collect::<Vec<_>>()[..] else {
            return None;
        };
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Some(Self {
            writes: u64::from_le_bytes(writes.try_into().ok()?),
            name: name.to_owned(),
            node_id: node_id.parse().ok()?,
            namespace: text(namespace),
            node: text(node),
        })
    }
}

/// FNV-1a, which tells a sector that was not written whole.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Randflake;
    use crate::holder::MAX_LEN;
    use crate::lease::Token;
    use crate::ledger::{NamespaceRecord, NodeRecord};

    /// With the longest of everything.
    fn longest() -> Slot {
        let namespace = Namespace::of::<Randflake>(&"n".repeat(64)).unwrap();
        let mut slot = Slot::new(&namespace, u32::MAX);
        slot.writes = u64::MAX;
        let record = NamespaceRecord {
            terms: *namespace.terms(),
            origin: u64::MAX,
            writes: u64::MAX,
            quarantine: u64::MAX,
            fingerprint: String::new(),
        };
        slot.namespace = Some(record.to_text());
        let record = NodeRecord {
            node_id: u32::MAX,
            start: u64::MAX,
            end: u64::MAX,
            fencing_token: u64::MAX,
            serial: u64::MAX,
            token: Token::from_bytes([255; 16]),
            nonce: u64::MAX,
            held: true,
            contested: true,
            holder: "h".repeat(MAX_LEN),
        };
        slot.node = Some(record.to_text());
        slot
    }

    #[test]
    fn round_trip_and_no_damage_is_read() {
        let slot = longest();
        let bytes = slot.to_bytes().unwrap();
        let read = Slot::from_bytes(&bytes).unwrap();
        assert_eq!((&read.namespace, &read.node), (&slot.namespace, &slot.node));
        assert_eq!((read.to_bytes(), read.writes), (Some(bytes), u64::MAX));
        for at in 0..LEN {
            let mut damaged = bytes;
            damaged[at] ^= 0x10;
            assert!(Slot::from_bytes(&damaged).is_none(), "{at}");
            assert!(Slot::from_bytes(&bytes[..at]).is_none(), "{at}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_cut() {
        let mut slot = longest();
        slot.node = slot.node.map(|node| node + &"h".repeat(LEN / 4));
        assert_eq!(slot.to_bytes(), None);
    }
}
