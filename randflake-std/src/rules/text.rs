//! Encoding of records as one line of text.

use core::str::FromStr;

use randflake_core::{Field, LayoutFields, LayoutSpec};

use super::base36::{self, Base36};
use super::{
    CounterRecord, DeviceRecord, HistoryLink, NamespaceRecord, NodeRecord, QuarantineReason,
};
use crate::vocabulary::{Device, QuarantineCause, Token};
use crate::vocabulary::{KeyCheck, Terms};

/// Of what is kept, in all engines: another one is a newer program's.
pub const VERSION: u32 = 1;

/// States of a lease: held; held, and a copy of the holder has tried to renew; released; and both.
const HELD: &str = "h";
const CONTESTED: &str = "c";
const RELEASED: &str = "r";
const BOTH: &str = "b";

impl NodeRecord {
    /// The record without its node id: its end, state, length, the token's lead over the start, serial, token, nonce,
    /// by how much it starts after it was acquired, the count of earlier leases, by how much it starts after the last of
    /// them and that one's hash in base 36, and the holder. It begins with the end, which a search looks at alone.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self {
            start,
            end,
            fencing_token,
            serial,
            nonce,
            acquired,
            past,
            holder,
            ..
        } = self;
        let [end, length, lead, serial, nonce, wait, count, pause] = [
            *end,
            end.wrapping_sub(*start),
            fencing_token.wrapping_sub(*start),
            *serial,
            *nonce,
            start.wrapping_sub(*acquired),
            past.count,
            start.wrapping_sub(past.end),
        ]
        .map(|number| Base36(number.into()));
        let state = match (self.held, self.contested) {
            (true, false) => HELD,
            (true, true) => CONTESTED,
            (false, false) => RELEASED,
            (false, true) => BOTH,
        };
        let token = Base36(u128::from_be_bytes(self.token.to_bytes()));
        let hash = Base36(past.hash);
        format!(
            "{end}:{state}:{length}:{lead}:{serial}:{token}:{nonce}:{wait}:{count}:{pause}:{hash}:{holder}"
        )
    }

    /// The end in a record's text, which begins with it.
    pub(super) fn end_of(text: &str) -> Option<u64> {
        base36::number(text.split_once(':')?.0)
    }

    /// The record of a node id; `None` for another text.
    #[must_use]
    pub fn from_text(node_id: u32, text: &str) -> Option<Self> {
        let mut parts = text.splitn(12, ':');
        let mut part = || parts.next();
        let end = base36::number(part()?)?;
        let (held, contested) = match part()? {
            HELD => (true, false),
            CONTESTED => (true, true),
            RELEASED => (false, false),
            BOTH => (false, true),
            _ => return None,
        };
        let start = end.wrapping_sub(base36::number(part()?)?);
        let record = Self {
            node_id,
            start,
            end,
            fencing_token: start.wrapping_add(base36::number(part()?)?),
            serial: base36::number(part()?)?,
            token: Token::from_bytes(base36::long(part()?)?.to_be_bytes()),
            nonce: base36::number(part()?)?,
            held,
            contested,
            acquired: start.wrapping_sub(base36::number(part()?)?),
            past: HistoryLink {
                count: base36::number(part()?)?,
                end: start.wrapping_sub(base36::number(part()?)?),
                hash: base36::long(part()?)?,
            },
            holder: part()?.to_owned(),
        };
        // Engines compare texts: one that is spelled differently could never be changed.
        (record.to_text() == text).then_some(record)
    }
}

