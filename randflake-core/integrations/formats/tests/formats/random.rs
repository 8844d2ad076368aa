//! Ids from `arbitrary` and `proptest`.

use arbitrary::{Arbitrary, Unstructured};
use proptest::prelude::any;
use proptest::proptest;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use randflake_core::Id;

use crate::kinds::UserId;

#[derive(Arbitrary)]
struct Input {
    id: Id,
    users: [UserId; 2],
}

#[test]
fn a_fuzzers_input_becomes_ids() {
    let bytes: Vec<u8> = (1..=24).collect();
    let input = Input::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
    assert_eq!(input.id.to_u64().to_le_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(
        input.users[1].to_u64().to_le_bytes(),
        [17, 18, 19, 20, 21, 22, 23, 24]
    );
    assert_eq!(Input::size_hint(0), (24, Some(24)));
}

proptest! {
    #[test]
    fn each_id_has_its_text(id: Id, user in any::<UserId>()) {
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(user.to_string().parse(), Ok(user));
    }
}

#[test]
fn ids_are_of_both_signs_and_shrink_to_zero() {
    let mut runner = TestRunner::deterministic();
    let mut tree = any::<UserId>().new_tree(&mut runner).unwrap();
    let signs: Vec<bool> = (0..100)
        .map(|_| {
            any::<Id>()
                .new_tree(&mut runner)
                .unwrap()
                .current()
                .to_i64()
                < 0
        })
        .collect();
    assert!(signs.contains(&true) && signs.contains(&false));
    while tree.simplify() {}
    assert_eq!(tree.current(), Id::from_i64(0).typed());
}
