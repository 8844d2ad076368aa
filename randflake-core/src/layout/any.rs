//! Layouts as values, for layouts that are known only at run time.

use core::fmt::Debug;

use super::{Layout, LayoutSpec};
use crate::{Permutation, Plain};

/// A layout as a value: one declared as a type, or a [`LayoutSpec`] made at run time.
///
/// Every [`Layout`] is one. It costs nothing there: the value has no size and its spec is a constant.
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

/// A layout made at run time, of settings that a file or a user gave. Two are equal when all their numbers are.
impl AnyLayout for LayoutSpec {
    type Permutation = Plain;

    #[inline]
    fn spec(&self) -> LayoutSpec {
        *self
    }
}
