//! An empty crate: see its `Cargo.toml`.
