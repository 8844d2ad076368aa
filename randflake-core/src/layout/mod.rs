//! Layouts: how timestamp, node id and sequence share the 64 bits of a raw id.

mod any;
mod randflake;
mod snowflake;
mod sonyflake;
mod spec;

use core::fmt::Debug;

pub use any::{AnyLayout, AnyPermutation, Custom};
pub use randflake::Randflake;
pub use snowflake::Snowflake;
pub use sonyflake::Sonyflake;
pub use spec::{Field, Fields, Spec};

use crate::Permutation;

/// A layout as a type: where the fields are, what a tick is, and how a raw id becomes public.
///
/// A layout of one's own takes a few lines. Nothing assumes an order of the fields, and one that
/// cannot work does not compile:
///
/// ```
/// use randflake_core::{Field, Fields, Layout, Plain, Spec};
///
/// /// One second ticks since 2016-05-20: 28 + 22 + 13 bits, as in Baidu's uid-generator.
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
/// struct Baidu;
///
/// impl Layout for Baidu {
///     type Permutation = Plain;
///     const SPEC: Spec = Spec::declare(Fields {
///         timestamp: Field { bits: 28, shift: 35 },
///         node_id: Field { bits: 22, shift: 13 },
///         sequence: Field { bits: 13, shift: 0 },
///         epoch_unix_ms: 1_463_673_600_000,
///         tick_ms: 1_000,
///     });
/// }
/// assert_eq!(Baidu::SPEC.max_node_id(), 4_194_303);
/// ```
///
/// ```compile_fail
/// # use randflake_core::{Field, Fields, Layout, Plain, Spec};
/// const OVERLAPPING: Spec = Spec::declare(Fields {
///     timestamp: Field { bits: 41, shift: 20 },
///     node_id: Field { bits: 10, shift: 12 },
///     sequence: Field { bits: 12, shift: 0 },
///     epoch_unix_ms: 0,
///     tick_ms: 1,
/// });
/// # fn main() { let _ = OVERLAPPING; }
/// ```
pub trait Layout: Copy + Default + Eq + Debug + Send + Sync + 'static {
    /// What makes a raw id public: [`Sparx64`](crate::Sparx64) encrypts it, [`Plain`](crate::Plain) leaves it.
    type Permutation: Permutation + Debug + Send + Sync + 'static;

    /// Field widths and places, epoch and tick, checked when it was declared.
    const SPEC: Spec;
}
