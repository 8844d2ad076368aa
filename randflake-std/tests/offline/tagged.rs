//! Keys of tagged UUIDs, derived from secrets.

use randflake_std::{Id, KeyNumber, Secret, TagError};
use serde_json::Value;

#[test]
fn keys_are_derived_as_the_vectors_say() {
    let json = include_str!("../../../randflake-core/tests/vectors/tagged.json");
    let vectors: Vec<Value> = serde_json::from_str(json).unwrap();
    assert_eq!(vectors.len(), 64);
    for vector in &vectors {
        let text = |name: &str| vector[name].as_str().unwrap();
        let number = u8::try_from(vector["key_number"].as_u64().unwrap()).unwrap();
        let secret = Secret::from_hex(text("secret")).unwrap();
        let key = secret
            .tag_key(KeyNumber::new(number).unwrap(), text("namespace"))
            .unwrap();
        let id = Id::from_u64(vector["id"].as_u64().unwrap());
        assert_eq!(key.tag(id).to_string(), text("uuid"));
        assert_eq!(key.check(text("uuid").parse().unwrap()), Ok(id));
    }
}

#[test]
fn a_uuid_of_another_namespace_is_refused() {
    let secret = Secret::generate().unwrap();
    let number = KeyNumber::MIN;
    let [orders, users] = ["orders", "users"].map(|name| secret.tag_key(number, name).unwrap());
    let uuid = orders.tag(Id::from_u64(42));
    assert_eq!(orders.check(uuid), Ok(Id::from_u64(42)));
    assert_eq!(users.check(uuid), Err(TagError::Tag { key: number }));
}

#[test]
fn a_name_that_no_namespace_has_is_refused() {
    let secret = Secret::generate().unwrap();
    let error = secret.tag_key(KeyNumber::MIN, "Orders").unwrap_err();
    assert!(error.to_string().starts_with("namespace \"Orders\": "));
}
