//! Events and spans of a handle's keeper. Without the feature `tracing` none is made.

use core::fmt::Display;
use core::time::Duration;
use std::path::Path;

#[cfg(feature = "tracing")]
use tracing::{debug, info, info_span, warn};

// Not the module's path, which `tracing` takes by default: filters of users must outlive a move of
// the code.
#[cfg(feature = "tracing")]
const TARGET: &str = "randflake_std";

/// The span that callers hold during a call of the store.
#[cfg(feature = "tracing")]
pub(crate) type Span = tracing::span::EnteredSpan;
#[cfg(not(feature = "tracing"))]
pub(crate) struct Span;

/// Functions with this body, or with an empty one without the feature.
macro_rules! events {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
        #[cfg(feature = "tracing")]
        pub(crate) fn $name($($argument: $type),*) $body
        #[cfg(not(feature = "tracing"))]
        pub(crate) fn $name($(_: $type),*) {}
    )*};
}

/// The same for spans.
macro_rules! spans {
    ($($name:ident: $count:ty,)*) => {$(
        #[cfg(feature = "tracing")]
        pub(crate) fn $name(namespace: &str, count: $count) -> Span {
            info_span!(target: TARGET, stringify!($name), namespace, count).entered()
        }
        #[cfg(not(feature = "tracing"))]
        pub(crate) fn $name(_: &str, _: $count) -> Span {
            Span
        }
    )*};
}

spans! {
    acquire: u32,
    renew: usize,
    release: usize,
}

events! {
    fn acquired(namespace: &str, node_id: u32, start: u64, end: u64, fencing_token: u64) {
        info!(target: TARGET, namespace, node_id, start, end, fencing_token, "lease acquired");
    }

    fn waiting(namespace: &str, left: Duration, error: &impl Display) {
        let limit_s = left.as_secs_f64();
        warn!(target: TARGET, namespace, limit_s, %error, "waiting for a lease");
    }

    fn short_ttl(namespace: &str, ttl: Duration, least: Duration) {
        let (ttl_s, least_s) = (ttl.as_secs_f64(), least.as_secs_f64());
        warn!(target: TARGET, namespace, ttl_s, least_s, "short TTL");
    }

    fn local(namespace: &str, place: &str) {
        info!(target: TARGET, namespace, place, "leases are local");
    }

    fn renewed(namespace: &str, count: usize) {
        debug!(target: TARGET, namespace, count, "leases renewed");
    }

    fn lost(namespace: &str, node_id: u32, reason: &str) {
        warn!(target: TARGET, namespace, node_id, reason, "lease lost");
    }

    fn store_lost(namespace: &str, why: &str) {
        warn!(target: TARGET, namespace, why, "store lost");
    }

    fn scaled(namespace: &str, held: u32, wanted: u32) {
        info!(target: TARGET, namespace, held, wanted, "node ids held");
    }

    fn short(namespace: &str, held: u32, wanted: u32, error: &impl Display) {
        warn!(target: TARGET, namespace, held, wanted, %error, "short of node ids");
    }

    fn failed(namespace: &str, error: &impl Display) {
        warn!(target: TARGET, namespace, %error, "store call failed");
    }

    fn key_rotated(namespace: &str, key_number: u8) {
        info!(target: TARGET, namespace, key_number, "key rotated");
    }

    fn key_file_missing(namespace: &str, key_number: u8, file: &Path) {
        let file = file.display();
        warn!(target: TARGET, namespace, key_number, %file, "key file missing");
    }

    fn keys_not_read(namespace: &str, error: &impl Display) {
        warn!(target: TARGET, namespace, %error, "keys not read");
    }

    fn key_not_used(namespace: &str, key_number: u8, error: &impl Display) {
        warn!(target: TARGET, namespace, key_number, %error, "key not used");
    }
}