impl NamespaceRecord {
    /// The record.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self {
            terms,
            origin,
            writes,
            quarantine,
            reason,
            fingerprint,
        } = self;
        format!(
            "{VERSION}:{}:{origin:016x}:{writes}:{quarantine}{}:{fingerprint}",
            terms.to_text(),
            reason.to_text()
        )
    }

    /// The record of a text; the version of a newer program's, or nothing for another text.
    ///
    /// # Errors
    ///
    /// A sentence says what it is.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let rest = current(text)?;
        let read = || {
            let mut parts = rest.splitn(5, ':');
            let mut part = || parts.next();
            let record = Self {
                terms: Terms::from_text(part()?)?,
                origin: hex(part()?)?,
                writes: number(part()?)?,
                quarantine: 0,
                reason: QuarantineReason::default(),
                fingerprint: String::new(),
            };
            let (quarantine, reason) = part()?.split_once('-').unwrap_or_default();
            let record = Self {
                quarantine: number(quarantine)?,
                reason: QuarantineReason::from_text(reason)?,
                fingerprint: part()?.to_owned(),
                ..record
            };
            (record.to_text() == text).then_some(record)
        };
        read().ok_or_else(|| "it is damaged".to_owned())
    }
}

/// Causes of a quarantine, and a namespace that was dropped and not opened since.
const NEW: &str = "n";
const LOST: &str = "l";
const ASKED: &str = "a";
const REOPENED: &str = "d";
const DROPPED: &str = "x";

impl QuarantineReason {
    fn to_text(self) -> String {
        let cause = match (self.is_dropped, self.cause) {
            (true, _) => DROPPED,
            (_, QuarantineCause::New) => NEW,
            (_, QuarantineCause::Lost) => LOST,
            (_, QuarantineCause::Asked) => ASKED,
            (_, QuarantineCause::Dropped) => REOPENED,
        };
        format!("-{}-{cause}", self.since)
    }

    fn from_text(text: &str) -> Option<Self> {
        let (since, cause) = text.split_once('-')?;
        Some(Self {
            since: number(since)?,
            cause: match cause {
                NEW => QuarantineCause::New,
                LOST => QuarantineCause::Lost,
                ASKED => QuarantineCause::Asked,
                REOPENED | DROPPED => QuarantineCause::Dropped,
                _ => return None,
            },
            is_dropped: cause == DROPPED,
        })
    }
}

impl DeviceRecord {
    /// The record.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { device, nonce } = self;
        let (counter, owner) = (device.last_counter, &device.owner);
        format!("{VERSION}:{counter}:{nonce:016x}:{owner}")
    }

    /// The record of a text.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let rest = current(text)?;
        let read = || {
            let mut parts = rest.splitn(3, ':');
            let mut part = || parts.next();
            let last_counter = number(part()?)?;
            let record = Self {
                nonce: hex(part()?)?,
                device: Device {
                    owner: part()?.to_owned(),
                    last_counter,
                },
            };
            (record.to_text() == text).then_some(record)
        };
        read().ok_or_else(|| "it is damaged".to_owned())
    }
}

impl CounterRecord {
    /// The record.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self {
            next,
            vouched,
            nonce,
        } = self;
        format!("{VERSION}:{next}:{nonce:016x}:{vouched}")
    }

    /// The record of a text.
    ///
    /// # Errors
    ///
    /// A sentence says what it is instead.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let rest = current(text)?;
        let read = || {
            let mut parts = rest.splitn(3, ':');
            let mut part = || parts.next();
            let record = Self {
                next: number(part()?)?,
                nonce: hex(part()?)?,
                vouched: part()?.to_owned(),
            };
            (record.to_text() == text).then_some(record)
        };
        read().ok_or_else(|| "it is damaged".to_owned())
    }
}

/// What follows on the version.
pub(super) fn current(text: &str) -> Result<&str, String> {
    let (version, rest) = text.split_once(':').unwrap_or((text, ""));
    match version.parse::<u32>() {
        Ok(VERSION) => Ok(rest),
        Ok(version) => Err(newer(version.into())),
        Err(_) => Err("it is another program's".to_owned()),
    }
}

/// What an engine says that finds what a later version has made.
#[must_use]
pub fn newer(version: u64) -> String {
    format!(
        "a newer randflake made it (version {version}; this one knows {VERSION}): update this one"
    )
}

