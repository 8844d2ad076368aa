use super::{Field, Layout, LayoutFields, LayoutSpec};
use crate::{LayoutError, Plain};

/// Sonyflake: 39 bits of 10 ms, 8 of sequence, 16 of node id, in plain. The sequence lies **above**
/// the node id, which its makers call machine id.
///
/// ```text
/// 63 62            24 23         16 15           0
/// |0| timestamp 39   | sequence 8  | node id 16   |
/// ```
///
/// Ticks are 10 ms since 2014-09-01 00:00:00 UTC and end with 2188-11-16 03:28:58.870 UTC. A node
/// issues 256 ids a tick. Source: `sonyflake.go` and `v2/sonyflake.go` in
/// <https://github.com/sony/sonyflake>. The start is that of version 1; version 2 starts with 2025-01-01
/// unless it is told otherwise: see [`custom`](Sonyflake::custom).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sonyflake;

impl Layout for Sonyflake {
    type Permutation = Plain;

    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
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

/// Limit of version 2: the time has at least 32 of 63 bits.
const MAX_SEQUENCE_AND_MACHINE_BITS: u32 = 31;

impl Sonyflake {
    /// Unix time in milliseconds of version 2's start unless it is set: 2025-01-01 00:00:00 UTC.
    pub const V2_START_UNIX_MS: u64 = 1_735_689_600_000;

    /// The layout with settings as in version 2: `StartTime` (Unix milliseconds), `TimeUnit` (whole
    /// milliseconds), `BitsSequence` and `BitsMachineID`. The timestamp has what is left of 63 bits.
    ///
    /// Version 2 counts units from 1970 and subtracts those of the start, so a start within a unit is
    /// moved to the unit's beginning.
    ///
    /// ```
    /// use randflake_core::{Layout, Sonyflake};
    ///
    /// let v2 = Sonyflake::custom(Sonyflake::V2_START_UNIX_MS, 10, 8, 16)?;
    /// assert_eq!(Sonyflake::custom(1_409_529_600_009, 10, 8, 16)?, Sonyflake::SPEC.into());
    /// # let _ = v2;
    /// assert_eq!(
    ///     Sonyflake::custom(0, 10, 16, 16).unwrap_err().to_string(),
    ///     "the node id and the sequence have 32 bits together: at most 31 are allowed"
    /// );
    /// # Ok::<(), randflake_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::TooFewTimestampBits`] when sequence and machine have more than 31 bits together,
    /// [`LayoutError::NoTick`] for a unit of 0 ms, [`LayoutError::TimeOverflow`] when the last tick's time
    /// is over 64 bits.
    pub const fn custom(
        start_unix_ms: u64,
        unit_ms: u64,
        sequence_bits: u32,
        machine_bits: u32,
    ) -> Result<LayoutSpec, LayoutError> {
        let bits = sequence_bits.saturating_add(machine_bits);
        if bits > MAX_SEQUENCE_AND_MACHINE_BITS {
            return Err(LayoutError::TooFewTimestampBits {
                bits,
                most: MAX_SEQUENCE_AND_MACHINE_BITS,
            });
        }
        let Some(into_unit) = start_unix_ms.checked_rem(unit_ms) else {
            return Err(LayoutError::NoTick);
        };
        LayoutSpec::new(LayoutFields {
            timestamp: Field {
                bits: 63_u32.saturating_sub(bits),
                shift: bits,
            },
            node_id: Field {
                bits: machine_bits,
                shift: 0,
            },
            sequence: Field {
                bits: sequence_bits,
                shift: machine_bits,
            },
            // Version 2 counts whole units since 1970, so ids of a start within a unit have its beginning as epoch.
            epoch_unix_ms: start_unix_ms.saturating_sub(into_unit),
            tick_ms: unit_ms,
        })
    }
}
