//! The parts and the other subcommands. A part knows helpers and other parts; only `main` knows
//! all.

pub(crate) mod bench;
pub(crate) mod boards;
pub(crate) mod c_library;
pub(crate) mod check;
pub(crate) mod deep;
pub(crate) mod deploy;
pub(crate) mod doc;
pub(crate) mod emulated;
pub(crate) mod engines;
pub(crate) mod faults;
pub(crate) mod features;
pub(crate) mod firmware;
pub(crate) mod integrations;
pub(crate) mod interop;
pub(crate) mod lint;
pub(crate) mod miri;
pub(crate) mod model;
pub(crate) mod proof;
pub(crate) mod public_api;
pub(crate) mod qemu;
pub(crate) mod secrecy;
pub(crate) mod serve;
mod size;
pub(crate) mod sql;
pub(crate) mod tidy;
pub(crate) mod unit;
