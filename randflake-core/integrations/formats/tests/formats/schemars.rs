use randflake_core::Id;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use crate::kinds::{ID, IDS, MessageId, NO_USERS, UserId};

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

fn describes<T: JsonSchema + From<Id> + ToString>() {
    for id in IDS {
        let text = T::from(id).to_string();
        assert!(accepts::<T>(&text), "{text}");
    }
    let schema = schema_for!(T).to_value();
    assert_eq!(schema["examples"], json!([T::from(ID).to_string()]));
    let longest = T::from(Id::from_i64(-1)).to_string();
    assert_eq!(schema["maxLength"], json!(longest.len()));
    let shortest = T::from(Id::from_i64(0)).to_string();
    assert_eq!(schema["minLength"], json!(shortest.len()));
}

#[test]
fn the_schema_has_the_texts_of_ids_and_no_others() {
    describes::<Id>();
    describes::<UserId>();
    describes::<MessageId>();
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
