//! Helpers of the parts. No helper knows a part.

pub(crate) mod arguments;
pub(crate) mod cargo;
pub(crate) mod clippy;
pub(crate) mod cpu;
pub(crate) mod files;
pub(crate) mod jobs;
pub(crate) mod machine;
pub(crate) mod manifest;
pub(crate) mod matrix;
pub(crate) mod npm;
pub(crate) mod report;
pub(crate) mod scratch;
pub(crate) mod setup;
mod test_counts;
pub(crate) mod tools;
pub(crate) mod venv;
