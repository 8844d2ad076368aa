//! Replies, in both versions of the protocol.

use itoa::Buffer;
use itoa::Integer;
use randflake_std::Id;
use serde::Serialize;

use crate::refusal::{Refusal, RefusalKind};

/// Replies that were not sent yet.
#[derive(Debug, Default)]
pub(super) struct Replies {
    bytes: Vec<u8>,
    /// RESP3, which the client asked for with HELLO.
    pub(super) is_third: bool,
}

impl Replies {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        /// Capacity kept for the next batch.
        // As long as the largest read: the memory of longer replies is held only until they are
        // sent.
        const KEPT: usize = 64 << 10;
        self.bytes.clear();
        // One long array of ids must not be kept for each connection that has ever asked for one.
        self.bytes.shrink_to(KEPT);
    }

    /// Keeps nothing for the next batch.
    pub(super) fn free(&mut self) {
        self.bytes = Vec::new();
    }

    pub(super) fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error of one line: a line break in a message, which may repeat what a client sent, would
    /// begin another reply.
    pub(super) fn error(&mut self, code: &str, message: &str) {
        self.bytes.push(b'-');
        self.bytes.extend_from_slice(code.as_bytes());
        self.bytes.push(b' ');
        let bytes = message.bytes();
        self.bytes
            .extend(bytes.map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
        self.end();
    }

    pub(super) fn refusal(&mut self, refusal: &Refusal) {
        self.error(refusal.kind.resp(), &refusal.message);
    }

    pub(super) fn number(&mut self, number: impl Integer) {
        let mut buffer = Buffer::new();
        self.line(b':', buffer.format(number).as_bytes());
    }

    pub(super) fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.end();
    }

    /// A JSON document, as a string.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), Refusal> {
        let written =
            serde_json::to_vec(value).map_err(|error| Refusal::new(RefusalKind::Failed, error))?;
        self.bulk(&written);
        Ok(())
    }

    /// Begins an array: so many replies follow.
    pub(super) fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// Begins a map: so many pairs of replies follow.
    pub(super) fn map(&mut self, length: usize) {
        if self.is_third {
            self.length(b'%', length);
        } else {
            self.array(2 * length);
        }
    }

    pub(super) fn null(&mut self) {
        let null: &[u8] = if self.is_third { b"_\r\n" } else { b"$-1\r\n" };
        self.bytes.extend_from_slice(null);
    }

    /// An id as a number.
    pub(super) fn int_id(&mut self, id: Id) {
        self.number(id.to_i64());
    }

    /// An id in digits, which no client rounds.
    pub(super) fn digits(&mut self, id: Id) {
        let mut buffer = Buffer::new();
        self.bulk(buffer.format(id.to_i64()).as_bytes());
    }

    pub(super) fn text_id(&mut self, id: Id) {
        self.bulk(id.to_text().as_bytes());
    }

    /// Begins ids in one string: as many [`raw_id`](Self::raw_id) follow, and [`end`](Self::end).
    pub(super) fn raw_ids(&mut self, count: usize) {
        self.length(b'$', size_of::<u64>() * count);
    }

    /// An id in eight bytes, the lowest first.
    pub(super) fn raw_id(&mut self, id: Id) {
        self.bytes.extend(id.to_u64().to_le_bytes());
    }

    fn length(&mut self, mark: u8, length: usize) {
        let mut buffer = Buffer::new();
        self.line(mark, buffer.format(length).as_bytes());
    }

    fn line(&mut self, mark: u8, text: &[u8]) {
        self.bytes.push(mark);
        self.bytes.extend_from_slice(text);
        self.end();
    }

    pub(super) fn end(&mut self) {
        self.bytes.extend_from_slice(b"\r\n");
    }
}
