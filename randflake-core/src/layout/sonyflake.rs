use super::{Field, Fields, Layout, Spec};
use crate::Plain;

/// Sonyflake: 39 bits of 10 ms, 8 of sequence, 16 of node id, in plain. The sequence lies **above**
/// the node id, which its makers call machine id.
///
/// ```text
/// 63 62            24 23         16 15           0
/// |0| timestamp 39   | sequence 8  | node id 16   |
/// ```
///
/// Ticks are 10 ms since 2014-09-01 00:00:00 UTC and end with 2188-11-15 09:35:38.870 UTC. A node
/// issues 256 ids a tick. Source: `v2/sonyflake.go` in <https://github.com/sony/sonyflake>.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sonyflake;

impl Layout for Sonyflake {
    type Permutation = Plain;

    const SPEC: Spec = Spec::declare(Fields {
        timestamp: Field {
            bits: 39,
            shift: 24,
        },
        node_id: Field { bits: 16, shift: 0 },
        sequence: Field { bits: 8, shift: 16 },
        epoch_unix_ms: 1_409_529_600_000,
        tick_ms: 10,
    });
}
