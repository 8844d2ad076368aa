//! Any id, for property tests.

use core::ops::RangeInclusive;

use proptest::arbitrary::Arbitrary;
use proptest::num::i64::{ANY, Any};
use proptest::strategy::{Map, Strategy};

use super::for_ids;
use crate::{Id53, Kind, Typed};

for_ids! {
    /// Each 64-bit number is an id.
    impl[] Arbitrary {
        type Parameters = ();
        type Strategy = Map<Any, fn(i64) -> Self>;

        fn arbitrary_with((): ()) -> Self::Strategy {
            ANY.prop_map(Self::from_i64)
        }
    }
}

/// Each number of 53 bits is an id.
impl<K: Kind> Arbitrary for Id53<K> {
    type Parameters = ();
    type Strategy = Map<RangeInclusive<u64>, fn(u64) -> Self>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        (0..=Self::MAX).prop_map(|number| Self(Typed::from_u64(number)))
    }
}
