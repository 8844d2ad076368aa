//! `arbitrary`: any id, for fuzzers.

use arbitrary::{Arbitrary, Result, Unstructured};

use super::for_ids;

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
