//! Plain layouts that others have published, each with its peculiarities.

use super::{Layout, LayoutFields, LayoutSpec};
use crate::Plain;

/// Discord's snowflakes: 42 bits of milliseconds, 10 of node id, 12 of sequence, in plain.
///
/// ```text
/// 63           22 21     17 16      12 11           0
/// | timestamp 42 | worker 5 | process 5 | sequence 12 |
/// ```
///
/// Ticks are milliseconds since 2015-01-01 00:00:00 UTC and end with 2154-05-15 07:35:11.103 UTC; from
/// 2084-09-06 15:47:35.552 UTC the top bit is set. A node issues 4,096 ids a millisecond. Source: "Snowflakes"
/// in <https://discord.com/developers/docs/reference#snowflakes>, which lists the three low fields as
/// internal worker id, internal process id and increment. There the increment goes on from one
/// millisecond to the next; here it begins each with 0.
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
/// Ticks are milliseconds since 2011-08-24 21:07:01.721 UTC and end with 2081-04-30 12:54:37.272 UTC; from
/// 2046-06-27 17:00:49.497 UTC the top bit is set. A node issues 1,024 ids a millisecond. Source: the
/// function `next_id` in "Sharding & IDs at Instagram"
/// (<https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c>), whose prose has another
/// epoch, 2011-01-01; public ids agree with the function. There the node id is
/// a *logical shard*, which may be one of a user's (`user_id % shards`), and the sequence is a database
/// sequence modulo 1024, which goes on from one millisecond to the next and repeats an id when a
/// shard makes more than 1,024 in one. Here a node id is leased, the sequence begins with 0, and a full
/// millisecond refuses.
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
/// Ticks are milliseconds of Unix time and end with 10889-08-02 05:31:50.655 UTC. Source: `timestamp_id`
/// in `lib/mastodon/snowflake.rb` of <https://github.com/mastodon/mastodon>. There the low 16 bits are a
/// database sequence plus two bytes of an MD5 of table, salt and time, modulo 65,536: they look random,
/// and tell nothing of how many rows there are. Here they count from 0 in each millisecond, so that ids
/// fit beside Mastodon's in form and order, and tell more. As there is no node id there is one issuer
/// at a time, of 65,536 ids a millisecond.
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
/// **2024-11-20 13:24:15 UTC**: that date has passed, so a system that goes on needs an epoch of its
/// own ([`LayoutFields::in_order`]). A node issues 8,192 ids a second. Source: `DefaultUidGenerator.java` of
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
