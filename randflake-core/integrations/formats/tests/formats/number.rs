use std::collections::BTreeMap;

use async_graphql::{ScalarType, Value as GraphqlValue};
use randflake_core::{Id, Id53};
use redis::{FromRedisValue, ToRedisArgs as _, Value as RedisValue};
use serde_json::Value;

use crate::kinds::RowId;

const MAX: u64 = 9_007_199_254_740_991;
const NUMBERS: [u64; 5] = [0, 31, 1 << 31, 1 << 52, MAX];

fn id53(number: u64) -> Id53 {
    Id::from_u64(number).try_typed().unwrap()
}

#[test]
fn ids_of_53_bits_are_numbers_for_people_and_machines() {
    for number in NUMBERS {
        let id = id53(number);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, number.to_string());
        assert_eq!(serde_json::from_str::<Id53>(&json).unwrap(), id);
        assert_eq!(
            serde_json::from_str::<RowId>(&json).unwrap().untyped(),
            id.untyped()
        );
        // What JavaScript has of it: a number of floating point.
        let javascript: f64 = serde_json::from_str(&json).unwrap();
        assert_eq!(format!("{javascript:.0}"), json);
        let value = serde_json::to_value(id).unwrap();
        assert_eq!(value, Value::from(number));
        assert_eq!(serde_json::from_value::<Id53>(value).unwrap(), id);

        // A key of JSON is a string of the same digits.
        let keys = BTreeMap::from([(id, Some(id))]);
        let json = serde_json::to_string(&keys).unwrap();
        assert_eq!(json, format!(r#"{{"{number}":{number}}}"#));
        let keys_read: BTreeMap<Id53, Option<Id53>> = serde_json::from_str(&json).unwrap();
        assert_eq!(keys_read, keys);

        let mut table = csv::Writer::from_writer(Vec::new());
        table.serialize((id, 7)).unwrap();
        let table = table.into_inner().unwrap();
        let mut rows = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(&table[..])
            .into_deserialize::<(Id53, i64)>();
        assert_eq!(rows.next().unwrap().unwrap(), (id, 7));

        let bytes = postcard::to_allocvec(&id).unwrap();
        assert_eq!(bytes, postcard::to_allocvec(&id.to_i64()).unwrap());
        assert_eq!(postcard::from_bytes::<Id53>(&bytes).unwrap(), id);
        let mut bytes = Vec::new();
        ciborium::into_writer(&id, &mut bytes).unwrap();
        assert_eq!(ciborium::from_reader::<u64, _>(&bytes[..]).unwrap(), number);
        assert_eq!(ciborium::from_reader::<Id53, _>(&bytes[..]).unwrap(), id);
    }
}

#[test]
fn what_javascript_would_round_is_refused() {
    let refusal = |json: &str| {
        let error = serde_json::from_str::<Id53>(json).unwrap_err();
        error.to_string()
    };
    for (number, id) in [
        ("9007199254740992", "9007199254740992"),
        ("18446744073709551615", "18446744073709551615"),
        ("-1", "-1"),
    ] {
        let expected =
            format!("id {id} is out of range: 0 to 9007199254740991, 53 bits, are allowed");
        assert!(refusal(number).starts_with(&expected), "{number}");
    }
    // A fraction, an exponent or digits in a string: other forms of a number, which its writer may
    // have rounded.
    for json in ["1.0", "1e3", "\"31\"", "null", "[]", "18446744073709551616"] {
        let error = refusal(json);
        let expected = "expected an id, a whole number from 0 to 9007199254740991";
        assert!(error.contains(expected), "{json}: {error}");
    }
    for number in [-1, i64::try_from(MAX).unwrap() + 1] {
        let bytes = postcard::to_allocvec(&number).unwrap();
        assert!(postcard::from_bytes::<Id53>(&bytes).is_err(), "{number}");
        let mut bytes = Vec::new();
        ciborium::into_writer(&number, &mut bytes).unwrap();
        assert!(ciborium::from_reader::<Id53, _>(&bytes[..]).is_err());
    }
}

#[test]
fn schemas_say_an_integer_and_its_limits() {
    let json = schemars::schema_for!(RowId).to_value();
    let openapi = serde_json::to_value(<RowId as utoipa::PartialSchema>::schema()).unwrap();
    let validator = jsonschema::validator_for(&json).unwrap();
    for schema in [json, openapi] {
        assert_eq!(schema["type"], "integer");
        assert_eq!(
            (&schema["minimum"], &schema["maximum"]),
            (&0.into(), &MAX.into())
        );
    }
    for (number, is_valid) in [(0, true), (MAX, true), (MAX + 1, false)] {
        assert_eq!(
            validator.is_valid(&Value::from(number)),
            is_valid,
            "{number}"
        );
    }
    assert!(!validator.is_valid(&Value::from("31")));
}

#[test]
fn graphql_has_a_scalar_that_is_a_number() {
    for number in NUMBERS {
        let id = id53(number);
        let value = ScalarType::to_value(&id);
        assert_eq!(value.to_string(), number.to_string());
        assert_eq!(<Id53 as ScalarType>::parse(value).ok(), Some(id));
    }
    for value in [
        GraphqlValue::from(MAX + 1),
        (-1).into(),
        1.5.into(),
        "31".into(),
    ] {
        assert!(
            <Id53 as ScalarType>::parse(value.clone()).is_err(),
            "{value}"
        );
    }
}

#[test]
fn redis_and_borsh_have_the_number() {
    for number in NUMBERS {
        let id = id53(number);
        assert_eq!(id.to_redis_args(), [number.to_string().into_bytes()]);
        let digits = RedisValue::BulkString(number.to_string().into());
        for value in [RedisValue::Int(id.to_i64()), digits] {
            assert_eq!(Id53::from_redis_value(value).unwrap(), id);
        }
        let bytes = ::borsh::to_vec(&id).unwrap();
        assert_eq!(bytes, number.to_le_bytes());
        assert_eq!(::borsh::from_slice::<Id53>(&bytes).unwrap(), id);
    }
    let beyond = RedisValue::Int(i64::MAX);
    assert!(<Id53 as FromRedisValue>::from_redis_value(beyond).is_err());
    assert!(::borsh::from_slice::<Id53>(&[0xff; 8]).is_err());
}
