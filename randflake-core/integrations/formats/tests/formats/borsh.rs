use borsh::{BorshDeserialize, BorshSerialize, from_slice, to_vec};
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
