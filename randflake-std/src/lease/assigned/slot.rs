//! What the file holds, in one sector that is written as a whole.

use crate::lease::Namespace;
use crate::ledger::{NamespaceRecord, NodeRecord};

const MAGIC: [u8; 16] = *b"randflake node\x1a\n";

/// A sector of any disk that is made today has a multiple of this size.
pub(super) const LEN: usize = 512;
/// Longer names of holders are cut: they are for people.
const MAX_HOLDER_LEN: usize = 128;
/// Before and behind the text.
const HEAD_LEN: usize = MAGIC.len() + 8;
const SUM_LEN: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// How often the file was written.
    pub(super) writes: u64,
    name: String,
    node_id: u32,
    pub(super) namespace: Option<NamespaceRecord>,
    /// The last lease.
    pub(super) node: Option<NodeRecord>,
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

    pub(super) fn to_bytes(&self) -> [u8; LEN] {
        let namespace = self.namespace.as_ref().map(NamespaceRecord::to_text);
        let node = self.node.clone().map(|mut node| {
            cut(&mut node.holder, MAX_HOLDER_LEN);
            node.to_text()
        });
        let lines = [
            self.name.clone(),
            self.node_id.to_string(),
            namespace.unwrap_or_default(),
            node.unwrap_or_default(),
        ];
        let mut bytes = [
            &MAGIC[..],
            &self.writes.to_le_bytes(),
            lines.join("\n").as_bytes(),
        ]
        .concat();
        bytes.resize(LEN - SUM_LEN, 0);
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        let mut whole = [0; LEN];
        whole.copy_from_slice(&bytes);
        whole
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
        let node_id = node_id.parse().ok()?;
        Some(Self {
            writes: u64::from_le_bytes(writes.try_into().ok()?),
            name: name.to_owned(),
            node_id,
            namespace: match namespace {
                "" => None,
                text => Some(NamespaceRecord::from_text(text).ok()?),
            },
            node: match node {
                "" => None,
                text => Some(NodeRecord::from_text(node_id, text)?),
            },
        })
    }
}

fn cut(text: &mut String, len: usize) {
    let end = (0..=len).rev().find(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or(0));
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
    use crate::lease::Token;

    #[test]
    fn round_trip_and_no_damage_is_read() {
        let name = "n".repeat(64);
        let namespace = Namespace::of::<Randflake>(&name).unwrap();
        let mut slot = Slot::new(&namespace, u32::MAX);
        slot.writes = u64::MAX;
        slot.namespace = Some(NamespaceRecord {
            terms: *namespace.terms(),
            origin: u64::MAX,
            writes: u64::MAX,
            quarantine: u64::MAX,
            fingerprint: String::new(),
        });
        slot.node = Some(NodeRecord {
            node_id: u32::MAX,
            start: u64::MAX,
            end: u64::MAX,
            fencing_token: u64::MAX,
            serial: u64::MAX,
            token: Token::from_bytes([255; 16]),
            nonce: u64::MAX,
            held: true,
            contested: true,
            holder: "é".repeat(MAX_HOLDER_LEN),
        });
        let bytes = slot.to_bytes();
        let read = Slot::from_bytes(&bytes).unwrap();
        let node = read.node.as_ref().unwrap();
        assert_eq!(node.holder, "é".repeat(MAX_HOLDER_LEN / 2));
        assert_eq!(read.to_bytes(), bytes);
        assert_eq!((node.end, read.writes), (u64::MAX, u64::MAX));
        for at in 0..LEN {
            let mut damaged = bytes;
            damaged[at] ^= 0x10;
            assert!(Slot::from_bytes(&damaged).is_none(), "{at}");
            assert!(Slot::from_bytes(&bytes[..at]).is_none(), "{at}");
        }
    }
}
