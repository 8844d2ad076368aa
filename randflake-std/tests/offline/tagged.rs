//! Keys of tagged UUIDs: derived from secrets, and read from a directory of numbered files.

use std::fs;
use std::path::Path;

use randflake_std::tagged::{TagCheckError, TagSecrets, TagSecretsError};
use randflake_std::{Id, KeyNumber, Secret, TagError};
use serde_json::Value;
use tempfile::TempDir;

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

pub(crate) fn number(number: u8) -> KeyNumber {
    KeyNumber::new(number).unwrap()
}

pub(crate) fn secret(number: u8) -> Secret {
    Secret::from_bytes([number; 16])
}

pub(crate) fn put(directory: &Path, key: u8) {
    let file = directory.join(format!("{key}.key"));
    secret(key).write_new(file).unwrap();
}

/// A directory of keys.
pub(crate) fn directory(keys: &[u8]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for key in keys {
        put(directory.path(), *key);
    }
    directory
}

pub(crate) fn secrets(directory: &TempDir) -> TagSecrets {
    TagSecrets::open(directory.path(), "orders").unwrap()
}

#[test]
fn reader_accepts_only_what_a_key_holder_made() {
    let keys = directory(&[1, 63]);
    let reader = secrets(&keys);
    assert_eq!(
        reader.numbers().collect::<Vec<_>>(),
        [number(1), number(63)]
    );
    let id = Id::from_u64(42);
    let made = |key: u8, name: &str| secret(key).tag_key(number(key), name).unwrap().tag(id);
    assert_eq!(reader.check(made(1, "orders")), Ok(id));
    assert_eq!(reader.check(made(63, "orders")), Ok(id));
    let unknown = reader.check(made(2, "orders")).unwrap_err();
    assert_eq!(unknown, TagCheckError::Unknown { number: number(2) });
    assert!(unknown.to_string().contains("number 2"), "{unknown}");
    let of_another = reader.check(made(1, "users"));
    assert_eq!(of_another, Err(TagCheckError::Tag { number: number(1) }));

    // A key comes back with its file.
    let file = keys.path().join("1.key");
    fs::remove_file(&file).unwrap();
    reader.refresh().unwrap();
    let retired = reader.check(made(1, "orders")).unwrap_err();
    assert_eq!(retired, TagCheckError::Retired { number: number(1) });
    assert!(retired.to_string().contains("was retired"), "{retired}");
    put(keys.path(), 1);
    reader.refresh().unwrap();
    assert_eq!(reader.check(made(1, "orders")), Ok(id));
}

#[test]
fn a_directory_that_cannot_be_meant_is_refused() {
    let refused = |directory: &Path| TagSecrets::open(directory, "orders").unwrap_err();
    let keys = directory(&[]);
    let missing = refused(&keys.path().join("missing"));
    assert!(
        matches!(missing, TagSecretsError::Directory { .. }),
        "{missing:?}"
    );
    let empty = refused(keys.path());
    assert!(matches!(empty, TagSecretsError::Empty { .. }), "{empty:?}");
    put(keys.path(), 1);
    fs::write(keys.path().join("notes.txt"), "of no account").unwrap();
    let reader = secrets(&keys);
    let name = TagSecrets::open(keys.path(), "Orders!").unwrap_err();
    assert!(matches!(name, TagSecretsError::Name(_)), "{name:?}");

    for wrong in ["0.key", "64.key", "02.key", "orders.key"] {
        let file = keys.path().join(wrong);
        secret(2).write_new(&file).unwrap();
        let error = reader.refresh().unwrap_err();
        assert!(
            matches!(error, TagSecretsError::FileName { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(wrong), "{error}");
        fs::remove_file(file).unwrap();
    }
    // A copied file.
    let copy = keys.path().join("2.key");
    secret(1).write_new(&copy).unwrap();
    let error = reader.refresh().unwrap_err();
    let first = number(1);
    assert!(
        matches!(error, TagSecretsError::Equal { first: a, second: b } if (a, b) == (first, number(2))),
        "{error:?}"
    );
    fs::remove_file(&copy).unwrap();
    fs::write(&copy, "no secret").unwrap();
    let error = reader.refresh().unwrap_err();
    assert!(matches!(error, TagSecretsError::Secret { .. }), "{error:?}");
    assert!(error.to_string().contains("2.key"), "{error}");
    fs::remove_file(&copy).unwrap();
    let numbers: Vec<_> = reader.numbers().collect();
    assert_eq!(numbers, [first]);
}

/// A key that leaked is refused, whatever else is wrong with the directory.
#[test]
fn a_key_is_retired_beside_files_that_are_refused() {
    let [first, second, third] = [1, 2, 3].map(number);
    let keys = directory(&[1, 2]);
    let reader = secrets(&keys);
    let made = |key: u8| {
        let key = secret(key).tag_key(number(key), "orders").unwrap();
        key.tag(Id::from_u64(1))
    };
    let retired = |key| {
        reader.check(made(key))
            == Err(TagCheckError::Retired {
                number: number(key),
            })
    };

    fs::remove_file(keys.path().join("1.key")).unwrap();
    fs::write(keys.path().join("3.key"), "no secret").unwrap();
    let error = reader.refresh().unwrap_err();
    assert!(matches!(error, TagSecretsError::Secret { .. }), "{error:?}");
    assert!(retired(1) && reader.check(made(2)).is_ok());
    // Its secret under another number is not taken.
    fs::remove_file(keys.path().join("3.key")).unwrap();
    secret(1).write_new(keys.path().join("3.key")).unwrap();
    let error = reader.refresh().unwrap_err();
    let TagSecretsError::Equal {
        first: a,
        second: b,
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!((a, b), (first, third));
    assert!(retired(1));
    fs::remove_file(keys.path().join("3.key")).unwrap();

    // One that cannot be read is as it was.
    fs::write(keys.path().join("2.key"), "no secret").unwrap();
    reader.refresh().unwrap_err();
    assert!(reader.check(made(2)).is_ok());
    // One with another secret is not what it was.
    fs::remove_file(keys.path().join("2.key")).unwrap();
    secret(9).write_new(keys.path().join("2.key")).unwrap();
    let error = reader.refresh().unwrap_err();
    assert!(
        matches!(error, TagSecretsError::Changed { .. }),
        "{error:?}"
    );
    assert!(retired(2));
    fs::remove_file(keys.path().join("2.key")).unwrap();
    put(keys.path(), 2);
    reader.refresh().unwrap();
    assert_eq!(reader.numbers().collect::<Vec<_>>(), [second]);

    // The last one, too.
    fs::remove_file(keys.path().join("2.key")).unwrap();
    let error = reader.refresh().unwrap_err();
    assert!(matches!(error, TagSecretsError::Empty { .. }), "{error:?}");
    assert!(retired(2));
    put(keys.path(), 2);
    reader.refresh().unwrap();
    assert!(reader.check(made(2)).is_ok());
    // A directory that is away says nothing of any key.
    let away = keys.path().with_extension("away");
    fs::rename(keys.path(), &away).unwrap();
    let error = reader.refresh().unwrap_err();
    assert!(
        matches!(error, TagSecretsError::Directory { .. }),
        "{error:?}"
    );
    assert!(reader.check(made(2)).is_ok());
    fs::rename(&away, keys.path()).unwrap();
}
