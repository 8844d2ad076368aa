//! Any id, for fuzzers and property tests.

#[cfg(feature = "arbitrary")]
mod arbitrary {
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
}

#[cfg(feature = "proptest")]
mod proptest {
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
}
