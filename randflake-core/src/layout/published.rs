//! Plain layouts that other programs have published, each with its peculiarities.

use super::{Field, Layout, LayoutFields, LayoutSpec};
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
    /// The layout with settings as in `bwmarrin/snowflake`: `Epoch` (Unix milliseconds), `NodeBits`
    /// and `StepBits` (the sequence's). The timestamp has what is left of 63 bits.
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
    /// [`LayoutError::TooFewTimestampBits`] when node and step have more than 22 bits together,
    /// which is bwmarrin's limit, and [`LayoutError::TimeOverflow`] for an epoch whose last tick is
    /// over 64 bits.
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
    /// milliseconds), `BitsSequence` and `BitsMachineID`. The timestamp has what is left of 63
    /// bits.
    ///
    /// Version 2 counts units from 1970 and subtracts those of the start, so a start within a unit
    /// is moved to the unit's beginning.
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
    /// [`LayoutError::TooFewTimestampBits`] when sequence and machine have more than 31 bits
    /// together, [`LayoutError::NoTick`] for a unit of 0 ms, [`LayoutError::TimeOverflow`] when the
    /// last tick's time is over 64 bits.
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
            // Version 2 counts whole units since 1970, so ids of a start within a unit have its
            // beginning as epoch.
            epoch_unix_ms: start_unix_ms.saturating_sub(into_unit),
            tick_ms: unit_ms,
        })
    }
}

/// Discord's snowflakes: 42 bits of milliseconds, 10 of node id, 12 of sequence, in plain.
///
/// ```text
/// 63           22 21     17 16      12 11           0
/// | timestamp 42 | worker 5 | process 5 | sequence 12 |
/// ```
///
/// Ticks are milliseconds since 2015-01-01 00:00:00 UTC and end with 2154-05-15 07:35:11.103 UTC;
/// from 2084-09-06 15:47:35.552 UTC the top bit is set. A node issues 4,096 ids a millisecond.
/// Source: "Snowflakes" in <https://discord.com/developers/docs/reference#snowflakes>, which lists
/// the three low fields as internal worker id, internal process id and increment. There the
/// increment goes on from one millisecond to the next; here it begins each with 0.
///
/// ```
/// use randflake_core::{Codec, Discord, Id, Layout, Plain};
///
/// let codec = Codec::new(Discord, Plain);
/// let id = Id::from_u64(175_928_847_299_117_063); // the documentation's example
/// assert_eq!(codec.unix_ms(id), 1_462_015_105_796);
/// let node_id = codec.inspect(id).node_id;
/// assert!(Discord::SPEC.node_parts(node_id).eq([("worker", 1), ("process", 0)]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discord;

impl Layout for Discord {
    type Permutation = Plain;

    const SPEC: LayoutSpec = LayoutSpec::declare_with_node_fields(
        LayoutFields::in_order([42, 10, 12], 1_420_070_400_000, 1),
        &[("worker", 5), ("process", 5)],
    );
}

/// Instagram's ids: 41 bits of milliseconds, 13 of node id, 10 of sequence, in plain.
///
/// ```text
/// 63           23 22        10 9           0
/// | timestamp 41 | node id 13 | sequence 10 |
/// ```
///
/// Ticks are milliseconds since 2011-08-24 21:07:01.721 UTC and end with 2081-04-30 12:54:37.272
/// UTC; from 2046-06-27 17:00:49.497 UTC the top bit is set. A node issues 1,024 ids a millisecond.
/// Source: the function `next_id` in "Sharding & IDs at Instagram"
/// (<https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c>), whose prose has
/// another epoch, 2011-01-01; public ids agree with the function. There the node id is a *logical
/// shard*, which may be one of a user's (`user_id % shards`), and the sequence is a database
/// sequence modulo 1024, which goes on from one millisecond to the next and repeats an id when a
/// shard makes more than 1,024 in one. Here a node id is leased, the sequence begins with 0, and a
/// full millisecond refuses.
///
/// ```
/// use randflake_core::{Codec, Id, Instagram, Plain};
///
/// let codec = Codec::new(Instagram, Plain);
/// let id = Id::from_i64(2_384_288_897_814_875_714); // a public one, of 2020-08-26 13:43:27 UTC
/// assert_eq!(codec.unix_ms(id) / 1_000, 1_598_449_407);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instagram;

impl Layout for Instagram {
    type Permutation = Plain;

    const SPEC: LayoutSpec =
        LayoutSpec::declare(LayoutFields::in_order([41, 13, 10], 1_314_220_021_721, 1));
}

/// Mastodon's ids: 48 bits of milliseconds, 16 of sequence, no node id, in plain.
///
/// ```text
/// 63           16 15           0
/// | timestamp 48 | sequence 16   |
/// ```
///
/// Ticks are milliseconds of Unix time and end with 10889-08-02 05:31:50.655 UTC. Source:
/// `timestamp_id` in `lib/mastodon/snowflake.rb` of <https://github.com/mastodon/mastodon>. There
/// the low 16 bits are a database sequence plus two bytes of an MD5 of table, salt and time, modulo
/// 65,536: they look random, and tell nothing of how many rows there are. Here they count from 0 in
/// each millisecond, so that ids fit beside Mastodon's in form and order, and tell more. As there
/// is no node id there is one issuer at a time, of 65,536 ids a millisecond.
///
/// ```
/// use randflake_core::{Codec, Id, Mastodon, Plain};
///
/// let codec = Codec::new(Mastodon, Plain);
/// assert_eq!(codec.unix_ms(Id::from_u64(1_700_000_000_000 << 16 | 0xABCD)), 1_700_000_000_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mastodon;

impl Layout for Mastodon {
    type Permutation = Plain;

    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order([48, 0, 16], 0, 1));
}

/// Baidu's uid-generator: 28 bits of seconds, 22 of node id, 13 of sequence, in plain.
///
/// ```text
/// 63 62            35 34        13 12          0
/// |0| timestamp 28   | node id 22 | sequence 13 |
/// ```
///
/// Ticks are seconds since 2016-05-19 16:00:00 UTC, midnight of the 20th in China, and end with
/// **2024-11-20 13:24:15 UTC**: that date has passed, so a system that goes on needs an epoch of
/// its own ([`LayoutFields::in_order`]). A node issues 8,192 ids a second. Source:
/// `DefaultUidGenerator.java` of
/// <https://github.com/baidu/uid-generator> (`timeBits`, `workerBits`, `seqBits`, `epochSeconds`), which
/// takes a new node id from a database table at every start; a leased one comes free again.
///
/// ```
/// use randflake_core::{Baidu, Codec, Id, Plain};
///
/// let codec = Codec::new(Baidu, Plain);
/// let id = codec.compose_at(core::time::Duration::from_secs(1_500_000_000), 30_000, 8_191)?;
/// assert_eq!(id.to_u64(), (1_500_000_000 - 1_463_673_600) << 35 | 30_000 << 13 | 8_191);
/// # Ok::<(), randflake_core::FieldError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Baidu;

impl Layout for Baidu {
    type Permutation = Plain;

    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [28, 22, 13],
        1_463_673_600_000,
        1_000,
    ));
}
