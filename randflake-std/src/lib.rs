#![doc = include_str!("../README.md")]

pub mod lease;

pub use randflake_core::{Randflake};
