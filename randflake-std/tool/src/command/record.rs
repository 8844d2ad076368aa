//! Ids and their fields, for people and for programs.

use core::time::Duration;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use itoa::Integer;
use randflake_std::randflake_core::{Codec, LayoutSpec, Permutation, Sparx64};
use randflake_std::{AnyLayout, Id, Parts};

use crate::command::bits::Bits;
use crate::command::utc::Utc;
use crate::json::{JsonFields, Objects};
use crate::output::Output;

/// How the fields of an id are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// An object on a line. Numbers over 53 bits are strings, because not every JSON reader keeps them.
    Json,
    /// A line for each field.
    Block,
    /// All in one line.
    JsonLine,
}

/// Shows ids of a codec.
pub(crate) struct FieldsWriter<'a> {
    codec: &'a Codec<LayoutSpec, Option<Sparx64>>,
    shape: Shape,
    common: Common,
    raws: Vec<u64>,
    text: Vec<u8>,
    objects: Objects,
    bits: Option<Bits>,
}

impl<'a> FieldsWriter<'a> {
    pub(crate) fn new(codec: &'a Codec<LayoutSpec, Option<Sparx64>>, shape: Shape) -> Self {
        Self {
            codec,
            shape,
            common: Common::default(),
            raws: Vec::new(),
            text: Vec::new(),
            objects: Objects::default(),
            bits: None,
        }
    }

    /// Shows the bits of each field, too.
    pub(crate) fn with_bits(mut self, is_coloured: bool) -> Self {
        self.bits = Some(Bits::new(&self.codec.layout().spec(), is_coloured));
        self
    }

    pub(crate) fn write(&mut self, out: &mut Output, ids: &[Id]) -> io::Result<()> {
        self.raws.clear();
        self.raws.extend(ids.iter().map(|id| id.to_u64()));
        self.codec.permutation().invert_all(&mut self.raws);
        match self.shape {
            Shape::Json => self.write_objects(out, ids),
            Shape::Block | Shape::JsonLine => self.write_text(out, ids),
        }
    }

    fn write_objects(&mut self, out: &mut Output, ids: &[Id]) -> io::Result<()> {
        let spec = self.codec.layout().spec();
        let latest = soon();
        self.objects.begin(ids)?;
        for (&id, &raw) in ids.iter().zip(&self.raws) {
            let parts = spec.unpack(raw);
            if self.common.become_of(self.shape, &spec, parts, latest) {
                self.objects.change(&self.common.before);
            }
            let sequence = parts.sequence;
            let bits = self.bits.as_ref().map(|bits| bits.member(raw));
            let more = bits.as_deref().unwrap_or_default().as_bytes();
            let fields = JsonFields {
                id,
                raw,
                sequence,
                more,
            };
            self.objects.write(out, fields)?;
        }
        out.end_of_piece()
    }

    fn write_text(&mut self, out: &mut Output, ids: &[Id]) -> io::Result<()> {
        let Self {
            codec,
            shape,
            common,
            raws,
            text,
            bits,
            ..
        } = self;
        let spec = codec.layout().spec();
        let latest = soon();
        text.clear();
        for (&id, &raw) in ids.iter().zip(&*raws) {
            let parts = spec.unpack(raw);
            common.become_of(*shape, &spec, parts, latest);
            if matches!(shape, Shape::Block) {
                add(text, "text      ");
                text.extend_from_slice(id.to_text().as_bytes());
                add(text, "\nint       ");
                number(text, id.to_i64());
                add(text, "\nraw       ");
                number(text, raw);
            } else {
                let start = text.len();
                text.extend_from_slice(id.to_text().as_bytes());
                pad(text, start + 13);
            }
            text.extend_from_slice(&common.before);
            number(text, parts.sequence);
            add(text, common.behind);
            if let (Some(bits), Shape::Block) = (&*bits, &*shape) {
                add(text, &bits.rows(raw));
            }
        }
        out.write_all(text)
    }
}

/// What is shown of all ids of a tick and a node id: most have those of the one before.
#[derive(Default)]
struct Common {
    tick: u64,
    node_id: u32,
    /// Between the id and its sequence.
    before: Vec<u8>,
    behind: &'static str,
    utc: Utc,
}