impl Terms {
    /// Widths and shifts of time, node id and sequence, epoch, tick, longest TTL, seal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let LayoutFields {
            timestamp,
            node_id,
            sequence,
            epoch_unix_ms,
            tick_ms,
        } = self.spec.fields();
        let places =
            [timestamp, node_id, sequence].map(|field| format!("{}@{}", field.bits, field.shift));
        let seal = match self.seal {
            None => "unknown".to_owned(),
            Some(KeyCheck::Plain) => "plain".to_owned(),
            Some(KeyCheck::Key(check)) => format!("{check:08x}"),
        };
        format!(
            "{},{epoch_unix_ms},{tick_ms},{},{seal}",
            places.join(","),
            self.max_ttl().as_millis()
        )
    }

    /// The terms of a text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let mut part = || parts.next();
        let fields = LayoutFields {
            timestamp: field(part()?)?,
            node_id: field(part()?)?,
            sequence: field(part()?)?,
            epoch_unix_ms: number(part()?)?,
            tick_ms: number(part()?)?,
        };
        Some(Self {
            spec: LayoutSpec::new(fields).ok()?,
            max_ttl_ms: Some(number(part()?)?),
            seal: match part()? {
                "unknown" => None,
                "plain" => Some(KeyCheck::Plain),
                check => Some(KeyCheck::Key(u32::from_str_radix(check, 16).ok()?)),
            },
        })
    }
}

fn field(text: &str) -> Option<Field> {
    let (bits, shift) = text.split_once('@')?;
    Some(Field {
        bits: number(bits)?,
        shift: number(shift)?,
    })
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use randflake_core::Layout;
    use randflake_core::{Randflake, Sonyflake};

    fn node() -> NodeRecord {
        NodeRecord {
            node_id: 7,
            start: 1,
            end: u64::MAX >> 1,
            fencing_token: 3,
            serial: 4,
            token: Token::from_bytes([5; 16]),
            nonce: u64::MAX,
            held: true,
            contested: false,
            acquired: 0,
            past: HistoryLink {
                count: 6,
                end: 1,
                hash: u128::MAX,
            },
            holder: "host:é/1/2".to_owned(),
        }
    }

    #[test]
    fn a_node_s_record_is_read_as_it_was_written() {
        let text = node().to_text();
        assert_eq!(NodeRecord::from_text(7, &text), Some(node()));
        let holder = text.len() - node().holder.len();
        for at in 0..holder {
            assert_eq!(NodeRecord::from_text(7, &text[..at]), None, "{at}");
        }
    }

    #[test]
    fn a_counter_is_read_as_it_was_written() {
        let record = CounterRecord {
            next: u64::MAX,
            vouched: "run:42".to_owned(),
            nonce: 7,
        };
        assert_eq!(CounterRecord::from_text(&record.to_text()), Ok(record));
        let refused = |text| CounterRecord::from_text(text).unwrap_err();
        assert_eq!(refused("1:1:7:run"), "it is damaged");
    }

    #[test]
    fn a_namespace_s_record_is_read_as_it_was_written() {
        for (spec, seal) in [
            (Randflake::SPEC, Some(KeyCheck::Key(1))),
            (Sonyflake::SPEC, Some(KeyCheck::Plain)),
            (Sonyflake::SPEC, None),
        ] {
            let record = NamespaceRecord {
                terms: Terms {
                    spec,
                    seal,
                    max_ttl_ms: Some(300_000),
                },
                origin: 1,
                writes: 2,
                quarantine: 3,
                reason: QuarantineReason {
                    since: 2,
                    cause: QuarantineCause::Dropped,
                    is_dropped: seal.is_none(),
                },
                fingerprint: "run:42".to_owned(),
            };
            let text = record.to_text();
            let read = NamespaceRecord::from_text(&text).unwrap();
            assert!(read.terms.agrees_with(&record.terms));
            assert_eq!(read.to_text(), text);
        }
        let refused = |text| NamespaceRecord::from_text(text).unwrap_err();
        assert_eq!(refused("x"), "it is another program's");
        assert_eq!(refused("1:x"), "it is damaged");
        assert!(refused("2:x").starts_with("a newer randflake made it (version 2"));
    }
}
