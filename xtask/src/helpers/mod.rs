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

/// What most parts use.
pub(crate) mod prelude {
    pub(crate) use super::arguments::{self, Arguments, Plan, Planned, Subcommand};
    pub(crate) use super::cargo::{
        answer, cargo, cargo_in, nightly, output_of, program, refuses, root, rustc, shown, target,
    };
    pub(crate) use super::clippy::{self, Recorded, while_building};
    pub(crate) use super::files::{self, put_into, write_script};
    pub(crate) use super::machine::{RECORDS, caption, commit, record};
    pub(crate) use super::manifest::Manifest;
    pub(crate) use super::matrix::*;
    pub(crate) use super::report::Report;
    pub(crate) use super::scratch::Scratch;
    pub(crate) use super::setup::{CLIPPY, Need};
    pub(crate) use super::tools::*;
    pub(crate) use super::venv::{NUMPY, RANDFLAKE, Venv};
    pub(crate) use super::{cpu, jobs, npm};
}
