//! Ids and their fields, for people and for programs.

use core::time::Duration;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use humantime::{format_rfc3339_millis, format_rfc3339_seconds};
use itoa::Integer;
use randflake_std::randflake_core::{Codec, Permutation, Spec};
use randflake_std::{AnyLayout, Custom, Id, Parts};

use crate::output::Output;

/// How the fields of an id are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// An object on a line. Numbers over 53 bits are strings, because not every JSON reader keeps them.
    Json,
    /// A line for each field.
    Block,
    /// All in one line.
    Line,
}

/// Shows ids of a codec.
pub(crate) struct Records<'a> {
    codec: &'a Codec<Custom>,
    spec: Spec,
    /// That of the id before: most have the same.
    moment: Moment,
    raws: Vec<u64>,
    text: Vec<u8>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(codec: &'a Codec<Custom>) -> Self {
        let spec = codec.layout().spec();
        Self {
            codec,
            spec,
            moment: Moment::new(spec, 0),
            raws: Vec::new(),
            text: Vec::new(),
        }
    }

    pub(crate) fn write(&mut self, out: &mut Output, shape: Shape, ids: &[Id]) -> io::Result<()> {
        self.raws.clear();
        self.raws.extend(ids.iter().map(|id| id.to_u64()));
        self.codec.permutation().invert_all(&mut self.raws);
        let latest = soon();
        self.text.clear();
        for (&id, &raw) in ids.iter().zip(&self.raws) {
            let parts = self.spec.unpack(raw);
            if parts.tick != self.moment.tick {
                self.moment = Moment::new(self.spec, parts.tick);
            }
            let record = Record {
                id,
                raw,
                parts,
                spec: &self.spec,
                moment: &self.moment,
                is_ahead: self.moment.unix > latest,
            };
            match shape {
                Shape::Json => record.json(&mut self.text),
                Shape::Block => record.block(&mut self.text),
                Shape::Line => record.line(&mut self.text),
            }
        }
        out.write_all(&self.text)
    }
}

/// The time of a tick, written.
struct Moment {
    tick: u64,
    unix: Duration,
    /// Seconds, with as many digits as the layout's tick has a use for.
    time: String,
    utc: String,
    json: String,
}

impl Moment {
    fn new(spec: Spec, tick: u64) -> Self {
        let unix_ms = spec.unix_ms(tick);
        let unix = Duration::from_millis(unix_ms);
        let seconds = unix_ms / 1_000;
        let utc = utc_to(unix, spec.tick_ms());
        Self {
            tick,
            unix,
            time: if is_whole_seconds(spec.tick_ms()) {
                seconds.to_string()
            } else {
                format!("{seconds}.{:03}", unix_ms % 1_000)
            },
            json: format!(r#""time":{seconds},"unix_ms":{unix_ms},"time_utc":"{utc}""#),
            utc,
        }
    }
}

/// An id and all that it says.
struct Record<'a> {
    id: Id,
    raw: u64,
    parts: Parts,
    spec: &'a Spec,
    moment: &'a Moment,
    /// An id of another secret decrypts to a random time: nineteen in twenty are in the future.
    is_ahead: bool,
}

impl Record<'_> {
    fn json(&self, text: &mut Vec<u8>) {
        add(text, r#"{"text":""#);
        text.extend_from_slice(self.id.to_text().as_bytes());
        add(text, r#"","int":""#);
        number(text, self.id.to_i64());
        add(text, r#"","raw":""#);
        number(text, self.raw);
        add(text, "\",");
        add(text, &self.moment.json);
        add(text, r#","node":"#);
        number(text, self.parts.node_id);
        let mut before = r#","node_parts":{""#;
        // Names are letters, digits, `-` and `_`.
        for (name, value) in self.spec.node_parts(self.parts.node_id) {
            add(text, before);
            add(text, name);
            add(text, "\":");
            number(text, value);
            before = ",\"";
        }
        if before == ",\"" {
            add(text, "}");
        }
        add(text, r#","sequence":"#);
        number(text, self.parts.sequence);
        add(text, "}\n");
    }

    fn block(&self, text: &mut Vec<u8>) {
        add(text, "text      ");
        text.extend_from_slice(self.id.to_text().as_bytes());
        add(text, "\nint       ");
        number(text, self.id.to_i64());
        add(text, "\nraw       ");
        number(text, self.raw);
        add(text, "\ntime      ");
        self.time(text);
        self.doubt(text);
        add(text, "\nnode      ");
        number(text, self.parts.node_id);
        self.node_parts(text);
        add(text, "\nsequence  ");
        number(text, self.parts.sequence);
        add(text, "\n");
    }

    fn line(&self, text: &mut Vec<u8>) {
        let start = text.len();
        text.extend_from_slice(self.id.to_text().as_bytes());
        pad(text, start + 13);
        add(text, "  time ");
        self.time(text);
        add(text, "  node ");
        let start = text.len();
        number(text, self.parts.node_id);
        pad(text, start + 6);
        self.node_parts(text);
        add(text, "  sequence ");
        number(text, self.parts.sequence);
        self.doubt(text);
        add(text, "\n");
    }

    fn time(&self, text: &mut Vec<u8>) {
        add(text, &self.moment.time);
        add(text, " (");
        add(text, &self.moment.utc);
        add(text, ")");
    }

    /// The named parts of the node id, if it has some.
    fn node_parts(&self, text: &mut Vec<u8>) {
        let mut before = " (";
        for (name, value) in self.spec.node_parts(self.parts.node_id) {
            add(text, before);
            add(text, name);
            add(text, " ");
            number(text, value);
            before = ", ";
        }
        if before == ", " {
            add(text, ")");
        }
    }

    fn doubt(&self, text: &mut Vec<u8>) {
        if self.is_ahead {
            add(
                text,
                "  in the future: made under another secret or layout?",
            );
        }
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

/// A time since the Unix epoch in RFC 3339, whole seconds.
pub(crate) fn utc(unix: Duration) -> String {
    utc_to(unix, 1_000)
}

/// [`utc`] with milliseconds where ticks are no whole seconds.
fn utc_to(unix: Duration, tick_ms: u64) -> String {
    /// RFC 3339 has years of four digits.
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    if unix >= YEAR_10000 {
        return "after the year 9999".to_owned();
    }
    let time = UNIX_EPOCH + unix;
    if is_whole_seconds(tick_ms) {
        format_rfc3339_seconds(time).to_string()
    } else {
        format_rfc3339_millis(time).to_string()
    }
}
