//! Ids as bytes and from random bytes: `borsh`, `bytemuck`, `arbitrary` and `proptest`.

use arbitrary::{Arbitrary, Unstructured};
use borsh::{BorshDeserialize, BorshSerialize, from_slice, to_vec};
use bytemuck::{Zeroable, bytes_of, cast_slice, cast_slice_mut, try_cast_slice};
use proptest::prelude::any;
use proptest::proptest;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use randflake_core::Id;

use crate::kinds::{IDS, User, UserId};

#[derive(BorshSerialize, BorshDeserialize)]
struct Pair(Id, Vec<UserId>);

#[test]
fn ids_are_eight_bytes() {
    for id in IDS {
        let bytes = id.to_i64().to_le_bytes();
        assert_eq!(to_vec(&id).unwrap(), bytes);
        assert_eq!(to_vec(&id.typed::<User>()).unwrap(), bytes);
        assert_eq!(from_slice::<Id>(&bytes).unwrap(), id);
        let bytes = to_vec(&Pair(id, vec![id.typed(); 2])).unwrap();
        assert_eq!(bytes.len(), 8 + 4 + 16);
        let Pair(first, rest) = from_slice(&bytes).unwrap();
        assert_eq!((first, rest), (id, vec![id.typed(); 2]));
    }
    assert!(from_slice::<UserId>(&[0; 7]).is_err());
    assert!(from_slice::<UserId>(&[0; 9]).is_err());
}

#[test]
fn a_slice_of_ids_is_a_slice_of_numbers() {
    let users = IDS.map(Id::typed::<User>);
    let numbers: &[i64] = cast_slice(&users);
    assert_eq!(numbers, IDS.map(Id::to_i64));
    assert_eq!(cast_slice::<i64, UserId>(numbers), users);
    assert_eq!(cast_slice::<Id, u8>(&IDS), cast_slice::<i64, u8>(numbers));
    assert_eq!(bytes_of(&IDS[2]), 31_u64.to_ne_bytes());
    assert_eq!(UserId::zeroed(), Id::from_u64(0).typed());
    let mut ids = [Id::from_u64(0); 2];
    cast_slice_mut::<Id, u64>(&mut ids)[1] = 31;
    assert_eq!(ids[1], Id::from_u64(31));
    assert!(try_cast_slice::<u8, Id>(&[0; 7]).is_err());
}

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
    let signs = (0..100).map(|_| {
        any::<Id>()
            .new_tree(&mut runner)
            .unwrap()
            .current()
            .to_i64()
            < 0
    });
    let signs: Vec<bool> = signs.collect();
    assert!(signs.contains(&true) && signs.contains(&false));
    while tree.simplify() {}
    assert_eq!(tree.current(), Id::from_i64(0).typed());
}
