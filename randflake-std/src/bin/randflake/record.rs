//! An id and its fields, for people and for programs.

use core::time::Duration;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;
use randflake_std::randflake_core::Codec;
use randflake_std::{Id, Parts, Randflake};
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
    sequence: u32,
}

impl Record {
    pub(crate) fn new(codec: &Codec<Randflake>, id: Id) -> Self {
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
            time_utc: utc(Duration::from_millis(unix_ms)),
            node: node_id,
            sequence,
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
            time,
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
             time      {time} ({time_utc}){}\n\
             node      {node}\n\
             sequence  {sequence}\n",
            self.doubt()
        )
    }

    /// All in one line.
    pub(crate) fn write_line(&self, out: &mut impl Write) -> io::Result<()> {
        let Self {
            text,
            time,
            time_utc,
            node,
            sequence,
            ..
        } = self;
        writeln!(
            out,
            "{text:<13}  time {time} ({time_utc})  node {node:<6}  sequence {sequence}{}",
            self.doubt()
        )
    }

    /// An id of another secret decrypts to a random time: nineteen in twenty are in the future.
    fn doubt(&self) -> &'static str {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let is_ahead = Duration::from_millis(self.unix_ms) > now + Duration::from_secs(60);
        if is_ahead {
            "  in the future: made under another secret?"
        } else {
            ""
        }
    }
}

/// A time since the Unix epoch in RFC 3339, whole seconds.
pub(crate) fn utc(unix: Duration) -> String {
    format_rfc3339_seconds(UNIX_EPOCH + unix).to_string()
}
