//! Events and spans with the feature `tracing`.

use core::fmt::Display;
use core::time::Duration;
use std::path::Path;

use tracing::span::EnteredSpan;
use tracing::{debug, info, info_span, warn};

// Not the module's path, which `tracing` takes by default: filters of users must outlive a move of
// the code.
const TARGET: &str = "randflake_std";

pub(crate) fn acquire(namespace: &str, count: u32) -> EnteredSpan {
    info_span!(target: TARGET, "acquire", namespace, count).entered()
}

pub(crate) fn renew(namespace: &str, count: usize) -> EnteredSpan {
    info_span!(target: TARGET, "renew", namespace, count).entered()
}

pub(crate) fn release(namespace: &str, count: usize) -> EnteredSpan {
    info_span!(target: TARGET, "release", namespace, count).entered()
}

pub(crate) fn acquired(namespace: &str, node_id: u32, [start, end]: [u64; 2], fencing_token: u64) {
    info!(target: TARGET, namespace, node_id, start, end, fencing_token, "lease acquired");
}

pub(crate) fn waiting(namespace: &str, left: Duration, error: &impl Display) {
    let limit_s = left.as_secs_f64();
    warn!(target: TARGET, namespace, limit_s, %error, "waiting for a lease");
}

pub(crate) fn short_ttl(namespace: &str, ttl: Duration, least: Duration) {
    let (ttl_s, least_s) = (ttl.as_secs_f64(), least.as_secs_f64());
    warn!(target: TARGET, namespace, ttl_s, least_s, "short TTL");
}

pub(crate) fn local(namespace: &str, place: &str) {
    info!(target: TARGET, namespace, place, "leases are local");
}

pub(crate) fn renewed(namespace: &str, count: usize) {
    debug!(target: TARGET, namespace, count, "leases renewed");
}

pub(crate) fn lost(namespace: &str, node_id: u32, reason: &str) {
    warn!(target: TARGET, namespace, node_id, reason, "lease lost");
}

pub(crate) fn store_lost(namespace: &str, why: &str) {
    warn!(target: TARGET, namespace, why, "store lost");
}

pub(crate) fn scaled(namespace: &str, held: u32, wanted: u32) {
    info!(target: TARGET, namespace, held, wanted, "node ids held");
}

pub(crate) fn short(namespace: &str, held: u32, wanted: u32, error: &impl Display) {
    warn!(target: TARGET, namespace, held, wanted, %error, "short of node ids");
}

pub(crate) fn failed(namespace: &str, error: &impl Display) {
    warn!(target: TARGET, namespace, %error, "store call failed");
}

pub(crate) fn key_rotated(namespace: &str, key_number: u8) {
    info!(target: TARGET, namespace, key_number, "key rotated");
}

pub(crate) fn key_file_missing(namespace: &str, key_number: u8, file: &Path) {
    let file = file.display();
    warn!(target: TARGET, namespace, key_number, %file, "key file missing");
}

pub(crate) fn keys_not_read(namespace: &str, error: &impl Display) {
    warn!(target: TARGET, namespace, %error, "keys not read");
}

pub(crate) fn key_not_used(namespace: &str, key_number: u8, error: &impl Display) {
    warn!(target: TARGET, namespace, key_number, %error, "key not used");
}
