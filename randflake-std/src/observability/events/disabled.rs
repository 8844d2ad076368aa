//! Twin of `enabled` without the feature `tracing`: no event is made.

use core::fmt::Display;
use core::time::Duration;
use std::path::Path;

/// Stands in for the span that callers hold during a call of the store.
pub(crate) struct NoSpan;

pub(crate) fn acquire(_: &str, _: u32) -> NoSpan {
    NoSpan
}

pub(crate) fn renew(_: &str, _: usize) -> NoSpan {
    NoSpan
}

pub(crate) fn release(_: &str, _: usize) -> NoSpan {
    NoSpan
}

pub(crate) fn acquired(_: &str, _: u32, _: [u64; 2], _: u64) {}

pub(crate) fn waiting(_: &str, _: Duration, _: &impl Display) {}

pub(crate) fn short_ttl(_: &str, _: Duration, _: Duration) {}

pub(crate) fn local(_: &str, _: &str) {}

pub(crate) fn renewed(_: &str, _: usize) {}

pub(crate) fn lost(_: &str, _: u32, _: &str) {}

pub(crate) fn store_lost(_: &str, _: &str) {}

pub(crate) fn scaled(_: &str, _: u32, _: u32) {}

pub(crate) fn short(_: &str, _: u32, _: u32, _: &impl Display) {}

pub(crate) fn failed(_: &str, _: &impl Display) {}

pub(crate) fn key_rotated(_: &str, _: u8) {}

pub(crate) fn key_file_missing(_: &str, _: u8, _: &Path) {}

pub(crate) fn keys_not_read(_: &str, _: &impl Display) {}

pub(crate) fn key_not_used(_: &str, _: u8, _: &impl Display) {}
