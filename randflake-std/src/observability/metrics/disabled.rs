//! Twin of `enabled` without the feature `metrics`: nothing is counted.

use core::time::Duration;

use randflake_core::GenerateError;

/// No period: nothing is reported.
pub(crate) const REPORT_EVERY: Option<Duration> = None;

pub(crate) fn begin(_: &str, _: Duration, _: &[&'static str]) {}

/// Stands in for the counters of issued ids, at no cost.
#[derive(Debug)]
pub(crate) struct UsageTally;

#[expect(clippy::unused_self, reason = "the other one has counters")]
impl UsageTally {
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn issued(&self, _: u64) {}

    #[inline]
    pub(crate) fn refused(&self, _: GenerateError) {}

    pub(crate) fn report(&self, _: &str) {}
}

pub(crate) fn acquired(_: &str) {}

pub(crate) fn renewed(_: &str) {}

pub(crate) fn lost(_: &str, _: &'static str) {}

pub(crate) fn failed(_: &str, _: &'static str) {}

pub(crate) fn leases(_: &str, _: usize) {}

pub(crate) fn expires(_: &str, _: Duration) {}

pub(crate) fn quarantined(_: &str, _: Duration) {}

pub(crate) fn limits(_: &str, _: f64, _: Duration) {}

pub(crate) fn wanted(_: &str, _: u32) {}

pub(crate) fn skew(_: &str, _: Duration, _: Duration) {}

pub(crate) fn occupancy(_: &str, _: u64, _: u64) {}
