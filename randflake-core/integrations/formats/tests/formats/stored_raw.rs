//! Ids that a database stores raw are text like all others: the encrypted id's.

use randflake_core::StoredRaw;
use schemars::JsonSchema;
use utoipa::PartialSchema;

use crate::kinds::{ID, Order, OrderId};

#[test]
fn only_the_encrypted_id_is_shown() {
    let stored = StoredRaw::<Order>::new(ID.typed()).unwrap();
    assert_ne!(stored.raw(), ID.to_i64());

    let json = r#""order_3vgoe12ccb8gh""#;
    assert_eq!(serde_json::to_string(&stored).unwrap(), json);
    assert_eq!(
        serde_json::from_str::<StoredRaw<Order>>(json).unwrap(),
        stored
    );
    let error = serde_json::from_str::<StoredRaw<Order>>(r#""user_v""#)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(r#"the id has the prefix "user": "order" is required"#),
        "{error}"
    );

    let bytes = postcard::to_allocvec(&stored).unwrap();
    assert_eq!(bytes, postcard::to_allocvec(&ID.typed::<Order>()).unwrap());
    assert_eq!(
        postcard::from_bytes::<StoredRaw<Order>>(&bytes).unwrap(),
        stored
    );

    assert_eq!(StoredRaw::<Order>::schema_name(), OrderId::schema_name());
    assert_eq!(
        serde_json::to_value(StoredRaw::<Order>::schema()).unwrap(),
        serde_json::to_value(OrderId::schema()).unwrap()
    );
}
