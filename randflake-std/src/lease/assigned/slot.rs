//! What the file holds, in one sector that is written as a whole.

use super::super::{Grant, Namespace, Token};

const MAGIC: [u8; 16] = *b"randflake node\x1a\n";
pub(super) const VERSION: u64 = 1;

/// A sector of any disk that is made today has a multiple of this size.
pub(super) const LEN: usize = 512;
/// Longer names of holders are cut: they are for people.
const MAX_HOLDER_LEN: usize = 256;
const NAME_LEN: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// How often the file was written.
    pub(super) writes: u64,
    namespace: String,
    node_ids: u64,
    epoch_unix_ms: u64,
    tick_ms: u64,
    /// Nothing is granted before this tick.
    pub(super) fence: u64,
    /// The last lease; its fencing token is 0 if there was none.
    pub(super) grant: Grant,
    /// It was not released.
    pub(super) held: bool,
    pub(super) holder: String,
}

impl Slot {
    /// Of a file that is not there yet.
    pub(super) fn new(namespace: &Namespace, node_id: u32) -> Self {
        Self {
            writes: 0,
            namespace: namespace.name().to_owned(),
            node_ids: namespace.node_ids(),
            epoch_unix_ms: namespace.spec().epoch_unix_ms(),
            tick_ms: namespace.spec().tick_ms(),
            fence: 0,
            grant: Grant {
                node_id,
                start: 0,
                end: 0,
                fencing_token: 0,
                token: Token::from_bytes([0; 16]),
            },
            held: false,
            holder: String::new(),
        }
    }

    /// Nothing was granted by it.
    pub(super) fn is_new(&self) -> bool {
        self.grant.fencing_token == 0
    }

    pub(super) fn check(&self, namespace: &Namespace, node_id: u32) -> Result<(), String> {
        let theirs = self.grant.node_id;
        if self.namespace != namespace.name() {
            return Err(format!(
                "this is the file of namespace {:?}, not of {:?}: give each its own",
                self.namespace,
                namespace.name()
            ));
        }
        if theirs != node_id {
            return Err(format!(
                "this is the file of node id {theirs}, not of {node_id}: give each its own, and delete \
                 none"
            ));
        }
        namespace
            .check_layout(self.node_ids, self.epoch_unix_ms, self.tick_ms)
            .map_err(|error| error.to_string())
    }

    pub(super) fn to_bytes(&self) -> [u8; LEN] {
        let mut bytes = Vec::with_capacity(LEN);
        bytes.extend(MAGIC);
        let words = [
            VERSION,
            self.writes,
            self.grant.node_id.into(),
            self.node_ids,
            self.epoch_unix_ms,
            self.tick_ms,
            self.fence,
            self.grant.start,
            self.grant.end,
            self.grant.fencing_token,
            self.held.into(),
        ];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(self.grant.token.to_bytes());
        bytes.extend(padded(&self.namespace, NAME_LEN));
        bytes.extend(padded(&self.holder, MAX_HOLDER_LEN));
        bytes.resize(LEN - 8, 0);
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
        let (body, sum) = bytes.split_at_checked(LEN - 8)?;
        if sum != checksum(body).to_le_bytes() {
            return None;
        }
        let body = body.strip_prefix(&MAGIC)?;
        let (words, body) = body.split_at_checked(11 * 8)?;
        let words: Vec<u64> = words
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        let [
            VERSION,
            writes,
            node_id,
            node_ids,
            epoch_unix_ms,
            tick_ms,
            fence,
            start,
            end,
            fencing_token,
            held,
        ] = words[..]
        else {
            return None;
        };
        let (token, body) = body.split_first_chunk()?;
        let (namespace, body) = body.split_at_checked(NAME_LEN)?;
        let holder = body.get(..MAX_HOLDER_LEN)?;
        Some(Self {
            writes,
            namespace: unpadded(namespace)?,
            node_ids,
            epoch_unix_ms,
            tick_ms,
            fence,
            grant: Grant {
                node_id: u32::try_from(node_id).ok()?,
                start,
                end,
                fencing_token,
                token: Token::from_bytes(*token),
            },
            held: held != 0,
            holder: unpadded(holder)?,
        })
    }
}

fn padded(text: &str, len: usize) -> Vec<u8> {
    let fits = |&(at, c): &(usize, char)| at + c.len_utf8() <= len;
    let cut: String = text
        .char_indices()
        .take_while(fits)
        .map(|(_, c)| c)
        .collect();
    let mut bytes = cut.into_bytes();
    bytes.resize(len, 0);
    bytes
}

fn unpadded(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.trim_end_matches('\0').to_owned())
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

    #[test]
    fn round_trip_and_no_damage_is_read() {
        let namespace = Namespace::of::<Randflake>("orders").unwrap();
        let mut slot = Slot::new(&namespace, 131_071);
        slot.holder = "é".repeat(MAX_HOLDER_LEN);
        slot.grant.end = u64::MAX;
        let bytes = slot.to_bytes();
        let read = Slot::from_bytes(&bytes).unwrap();
        assert_eq!(read.holder, "é".repeat(MAX_HOLDER_LEN / 2));
        slot.holder = read.holder.clone();
        assert_eq!(read, slot);
        for at in 0..LEN {
            let mut damaged = bytes;
            damaged[at] ^= 0x10;
            assert_eq!(Slot::from_bytes(&damaged), None, "{at}");
            assert_eq!(Slot::from_bytes(&bytes[..at]), None, "{at}");
        }
    }
}
