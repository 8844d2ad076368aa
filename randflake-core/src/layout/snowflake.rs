use super::{Layout, LayoutFields, LayoutSpec};
use crate::{FieldError, LayoutError, Plain};

/// Twitter's Snowflake: 41 bits of milliseconds, 10 of node id, 12 of sequence, in plain.
///
/// ```text
/// 63 62            22 21         17 16     12 11           0
/// |0| timestamp 41   | datacenter 5 | worker 5 | sequence 12 |
/// ```
///
/// Ticks are milliseconds since 2010-11-04 01:42:54.657 UTC and end with 2080-07-10 17:30:30.207
/// UTC. A node issues 4,096 ids a millisecond. Source: `IdWorker.scala` in
/// <https://github.com/twitter-archive/snowflake> (tag `snowflake-2010`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snowflake;

impl Layout for Snowflake {
    type Permutation = Plain;

    const SPEC: LayoutSpec = LayoutSpec::declare_with_node_fields(
        LayoutFields::in_order([41, 10, 12], 1_288_834_974_657, 1),
        &[("datacenter", WORKER_BITS), ("worker", WORKER_BITS)],
    );
}

const WORKER_BITS: u32 = 5;
const MAX_WORKER: u32 = 31;

/// Limit of `bwmarrin/snowflake` for node and step bits together.
const MAX_NODE_AND_STEP_BITS: u32 = 22;

impl Snowflake {
    /// The layout with settings as in `bwmarrin/snowflake`: `Epoch` (Unix milliseconds), `NodeBits` and
    /// `StepBits` (the sequence's). The timestamp has what is left of 63 bits.
    ///
    /// ```
    /// use randflake_core::{Layout, Snowflake};
    ///
    /// let twitter = Snowflake::custom(1_288_834_974_657, 10, 12)?;
    /// let wide = Snowflake::custom(1_577_836_800_000, 8, 14)?;
    /// # let _ = (twitter, wide);
    /// assert_eq!(
    ///     Snowflake::custom(0, 13, 10).unwrap_err().to_string(),
    ///     "the node id and the sequence have 23 bits together: at most 22 are allowed"
    /// );
    /// # Ok::<(), randflake_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::TooFewTimestampBits`] when node and step have more than 22 bits together, which is
    /// bwmarrin's limit, and [`LayoutError::TimeOverflow`] for an epoch whose last tick is over 64 bits.
    pub const fn custom(
        epoch_unix_ms: u64,
        node_bits: u32,
        step_bits: u32,
    ) -> Result<LayoutSpec, LayoutError> {
        let bits = node_bits.saturating_add(step_bits);
        // Its own limit, kept so that settings which the original refuses are refused here.
        if bits > MAX_NODE_AND_STEP_BITS {
            return Err(LayoutError::TooFewTimestampBits {
                bits,
                most: MAX_NODE_AND_STEP_BITS,
            });
        }
        // 63 and not 64: the original's ids are positive as signed numbers.
        let timestamp_bits = 63_u32.saturating_sub(bits);
        let widths = [timestamp_bits, node_bits, step_bits];
        LayoutSpec::new(LayoutFields::in_order(widths, epoch_unix_ms, 1))
    }

    /// Makes a node id of a datacenter and a worker, each 0 to 31.
    ///
    /// # Errors
    ///
    /// [`FieldError::NodePart`] for a number over 31.
    ///
    /// ```
    /// use randflake_core::Snowflake;
    ///
    /// assert_eq!(Snowflake::node_id(3, 7), Ok(103));
    /// assert_eq!(Snowflake::datacenter_and_worker(103), (3, 7));
    /// assert_eq!(
    ///     Snowflake::node_id(32, 0).unwrap_err().to_string(),
    ///     "datacenter 32 is out of range: 0 to 31 are allowed"
    /// );
    /// ```
    pub const fn node_id(datacenter: u32, worker: u32) -> Result<u32, FieldError> {
        if datacenter > MAX_WORKER {
            return Err(FieldError::NodePart {
                name: "datacenter",
                value: datacenter,
                max: MAX_WORKER,
            });
        }
        if worker > MAX_WORKER {
            return Err(FieldError::NodePart {
                name: "worker",
                value: worker,
                max: MAX_WORKER,
            });
        }
        Ok((datacenter << WORKER_BITS) | worker)
    }

    /// Splits a node id into datacenter and worker.
    #[must_use]
    pub const fn datacenter_and_worker(node_id: u32) -> (u32, u32) {
        ((node_id >> WORKER_BITS) & MAX_WORKER, node_id & MAX_WORKER)
    }
}
