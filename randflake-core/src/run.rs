//! Runs: consecutive raw ids that were reserved together.

use core::marker::PhantomData;

use crate::AnyLayout;

/// Consecutive raw ids of one node id and one tick: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<L> {
    first: u64,
    /// Number of ids after the first: so a run is never empty, and one of all 2^32 sequences fits.
    beyond_first: u32,
    layout: PhantomData<L>,
}

impl<L: AnyLayout> Run<L> {
    #[inline]
    pub(crate) const fn new(first: u64, beyond_first: u32) -> Self {
        Self {
            first,
            beyond_first,
            layout: PhantomData,
        }
    }

    /// First raw id; the others have the sequences after its own.
    #[must_use]
    #[inline]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Number of ids, at least 1.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub const fn len(&self) -> usize {
        (self.beyond_first as usize).saturating_add(1)
    }
}
