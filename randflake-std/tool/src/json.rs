//! A JSON object for each id, written straight into the output: pieces whose length is known when this is compiled are
//! copied whole, and what goes behind their end is overwritten by the next.

use std::io;

use itoa::Buffer;
use randflake_std::Id;
use randflake_std::randflake_core::Notation;

use crate::output::Output;

const TEXT: &[u8] = br#"{"text":""#;
const INT: &[u8] = br#"","int":""#;
const RAW: &[u8] = br#"","raw":""#;
const END: &[u8] = b"}\n";
/// A number or a text of an id, with room.
pub(crate) const WORD: usize = 24;
/// What stands between two words is copied in pieces of this length.
const PIECE: usize = 64;

/// An id, with the fields that change from one to the next.
#[derive(Clone, Copy)]
pub(crate) struct JsonFields<'a> {
    pub(crate) id: Id,
    pub(crate) raw: u64,
    pub(crate) sequence: u32,
    /// More members, each after a comma.
    pub(crate) more: &'a [u8],
}

/// Writes objects of ids in blocks.
#[derive(Default)]
pub(crate) struct Objects {
    texts: Vec<u8>,
    ints: Vec<u8>,
    raw: DigitsCounter,
    sequence: DigitsCounter,
    /// What is the same for many ids, padded.
    common: Vec<u8>,
    common_len: usize,
    next_text: usize,
    next_int: usize,
}

impl Objects {
    /// Begins a block: the ids that are [written](Objects::write) next, in this order.
    pub(crate) fn begin(&mut self, ids: &[Id]) -> io::Result<()> {
        (self.next_text, self.next_int) = (0, 0);
        for (notation, words) in [
            (Notation::Text, &mut self.texts),
            (Notation::Signed, &mut self.ints),
        ] {
            words.resize(ids.len() * (notation.max_len() + 1) + WORD, 0);
            notation.write(ids, 0, words).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// What stands between the number `raw` and that of the sequence from now on.
    pub(crate) fn change(&mut self, common: &[u8]) {
        self.common_len = common.len();
        self.common.clear();
        self.common.extend_from_slice(common);
        self.common.resize(common.len().next_multiple_of(PIECE), 0);
    }

    /// Writes the next id of the block.
    #[inline]
    pub(crate) fn write(&mut self, out: &mut Output, fields: JsonFields<'_>) -> io::Result<()> {
        const FIXED: usize = TEXT.len() + INT.len() + RAW.len() + END.len() + 4 * WORD;
        let JsonFields {
            id,
            raw,
            sequence,
            more,
        } = fields;
        out.put(FIXED + self.common.len() + more.len(), |place| {
            let mut line = JsonLine { place, len: 0 };
            line.literal(TEXT);
            let len = Notation::Text.len(id);
            line.word(&self.texts[self.next_text..], len);
            self.next_text += len + 1;
            line.literal(INT);
            let len = Notation::Signed.len(id);
            line.word(&self.ints[self.next_int..], len);
            self.next_int += len + 1;
            line.literal(RAW);
            self.raw.write(&mut line, raw);
            line.pieces(&self.common, self.common_len);
            self.sequence.write(&mut line, sequence.into());
            if !more.is_empty() {
                line.literal(more);
            }
            line.literal(END);
            Ok(line.len)
        })
    }
}

/// A line as far as it is written.
pub(crate) struct JsonLine<'a> {
    pub(crate) place: &'a mut [u8],
    pub(crate) len: usize,
}

impl JsonLine<'_> {
    #[inline]
    pub(crate) fn literal(&mut self, text: &[u8]) {
        self.place[self.len..][..text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    /// Copies a whole word, of which so many bytes count.
    #[inline]
    pub(crate) fn word(&mut self, word: &[u8], len: usize) {
        self.place[self.len..][..WORD].copy_from_slice(&word[..WORD]);
        self.len += len;
    }

    #[inline]
    fn pieces(&mut self, text: &[u8], len: usize) {
        let place = &mut self.place[self.len..][..text.len()];
        let (places, _) = place.as_chunks_mut::<PIECE>();
        let (pieces, _) = text.as_chunks::<PIECE>();
        for (place, piece) in places.iter_mut().zip(pieces) {
            *place = *piece;
        }
        self.len += len;
    }
}

/// The decimal digits of numbers of which most follow each other: all digits but the last are kept.
#[derive(Default)]
struct DigitsCounter {
    /// That of the kept digits and a zero.
    first: u64,
    digits: [u8; WORD],
    /// With the last digit; 0 before there was a number.
    len: usize,
}

impl DigitsCounter {
    #[inline]
    fn write(&mut self, line: &mut JsonLine<'_>, number: u64) {
        let last = match number.checked_sub(self.first) {
            Some(last @ 0..10) if self.len > 0 => last,
            _ => self.change(number),
        };
        line.word(&self.digits, self.len);
        line.place[line.len - 1] = b'0' + u8::try_from(last).unwrap_or_default();
    }

    /// Keeps another number's digits, and gives its last.
    fn change(&mut self, number: u64) -> u64 {
        let mut buffer = Buffer::new();
        let digits = buffer.format(number).as_bytes();
        self.digits[..digits.len()].copy_from_slice(digits);
        self.len = digits.len();
        let last = number % 10;
        self.first = number - last;
        last
    }
}
