//! An id and its fields, for people and for programs.

use core::time::Duration;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use humantime::{format_rfc3339_millis, format_rfc3339_seconds};
use randflake_std::randflake_core::Codec;
use randflake_std::{AnyLayout, Custom, Id, Parts};
use serde::Serialize;

/// All that an id says. Numbers over 53 bits are strings, because not every JSON reader keeps them.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    text: String,
    int: String,
    raw: String,
    time: u64,
    unix_ms: u64,
    time_utc: String,
    node: u32,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    node_parts: Vec<(&'static str, u32)>,
    sequence: u32,
    #[serde(skip)]
    tick_ms: u64,
}

impl Record {
    pub(crate) fn new(codec: &Codec<Custom>, id: Id) -> Self {
        let spec = codec.layout().spec();
        let Parts {
            node_id, sequence, ..
        } = codec.inspect(id);
        let unix_ms = codec.unix_ms(id);
        Self {
            text: id.to_string(),
            int: id.to_i64().to_string(),
            raw: codec.raw(id).to_string(),
            time: unix_ms / 1_000,
            unix_ms,
            time_utc: utc_to(Duration::from_millis(unix_ms), spec.tick_ms()),
            node: node_id,
            node_parts: spec.node_parts(node_id).collect(),
            sequence,
            tick_ms: spec.tick_ms(),
        }
    }

    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// A line for each field.
    pub(crate) fn write_block(&self, out: &mut impl Write) -> io::Result<()> {
        let Self {
            text,
            int,
            raw,
            time_utc,
            node,
            sequence,
            ..
        } = self;
        write!(
            out,
            "text      {text}\n\
             int       {int}\n\
             raw       {raw}\n\
             time      {} ({time_utc}){}\n\
             node      {node}{}\n\
             sequence  {sequence}\n",
            self.time(),
            self.doubt(),
            self.parts()
        )
    }

    /// All in one line.
    pub(crate) fn write_line(&self, out: &mut impl Write) -> io::Result<()> {
        let Self {
            text,
            time_utc,
            node,
            sequence,
            ..
        } = self;
        writeln!(
            out,
            "{text:<13}  time {} ({time_utc})  node {node:<6}{}  sequence {sequence}{}",
            self.time(),
            self.parts(),
            self.doubt()
        )
    }

    /// Seconds, with as many digits as the layout's tick has a use for.
    fn time(&self) -> String {
        let Self { time, unix_ms, .. } = self;
        if is_whole_seconds(self.tick_ms) {
            time.to_string()
        } else {
            format!("{time}.{:03}", unix_ms % 1_000)
        }
    }

    /// The named parts of the node id, if it has some.
    fn parts(&self) -> String {
        let parts = self.node_parts.iter();
        let shown: Vec<_> = parts
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        match &shown[..] {
            [] => String::new(),
            shown => format!(" ({})", shown.join(", ")),
        }
    }

    /// An id of another secret decrypts to a random time: nineteen in twenty are in the future.
    fn doubt(&self) -> &'static str {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let is_ahead = Duration::from_millis(self.unix_ms) > now + Duration::from_secs(60);
        if is_ahead {
            "  in the future: made under another secret or layout?"
        } else {
            ""
        }
    }
}

fn is_whole_seconds(tick_ms: u64) -> bool {
    tick_ms.is_multiple_of(1_000)
}

fn as_map<S: serde::Serializer>(
    parts: &[(&'static str, u32)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(parts.iter().copied())
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