impl Common {
    /// Whether it is another one than before.
    #[inline]
    fn become_of(
        &mut self,
        shape: Shape,
        spec: &LayoutSpec,
        parts: Parts,
        latest: Duration,
    ) -> bool {
        let is_other =
            (self.tick, self.node_id) != (parts.tick, parts.node_id) || self.before.is_empty();
        if is_other {
            (self.tick, self.node_id) = (parts.tick, parts.node_id);
            self.write(shape, spec, latest);
        }
        is_other
    }

    #[inline(never)]
    fn write(&mut self, shape: Shape, spec: &LayoutSpec, latest: Duration) {
        let unix_ms = spec.unix_ms(self.tick);
        let unix = Duration::from_millis(unix_ms);
        // An id of another secret decrypts to a random time: nineteen in twenty are in the future.
        let doubt = unix > latest;
        let Self {
            before: text, utc, ..
        } = self;
        let with_ms = !is_whole_seconds(spec.tick_ms());
        text.clear();
        match shape {
            Shape::Json => {
                add(text, r#"","time":"#);
                number(text, unix_ms / 1_000);
                add(text, r#","unix_ms":"#);
                number(text, unix_ms);
                add(text, r#","time_utc":""#);
                utc.write(text, unix_ms, with_ms);
                add(text, r#"","node":"#);
                number(text, self.node_id);
                // Names are letters, digits, `-` and `_`.
                let around = [r#","node_parts":{""#, "\":", ",\"", "}"];
                node_parts(text, spec, self.node_id, around);
                add(text, r#","sequence":"#);
            }
            Shape::Block => {
                add(text, "\ntime      ");
                time(text, utc, unix_ms, with_ms);
                add(text, if doubt { DOUBT } else { "" });
                add(text, "\nnode      ");
                number(text, self.node_id);
                node_parts(text, spec, self.node_id, IN_BRACKETS);
                add(text, "\nsequence  ");
                self.behind = "\n";
            }
            Shape::JsonLine => {
                add(text, "  time ");
                time(text, utc, unix_ms, with_ms);
                add(text, "  node ");
                let start = text.len();
                number(text, self.node_id);
                pad(text, start + 6);
                node_parts(text, spec, self.node_id, IN_BRACKETS);
                add(text, "  sequence ");
                self.behind = if doubt { DOUBT_AND_END } else { "\n" };
            }
        }
    }
}

const DOUBT: &str = "  in the future: made under another secret or layout?";
const DOUBT_AND_END: &str = "  in the future: made under another secret or layout?\n";
const IN_BRACKETS: [&str; 4] = [" (", " ", ", ", ")"];

/// Seconds, with as many digits as the layout's tick has a use for, and the same for people.
fn time(text: &mut Vec<u8>, utc: &mut Utc, unix_ms: u64, with_ms: bool) {
    number(text, unix_ms / 1_000);
    if with_ms {
        add(text, ".");
        let ms = unix_ms % 1_000;
        add(text, &"000"[itoa::Buffer::new().format(ms).len()..]);
        number(text, ms);
    }
    add(text, " (");
    utc.write(text, unix_ms, with_ms);
    add(text, ")");
}

/// The named parts of a node id, if it has some, with what stands before the first, between a name and its value,
/// between parts, and behind the last.
fn node_parts(
    text: &mut Vec<u8>,
    spec: &LayoutSpec,
    node_id: u32,
    [first, of, next, last]: [&str; 4],
) {
    let mut before = first;
    for (name, value) in spec.node_parts(node_id) {
        add(text, before);
        add(text, name);
        add(text, of);
        number(text, value);
        before = next;
    }
    if before == next {
        add(text, last);
    }
}

#[inline]
fn add(text: &mut Vec<u8>, more: &str) {
    text.extend_from_slice(more.as_bytes());
}

#[inline]
fn number(text: &mut Vec<u8>, number: impl Integer) {
    add(text, itoa::Buffer::new().format(number));
}

/// Spaces to a length.
fn pad(text: &mut Vec<u8>, len: usize) {
    text.resize(len.max(text.len()), b' ');
}

/// A minute from now: clocks may differ by as much.
fn soon() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default() + Duration::from_secs(60)
}

fn is_whole_seconds(tick_ms: u64) -> bool {
    tick_ms.is_multiple_of(1_000)
}
