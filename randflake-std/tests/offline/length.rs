//! Length of the contract's tests on a server or a file. A request takes up to a thousand times as long as in memory,
//! and the rules that decide are the same: there they ask more.

use randflake_core::{Field, LayoutFields, LayoutSpec};
use randflake_std::lease::Namespace;
use randflake_std::{Layout, Plain, Randflake};

/// More node ids than are listed, read or written at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Thousands;

impl Layout for Thousands {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 40,
            shift: 18,
        },
        node_id: Field { bits: 13, shift: 5 },
        sequence: Field { bits: 5, shift: 0 },
        epoch_unix_ms: 1_700_000_000_000,
        tick_ms: 1_000,
    });
}

/// Whether as much is asked as in memory: for minutes, by `cargo xtask deep histories`.
fn is_long() -> bool {
    std::env::var_os("RANDFLAKE_CONTRACT_LONG").is_some()
}

pub(crate) fn filled() -> Namespace {
    if is_long() {
        Namespace::new("orders", Randflake).unwrap()
    } else {
        Namespace::new("orders", Thousands).unwrap()
    }
}

pub(crate) fn history_steps() -> usize {
    if is_long() { 10_000 } else { 3_000 }
}
