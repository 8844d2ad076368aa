use randflake_core::{Id, KeyNumber, Sparx64, TagKey, TaggedUuid};
use uuid::Uuid;

fn tagged() -> TaggedUuid {
    let key = TagKey::new(KeyNumber::MAX, Sparx64::new(&[7; 16]));
    key.tag(Id::from_u64(u64::MAX))
}

#[test]
fn tagged_uuid_is_text_or_16_bytes() {
    let uuid = tagged();
    let json = serde_json::to_string(&uuid).unwrap();
    assert_eq!(json, format!("\"{uuid}\""));
    assert_eq!(serde_json::from_str::<TaggedUuid>(&json).unwrap(), uuid);

    let bytes = postcard::to_allocvec(&uuid).unwrap();
    assert_eq!(bytes, [&[16], &uuid.to_bytes()[..]].concat());
    assert_eq!(postcard::from_bytes::<TaggedUuid>(&bytes).unwrap(), uuid);
}

#[test]
fn other_uuids_and_numbers_are_refused() {
    let untagged = Uuid::from(Id::from_u64(1)).to_string();
    let error = serde_json::from_value::<TaggedUuid>(untagged.into()).unwrap_err();
    assert!(error.to_string().contains("key number 0"), "{error}");
    let error = serde_json::from_str::<TaggedUuid>("1").unwrap_err();
    assert!(error.to_string().contains("a tagged UUID"), "{error}");
    let error = postcard::from_bytes::<TaggedUuid>(&[15; 16]).unwrap_err();
    assert_eq!(error, postcard::Error::SerdeDeCustom);
}

#[test]
fn uuid_has_the_same_bytes_and_text() {
    let tagged = tagged();
    let uuid = Uuid::from(tagged);
    assert_eq!(uuid.into_bytes(), tagged.to_bytes());
    assert_eq!(uuid.to_string(), tagged.to_string());
    assert_eq!(uuid.get_version_num(), 8);
    assert_eq!(TaggedUuid::try_from(uuid), Ok(tagged));
}
