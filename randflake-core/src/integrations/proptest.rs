//! Any id, for property tests.

use core::ops::RangeInclusive;

use proptest::arbitrary::Arbitrary;
use proptest::strategy::{Map, Strategy};

use crate::{Id, Kind};

/// Each number of the kind's range is an id.
impl<K: Kind> Arbitrary for Id<K> {
    type Parameters = ();
    type Strategy = Map<RangeInclusive<u64>, fn(u64) -> Self>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        (0..=Self::MAX).prop_map(|number| Self::new(number.cast_signed()))
    }
}
