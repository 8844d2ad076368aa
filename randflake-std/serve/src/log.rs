//! The request log: an object on a line of standard error for each request, without anything
//! secret. A token is named, never shown; of what was asked only what the server itself knows: the
//! command or path, and the namespace.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{self, Write as _};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use serde::Serialize;

use crate::refusal::RefusalKind;
use randflake_common::date::now;
use randflake_common::failure::Failure;

/// Most lines that wait to be written; more are dropped and counted. A reader that stops, such as a
/// full pipe, must not stop requests; as many lines take about 2 MB.
const WAITING: usize = 10_000;

/// A request, and how it was answered.
#[derive(Debug, Serialize)]
pub(crate) struct LogEntry<'a> {
    pub(crate) protocol: &'static str,
    pub(crate) peer: SocketAddr,
    /// Name of the token, if it had one.
    pub(crate) token: Option<&'a str>,
    pub(crate) request: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<&'a str>,
    /// `ok`, or the kind of refusal.
    pub(crate) answer: &'a str,
}

#[derive(Serialize)]
struct LogLine<'a> {
    unix_ms: u64,
    #[serde(flatten)]
    entry: &'a LogEntry<'a>,
    micros: u64,
    /// Lines before this one that were not written, because standard error was too slow.
    #[serde(skip_serializing_if = "is_zero")]
    dropped: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The request log, if there is one. Nobody who logs a request waits for the reader.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    lines: Option<SyncSender<Vec<u8>>>,
    dropped: AtomicU64,
}

impl RequestLog {
    /// Writes in a thread of its own.
    pub(super) fn start() -> Result<Self, Failure> {
        let (lines, received) = sync_channel::<Vec<u8>>(WAITING);
        let writer = thread::Builder::new().name("request-log".to_owned());
        let started = writer.spawn(move || {
            for line in received {
                // Nobody reads it: there is nowhere to say so.
                // In one call, so that what other threads say does not stand in the middle of a
                // line.
                _ = io::stderr().write_all(&line);
            }
        });
        started.map_err(|error| Failure::failed(format!("the request log: {error}")))?;
        Ok(Self {
            lines: Some(lines),
            dropped: AtomicU64::new(0),
        })
    }

    /// When a request began, if that is of interest.
    pub(crate) fn begin(&self) -> Option<Instant> {
        self.lines.as_ref().map(|_| Instant::now())
    }

    /// Notes a request that began then.
    pub(crate) fn end(&self, begun: Option<Instant>, entry: &LogEntry<'_>) {
        let (Some(begun), Some(lines)) = (begun, &self.lines) else {
            return;
        };
        let line = LogLine {
            unix_ms: whole(now(), 1_000),
            entry,
            micros: whole(begun.elapsed(), 1_000_000),
            dropped: self.dropped.swap(0, Ordering::Relaxed),
        };
        // Of strings and numbers, which can be written.
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        if lines.try_send(text).is_err() {
            // With those that this line was to report, so that each is reported once.
            self.dropped.fetch_add(line.dropped + 1, Ordering::Relaxed);
        }
    }
}

/// Number of whole parts in a time, of which a second has so many.
fn whole(time: Duration, per_second: u128) -> u64 {
    u64::try_from(time.as_nanos() * per_second / 1_000_000_000).unwrap_or(u64::MAX)
}

/// What a request's answer is called.
pub(crate) fn answer(refused: Option<RefusalKind>) -> &'static str {
    refused.map_or("ok", RefusalKind::name)
}
