//! Layouts that are known at run time only.

use core::fmt::Debug;

use super::{Field, Layout, LayoutFields, LayoutSpec};
use crate::{LayoutError, Permutation, Sparx64};

/// A layout as a value: one declared as a type, or one made at run time.
///
/// Every [`Layout`] is one. It costs nothing there: the value has no size and its spec is a constant.
pub trait AnyLayout: Copy + Eq + Debug + Send + Sync + 'static {
    /// What makes a raw id public.
    type Permutation: Permutation + Debug + Send + Sync + 'static;

    /// Field widths and places, epoch and tick. A value gives the same whenever it is asked.
    fn spec(&self) -> LayoutSpec;
}

impl<L: Layout> AnyLayout for L {
    type Permutation = L::Permutation;

    #[inline]
    fn spec(&self) -> LayoutSpec {
        L::SPEC
    }
}

/// A layout made at run time, of settings that a file or a user gave.
///
/// Two of them are equal when all their numbers are. Where the layout is known when the program is
/// written, [`Layout`] checks it then and costs less.
///
/// ```
/// use std::sync::atomic::AtomicU64;
/// use randflake_core::{AnyPermutation, Custom, Generator, Layout, Lease, ManualClock, Snowflake};
///
/// let mut settings = Snowflake::SPEC.fields();
/// settings.epoch_unix_ms = 1_577_836_800_000; // 2020
/// let layout = Custom::new(settings)?;
///
/// let clock = ManualClock::at_unix_ms(1_577_836_801_000);
/// let lease = Lease::of(layout, 42, 0, 60_000)?;
/// let ids = Generator::<_, AtomicU64, _>::new(lease, &clock, AnyPermutation::Plain)?;
/// assert_eq!(ids.generate()?.to_u64(), 1_000 << 22 | 42 << 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Custom(LayoutSpec);

impl Custom {
    /// The layout of these fields, epoch and tick.
    ///
    /// # Errors
    ///
    /// As for [`LayoutSpec::new`].
    pub const fn new(fields: LayoutFields) -> Result<Self, LayoutError> {
        match LayoutSpec::new(fields) {
            Ok(spec) => Ok(Self(spec)),
            Err(error) => Err(error),
        }
    }
}

impl Custom {
    /// The layout whose timestamp is above its node id, and that above its sequence, with widths in
    /// that order, as most are.
    ///
    /// ```
    /// use randflake_core::{Baidu, Custom, Layout};
    ///
    /// assert_eq!(Custom::in_order([28, 22, 13], 1_463_673_600_000, 1_000)?, Baidu::SPEC.into());
    /// assert_eq!(
    ///     Custom::in_order([41, 14, 12], 0, 1).unwrap_err().to_string(),
    ///     "the timestamp, 41 bits shifted by 26, is not within the 64 bits of an id"
    /// );
    /// # Ok::<(), randflake_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`LayoutSpec::new`].
    pub const fn in_order(
        [timestamp, node_id, sequence]: [u32; 3],
        epoch_unix_ms: u64,
        tick_ms: u64,
    ) -> Result<Self, LayoutError> {
        Self::new(LayoutFields {
            timestamp: Field {
                bits: timestamp,
                shift: node_id.saturating_add(sequence),
            },
            node_id: Field {
                bits: node_id,
                shift: sequence,
            },
            sequence: Field {
                bits: sequence,
                shift: 0,
            },
            epoch_unix_ms,
            tick_ms,
        })
    }
}

impl From<LayoutSpec> for Custom {
    fn from(spec: LayoutSpec) -> Self {
        Self(spec)
    }
}

impl AnyLayout for Custom {
    type Permutation = AnyPermutation;

    #[inline]
    fn spec(&self) -> LayoutSpec {
        self.0
    }
}

/// A permutation chosen at run time.
#[derive(Debug)]
pub enum AnyPermutation {
    /// The raw id is the public id: see [`Plain`](crate::Plain).
    Plain,
    /// The raw id is encrypted.
    Sparx64(Sparx64),
}

impl Permutation for AnyPermutation {
    #[inline]
    fn permute(&self, raw: u64) -> u64 {
        match self {
            Self::Plain => raw,
            Self::Sparx64(cipher) => cipher.permute(raw),
        }
    }

    fn permute_all(&self, ids: &mut [u64]) {
        if let Self::Sparx64(cipher) = self {
            cipher.permute_all(ids);
        }
    }

    #[inline]
    fn invert(&self, public: u64) -> u64 {
        match self {
            Self::Plain => public,
            Self::Sparx64(cipher) => cipher.invert(public),
        }
    }

    fn invert_all(&self, ids: &mut [u64]) {
        if let Self::Sparx64(cipher) = self {
            cipher.invert_all(ids);
        }
    }
}
