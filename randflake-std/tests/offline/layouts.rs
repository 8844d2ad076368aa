//! Layouts with few ids or node ids, whose bounds a test reaches.

use core::time::Duration;

use randflake_core::{Layout, LayoutFields, LayoutSpec, Plain, Randflake};

/// Randflake's layout with narrower fields: so few ids a second that the slowest machine takes them
/// all, or so few node ids that handles meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Narrow<const NODE_ID_BITS: u32, const SEQUENCE_BITS: u32>;

impl<const NODE_ID_BITS: u32, const SEQUENCE_BITS: u32> Layout
    for Narrow<NODE_ID_BITS, SEQUENCE_BITS>
{
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [30, NODE_ID_BITS, SEQUENCE_BITS],
        Randflake::SPEC.epoch_unix_ms(),
        Randflake::SPEC.tick_ms(),
    ));
}

const SLOW_TICK: Duration = Duration::from_secs(40 * 365 * 24 * 3_600);

/// A TTL of [`Slow`], far longer than any test takes.
pub(crate) const SLOW_TTL: Duration = SLOW_TICK.saturating_mul(3);

/// Four ids in a tick of 40 years, from 2009 to 2049: no test meets the turn of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slow;

impl Layout for Slow {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
        [16, 17, 2],
        0,
        1_000 * SLOW_TICK.as_secs(),
    ));
}
