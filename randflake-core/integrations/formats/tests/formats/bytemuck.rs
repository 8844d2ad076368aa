use bytemuck::{Zeroable, bytes_of, cast_slice, cast_slice_mut, try_cast_slice};
use randflake_core::Id;

use crate::kinds::{IDS, User, UserId};

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
