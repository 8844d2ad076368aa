use super::{Layout, LayoutFields, LayoutSpec};
use crate::Sparx64;

/// Randflake with a tick of a millisecond, for tables that store raw ids: 40 bits of milliseconds, 14 of node id, 10 of
/// sequence, encrypted.
///
/// ```text
/// 63            24 23           10 9            0
/// | timestamp 40   | node id 14    | sequence 10   |
/// ```
///
/// Ticks are milliseconds since 2024-10-27 03:33:20 UTC and end with 2059-08-30 23:27:07.775 UTC; from
/// 2042-03-30 01:30:13.888 UTC the raw id's top bit is set. A node issues 1,024 ids a millisecond. The layout is this
/// project's own.
///
/// Raw ids of all nodes ascend together, to the millisecond, so the rows of a fleet go to the end of an index. Those of
/// [`Randflake`](super::Randflake) ascend to the second, and within it each node writes in a place of its own. See
/// [`StoredRaw`](crate::StoredRaw).
///
/// ```
/// use core::time::Duration;
/// use randflake_core::{Codec, Milliflake, Sparx64};
///
/// let codec = Codec::new(Milliflake, Sparx64::new(&[7; 16]));
/// let id = codec.compose_at(Duration::from_millis(1_733_706_297_042), 16_383, 1_023)?;
/// assert_eq!(codec.raw(id), 3_706_297_042 << 24 | 16_383 << 10 | 1_023);
/// # Ok::<(), randflake_core::FieldError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Milliflake;

impl Layout for Milliflake {
    type Permutation = Sparx64;

    const SPEC: LayoutSpec =
        LayoutSpec::declare(LayoutFields::in_order([40, 14, 10], 1_730_000_000_000, 1));
}
