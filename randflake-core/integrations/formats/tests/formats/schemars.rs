use randflake_core::{Any, Bits64, Id, Kind};
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use crate::kinds::{ID, IDS, Message, NO_USERS, User, UserId};

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Users {
    owner: UserId,
    others: Vec<UserId>,
    last: Option<Id>,
}

fn accepts<T: JsonSchema>(text: &str) -> bool {
    let schema = schema_for!(T).to_value();
    jsonschema::validator_for(&schema)
        .unwrap()
        .is_valid(&Value::from(text))
}

fn describes<K: Kind<Width = Bits64>>() {
    for id in IDS {
        let text = id.typed::<K>().to_string();
        assert!(accepts::<Id<K>>(&text), "{text}");
    }
    let schema = schema_for!(Id<K>).to_value();
    assert_eq!(schema["examples"], json!([ID.typed::<K>().to_string()]));
    let longest = Id::from_i64(-1).typed::<K>().to_string();
    assert_eq!(schema["maxLength"], json!(longest.len()));
    let shortest = Id::from_i64(0).typed::<K>().to_string();
    assert_eq!(schema["minLength"], json!(shortest.len()));
}

#[test]
fn the_schema_has_the_texts_of_ids_and_no_others() {
    describes::<Any>();
    describes::<User>();
    describes::<Message>();
    for (text, _) in NO_USERS {
        assert!(!accepts::<UserId>(text), "{text}");
    }
    for text in [
        "",
        "0v",
        "g000000000000",
        "11111111111111",
        "V",
        "w",
        "user_v",
        "v\n",
    ] {
        assert!(!accepts::<Id>(text), "{text:?}");
    }
}

#[test]
fn it_stands_in_other_schemas() {
    let schema = schema_for!(Users).to_value();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&json!({"owner": "user_v", "others": ["user_1"], "last": null})));
    assert!(validator.is_valid(&json!({"owner": "user_v", "others": [], "last": "v"})));
    assert!(!validator.is_valid(&json!({"owner": "order_v", "others": []})));
    assert!(!validator.is_valid(&json!({"owner": "user_v", "others": [31]})));
    assert_eq!(UserId::schema_name(), "UserId");
}
