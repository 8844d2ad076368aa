//! Any id, for property tests.

use proptest::arbitrary::Arbitrary;
use proptest::num::i64::{ANY, Any};
use proptest::strategy::{Map, Strategy};

use super::for_ids;

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
