//! Raw ids that follow each other.

use core::marker::PhantomData;

use crate::Layout;

/// Raw ids of one node id and one tick whose sequences follow each other: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<L> {
    first: u64,
    beyond_first: u32,
    layout: PhantomData<L>,
}

impl<L: Layout> Run<L> {
    #[inline]
    pub(crate) const fn new(first: u64, beyond_first: u32) -> Self {
        Self {
            first,
            beyond_first,
            layout: PhantomData,
        }
    }

    /// The first raw id.
    #[must_use]
    #[inline]
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// How many they are: at least 1.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub const fn len(&self) -> usize {
        (self.beyond_first as usize).saturating_add(1)
    }

    /// The raw ids in their order.
    #[inline]
    pub fn raw_ids(&self) -> impl Iterator<Item = u64> + use<L> {
        let first = self.first;
        let one = L::SPEC.pack(0, 0, 1);
        // The sequences are in range, so no carry leaves their field.
        (0..=u64::from(self.beyond_first)).map(move |n| first.wrapping_add(n.wrapping_mul(one)))
    }
}
