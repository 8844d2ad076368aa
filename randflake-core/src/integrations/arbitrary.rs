//! `arbitrary`: any id, for fuzzers.

use arbitrary::{Arbitrary, Result, Unstructured};

use super::for_ids;
use crate::{Id53, Kind, Typed};

for_ids! {
    /// Every 64-bit number is a valid id.
    impl['a,] Arbitrary<'a> {
        fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
            // Every number is an id: encrypted ones may have any bits.
            i64::arbitrary(input).map(Self::from_i64)
        }

        fn size_hint(depth: usize) -> (usize, Option<usize>) {
            <i64 as Arbitrary<'a>>::size_hint(depth)
        }
    }
}

/// Every number of 53 bits is a valid id.
impl<'a, K: Kind> Arbitrary<'a> for Id53<K> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let number = input.int_in_range(0..=Self::MAX)?;
        Ok(Self(Typed::from_u64(number)))
    }

    fn size_hint(depth: usize) -> (usize, Option<usize>) {
        <i64 as Arbitrary<'a>>::size_hint(depth)
    }
}
