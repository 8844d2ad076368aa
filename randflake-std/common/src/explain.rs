//! Explanation of one id, for people and programs.

use core::time::Duration;
use std::io::{self, Write};

use randflake_std::Parts;
use randflake_std::date::utc;
use randflake_std::lease::Explanation;
use randflake_std::randflake_core::LayoutSpec;
use serde::Serialize;

use crate::failure::visible;
use crate::form::{GivenId, TextFormat};

/// Explanation of one id, by the lease under which it was issued.
#[derive(Debug, Serialize)]
pub struct ExplainRow {
    /// Prefix of a typed id.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<Box<str>>,
    /// The id without its prefix.
    text: String,
    /// The id as it is written with it.
    #[serde(skip)]
    shown: String,
    /// As text, because not every JSON reader keeps 64 bits.
    int: String,
    unix_ms: u64,
    time_utc: String,
    node: u32,
    sequence: u64,
    verdict: &'static str,
    /// Explanation in a sentence, for people.
    because: String,
    lease: Option<LeaseFields>,
    known_from_utc: Option<String>,
}

#[derive(Debug, Serialize)]
struct LeaseFields {
    holder: String,
    start_utc: String,
    end_utc: String,
    end: &'static str,
    fencing_token: u64,
    contested: bool,
}

impl ExplainRow {
    /// The row of an id whose explanation is of this time of the store's clock.
    pub fn new(
        given: &GivenId,
        parts: Parts,
        spec: LayoutSpec,
        explanation: &Explanation,
        now: Duration,
    ) -> Self {
        let lease = match explanation {
            Explanation::Held(lease) => Some(lease),
            _ => None,
        };
        let time_of = |tick| Duration::from_millis(spec.unix_ms(tick));
        let at = |tick| utc(time_of(tick));
        let known_from = match explanation {
            Explanation::Unknown { known_from, .. } => Some(at(*known_from)),
            _ => None,
        };
        let unix_ms = spec.unix_ms(parts.tick);
        let id = given.id;
        let mut shown = String::new();
        given.append(id, TextFormat::Text, &mut shown);
        Self {
            prefix: given.prefix.clone(),
            shown,
            text: id.to_text().to_string(),
            int: id.to_i64().to_string(),
            unix_ms,
            time_utc: utc(Duration::from_millis(unix_ms)),
            node: parts.node_id,
            sequence: parts.sequence.into(),
            verdict: explanation.name(),
            because: explanation.to_string(),
            lease: lease.map(|lease| LeaseFields {
                holder: lease.record.holder.clone(),
                start_utc: at(lease.record.grant.start),
                end_utc: at(lease.record.grant.end),
                end: match lease.is_released {
                    // Before the time is compared: a released lease ended early, and its holder is
                    // known to have stopped.
                    true => "released",
                    // By the store's clock, which decides about leases.
                    false if time_of(lease.record.grant.end) <= now => "expired",
                    false => "held",
                },
                fencing_token: lease.record.grant.fencing_token,
                contested: lease.record.contested,
            }),
            known_from_utc: known_from,
        }
    }

    /// Writes a line for each field.
    pub fn write_block(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(prefix) = &self.prefix {
            writeln!(out, "prefix    {prefix}")?;
        }
        writeln!(
            out,
            "text      {}\nint       {}\ntime      {}\nnode      {}\nsequence  {}",
            self.text, self.int, self.time_utc, self.node, self.sequence
        )?;
        if let Some(lease) = &self.lease {
            writeln!(
                out,
                "holder    {}\nlease     {} to {}, {}\nfencing   {}",
                visible(&lease.holder),
                lease.start_utc,
                lease.end_utc,
                lease.end,
                lease.fencing_token
            )?;
        }
        if let Some(known_from) = &self.known_from_utc {
            writeln!(out, "known     from {known_from} on")?;
        }
        writeln!(out, "verdict   {}: {}", self.verdict, self.because)
    }

    /// Writes everything in one line.
    pub fn write_line(&self, out: &mut impl Write) -> io::Result<()> {
        let holder = self.lease.as_ref().map_or("", |lease| &*lease.holder);
        writeln!(
            out,
            "{:<13}  time {}  node {:<6}  sequence {:<6}  {:<9}  {}",
            self.shown,
            self.time_utc,
            self.node,
            self.sequence,
            self.verdict,
            visible(holder)
        )
    }
}
