use std::collections::BTreeMap;

use randflake_core::{Any, Bits64, Id, Kind, StoredRaw};
use serde::{Deserialize, Serialize};

use crate::kinds::{ID, IDS, Message, MessageId, NO_USERS, Order, User, UserId};

fn round_trips<K: Kind<Width = Bits64>>() {
    for id in IDS.map(Id::typed::<K>) {
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, format!("\"{id}\""));
        assert_eq!(serde_json::from_str::<Id<K>>(&json).unwrap(), id);
        let value = serde_json::to_value(id).unwrap();
        assert_eq!(serde_json::from_value::<Id<K>>(value).unwrap(), id);

        let keys = BTreeMap::from([(id, Some(id))]);
        let json = serde_json::to_string(&keys).unwrap();
        assert_eq!(
            serde_json::from_str::<BTreeMap<Id<K>, Option<Id<K>>>>(&json).unwrap(),
            keys
        );

        // Of people: one cell of a table.
        let mut table = csv::Writer::from_writer(Vec::new());
        table.serialize((id, 7)).unwrap();
        let table = table.into_inner().unwrap();
        let mut rows = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(&table[..])
            .into_deserialize::<(Id<K>, i64)>();
        assert_eq!(rows.next().unwrap().unwrap(), (id, 7));

        // For machines: the number.
        let bits = id.to_i64();
        let bytes = postcard::to_allocvec(&id).unwrap();
        assert_eq!(bytes, postcard::to_allocvec(&bits).unwrap());
        assert_eq!(postcard::from_bytes::<Id<K>>(&bytes).unwrap(), id);
        let mut bytes = Vec::new();
        ciborium::into_writer(&id, &mut bytes).unwrap();
        assert_eq!(ciborium::from_reader::<i64, _>(&bytes[..]).unwrap(), bits);
        assert_eq!(ciborium::from_reader::<Id<K>, _>(&bytes[..]).unwrap(), id);
    }
}

#[test]
fn ids_are_text_for_people_and_numbers_for_machines() {
    round_trips::<Any>();
    round_trips::<User>();
    round_trips::<Message>();
}

#[test]
fn other_texts_are_refused() {
    for (text, why) in NO_USERS {
        let json = serde_json::to_string(text).unwrap();
        let error = serde_json::from_str::<UserId>(&json)
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let error = serde_json::from_str::<UserId>("31")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "invalid type: integer `31`, expected an id's text, as \"user_3vgoe12ccb8gh\""
        ),
        "{error}"
    );
    let error = serde_json::from_str::<Id>("null").unwrap_err().to_string();
    assert!(
        error.starts_with("invalid type: null, expected an id's text, as \"3vgoe12ccb8gh\""),
        "{error}"
    );
    let mut text = Vec::new();
    ciborium::into_writer("3vgoe12ccb8gh", &mut text).unwrap();
    assert!(ciborium::from_reader::<Id, _>(&text[..]).is_err());
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Numbers {
    #[serde(with = "randflake_core::serde::as_i64")]
    id: Id,
    #[serde(default, with = "randflake_core::serde::as_i64::option")]
    user: Option<UserId>,
    #[serde(with = "randflake_core::serde::as_decimal_string")]
    message: MessageId,
    #[serde(default, with = "randflake_core::serde::as_decimal_string::option")]
    order: Option<StoredRaw<Order>>,
}

#[test]
fn a_field_chooses_its_form() {
    for id in IDS {
        let numbers = Numbers {
            id,
            user: Some(id.typed()),
            message: id.typed(),
            order: Some(StoredRaw::new(id.typed()).unwrap()),
        };
        let json = serde_json::to_string(&numbers).unwrap();
        let bits = id.to_i64();
        let expected =
            format!(r#"{{"id":{bits},"user":{bits},"message":"{bits}","order":"{bits}"}}"#);
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Numbers>(&json).unwrap(), numbers);
        let bytes = postcard::to_allocvec(&numbers).unwrap();
        assert_eq!(postcard::from_bytes::<Numbers>(&bytes).unwrap(), numbers);
    }
    let none = Numbers {
        id: ID,
        user: None,
        message: ID.typed(),
        order: None,
    };
    let json = serde_json::to_string(&none).unwrap();
    assert!(json.contains(r#""user":null"#), "{json}");
    assert_eq!(serde_json::from_str::<Numbers>(&json).unwrap(), none);
    let absent = r#"{"id":4594531474933654033,"message":"4594531474933654033"}"#;
    assert_eq!(serde_json::from_str::<Numbers>(absent).unwrap(), none);
}

#[test]
fn other_numbers_are_refused() {
    let number = |json: &str| {
        let json = format!(r#"{{"id":{json},"message":"1"}}"#);
        serde_json::from_str::<Numbers>(&json).map(|numbers| numbers.id)
    };
    assert_eq!(number("-7").unwrap(), Id::from_i64(-7));
    for json in ["9223372036854775808", "1.0", "\"1\"", "null"] {
        assert!(number(json).is_err(), "{json}");
    }
    let string = |text: &str| {
        let json = format!(r#"{{"id":1,"message":"{text}"}}"#);
        serde_json::from_str::<Numbers>(&json).map(|numbers| numbers.message.to_i64())
    };
    assert_eq!(string("-9223372036854775808").unwrap(), i64::MIN);
    for text in [
        "",
        "-",
        "+1",
        "-+1",
        "01",
        "-01",
        "-0",
        "00",
        "1 ",
        "9223372036854775808",
        "v",
        "1e3",
    ] {
        let error = string(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{text:?} is not ")), "{error}");
    }
}

mod tagged {
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
}

#[cfg(unix)]
mod stored_raw {
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
}
