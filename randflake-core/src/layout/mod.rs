//! Layouts: how timestamp, node id and sequence share the 64 bits of a raw id.

mod published;
mod randflake;
mod spec;

use core::fmt::Debug;

use crate::{Permutation, Plain};
pub use published::*;
pub use randflake::*;
pub use spec::{Field, LayoutFields, LayoutSpec};

/// The predefined layouts: this project's three, and others by the names of their programs or
/// companies.
pub const LAYOUTS: [(&str, LayoutSpec); 9] = [
    ("randflake", Randflake::SPEC),
    ("milliflake", Milliflake::SPEC),
    ("randflake53", Randflake53::SPEC),
    ("snowflake", Snowflake::SPEC),
    ("sonyflake", Sonyflake::SPEC),
    ("discord", Discord::SPEC),
    ("instagram", Instagram::SPEC),
    ("mastodon", Mastodon::SPEC),
    ("baidu", Baidu::SPEC),
];

/// A layout as a type: where the fields are, what a tick is, and how a raw id becomes public.
///
/// A layout of one's own takes a few lines, and one that cannot work does not compile. Nothing
/// assumes an order of the fields: [`LayoutFields::in_order`] writes the usual one, and the struct
/// itself any other.
///
/// ```
/// use randflake_core::{Layout, LayoutFields, LayoutSpec, Plain};
///
/// /// Four ticks a second since 2020: 34 + 16 + 13 bits.
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
/// struct Mine;
///
/// impl Layout for Mine {
///     type Permutation = Plain;
///     const SPEC: LayoutSpec =
///         LayoutSpec::declare(LayoutFields::in_order([34, 16, 13], 1_577_836_800_000, 250));
/// }
/// assert_eq!(Mine::SPEC.max_node_id(), 65_535);
/// ```
///
/// ```compile_fail
/// # use randflake_core::{Field, LayoutFields, Layout, Plain, LayoutSpec};
/// const OVERLAPPING: LayoutSpec = LayoutSpec::declare(LayoutFields {
///     timestamp: Field { bits: 41, shift: 20 },
///     node_id: Field { bits: 10, shift: 12 },
///     sequence: Field { bits: 12, shift: 0 },
///     epoch_unix_ms: 0,
///     tick_ms: 1,
/// });
/// # fn main() { let _ = OVERLAPPING; }
/// ```
pub trait Layout: Copy + Default + Eq + Debug + Send + Sync + 'static {
    /// Permutation between raw and public ids, unless another one is given:
    /// [`Sparx64`](crate::Sparx64) encrypts, [`Plain`](crate::Plain) does nothing.
    type Permutation: Permutation + Debug + Send + Sync + 'static;

    /// Field widths and positions, epoch and tick, checked at compile time.
    const SPEC: LayoutSpec;
}

/// A layout as a value: one declared as a type, or a [`LayoutSpec`] made at run time.
///
/// Every [`Layout`] is one. It costs nothing there: the value has no size and its spec is a
/// constant.
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// use randflake_core::{Generator, Layout, LayoutSpec, Lease, ManualClock, Plain, Snowflake};
///
/// let mut fields = Snowflake::SPEC.fields();
/// fields.epoch_unix_ms = 1_577_836_800_000; // 2020
/// let layout = LayoutSpec::new(fields)?;
///
/// let clock = ManualClock::at_unix_ms(1_577_836_801_000);
/// let lease = Lease::new(layout, 42, 0, 60_000)?;
/// let ids = Generator::<_, AtomicU64, _>::new(lease, &clock, Plain)?;
/// assert_eq!(ids.generate()?.to_u64(), 1_000 << 22 | 42 << 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AnyLayout: Copy + Eq + Debug + Send + Sync + 'static {
    /// Permutation between raw and public ids, unless another one is given.
    type Permutation: Permutation + Debug + Send + Sync + 'static;

    /// Field widths and positions, epoch and tick. Constant for a value.
    fn spec(&self) -> LayoutSpec;
}

// For all types at once; `LayoutSpec` itself is no `Layout`, so the two impls do not meet.
impl<L: Layout> AnyLayout for L {
    type Permutation = L::Permutation;

    #[inline]
    fn spec(&self) -> LayoutSpec {
        // The constant and not a field: its numbers fold into the code.
        L::SPEC
    }
}

/// A layout made at run time, of settings that a file or a user gave. Two are equal when all their
/// numbers are.
impl AnyLayout for LayoutSpec {
    type Permutation = Plain;

    #[inline]
    fn spec(&self) -> LayoutSpec {
        *self
    }
}
