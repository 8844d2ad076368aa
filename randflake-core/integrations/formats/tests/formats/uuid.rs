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
