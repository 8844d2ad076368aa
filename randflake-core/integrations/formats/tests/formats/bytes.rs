//! Ids as bytes: of formats, of memory and of UUIDs.

mod borsh {
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
}

mod bytemuck {
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
}

mod uuid {
    use randflake_core::{Id, UuidError};
    use uuid::Uuid;

    use crate::kinds::{IDS, User, UserId};

    #[test]
    fn each_id_has_its_uuid() {
        for id in IDS {
            let uuid = Uuid::from(id.typed::<User>());
            assert_eq!(uuid, Uuid::from(id));
            assert_eq!(UserId::try_from(uuid), Ok(id.typed()));
            assert_eq!(Id::try_from(uuid), Ok(id));
        }
        assert_eq!(UserId::try_from(Uuid::nil()), Err(UuidError::NotVersion8));
        assert_eq!(UserId::try_from(Uuid::max()), Err(UuidError::NotVersion8));
    }
}
