//! `arbitrary`: any id, for fuzzers.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::{Id, Kind};

/// Every number of the kind's range is a valid id: encrypted ones may have any bits.
impl<'a, K: Kind> Arbitrary<'a> for Id<K> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let number = u64::arbitrary(input)? & Self::MAX;
        Ok(Self::new(number.cast_signed()))
    }

    fn size_hint(depth: usize) -> (usize, Option<usize>) {
        u64::size_hint(depth)
    }
}
