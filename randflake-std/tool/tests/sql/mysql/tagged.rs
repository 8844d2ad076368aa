//! Tagged UUIDs in MariaDB, made, checked and stored as in core.

use harness::mariadb::Client;
use randflake_std::TaggedUuid;

use super::{Database, refusal, run};
use crate::samples::{forged, uuids, vectors};

impl Database {
    /// With the database `randflake_orders` of tagged UUIDs, and the keys of two numbers.
    pub(super) fn with_tagged_orders(settings: &[&str]) -> (Self, Client) {
        let database = Self::start_with(settings);
        let client = database.install(&["--namespace", "orders", "--tagged"]);
        for number in [1, 2] {
            database
                .bring_tag_key(number, &["--namespace", "orders"])
                .ok();
        }
        (database, client)
    }
}

/// What the functions say of 16 bytes: whether they pass, and the id.
fn checked(client: &mut Client, bytes: [u8; 16]) -> (Option<bool>, Option<i64>) {
    let question = "SELECT randflake_orders.is_tagged(?), randflake_orders.tagged_id(?)";
    let bytes = bytes.to_vec();
    client
        .exec_first(question, (bytes.clone(), bytes))
        .unwrap()
        .unwrap()
}

#[test]
fn every_vector_is_made_and_read() {
    let database = Database::start();
    let mut client = database.client();
    for (key, vectors) in vectors() {
        let arguments = ["--namespace", &key.namespace, "--schema", "s", "--tagged"];
        run(&mut client, &database.printed(&arguments)).unwrap();
        let number = key.number.to_string();
        let arguments = [&arguments[..], &[&number]].concat();
        database.bring_key_of("root", &key.secret, &arguments).ok();
        for (id, uuid) in vectors {
            let bytes = uuid.parse::<TaggedUuid>().unwrap().to_bytes().to_vec();
            let question =
                "SELECT s.make_uuid(?, ?), s.tagged_id(?), s.is_tagged(?), s.make_uuid(?, ?)";
            let signed = id.cast_signed();
            let values = (
                id,
                key.number,
                bytes.clone(),
                bytes.clone(),
                signed,
                key.number,
            );
            let found: Option<(Vec<u8>, i64, bool, Vec<u8>)> =
                client.exec_first(question, values).unwrap();
            assert_eq!(found, Some((bytes.clone(), signed, true, bytes)), "{uuid}");
        }
        client.query_drop("DROP DATABASE s").unwrap();
    }
}

/// In text and in binary, there and back.
#[test]
fn a_column_of_16_bytes_keeps_every_bit() {
    let (_database, mut client) = Database::with_tagged_orders(&[]);
    let mut uuids = uuids([1, 2]);
    for statement in [
        "CREATE TABLE texts (id BINARY(16) PRIMARY KEY)",
        "CREATE TABLE bytes (id BINARY(16) PRIMARY KEY)",
    ] {
        client.query_drop(statement).unwrap();
    }
    for uuid in &uuids {
        let insert = "INSERT INTO texts VALUES (uuid_from_text(?))";
        client.exec_drop(insert, (uuid.to_string(),)).unwrap();
        let insert = "INSERT INTO bytes VALUES (?)";
        let bytes = uuid.to_bytes().to_vec();
        client.exec_drop(insert, (bytes,)).unwrap();
    }
    // The database sorts them as the type does.
    uuids.sort_unstable();
    for table in ["texts", "bytes"] {
        let rows = format!("SELECT id, uuid_to_text(id) FROM {table} ORDER BY id");
        let found: Vec<(Vec<u8>, String)> = client.query(&rows).unwrap();
        let expected = uuids
            .iter()
            .map(|uuid| (uuid.to_bytes().to_vec(), uuid.to_string()));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{table}");
        let checked = format!(
            "SELECT COUNT(*) FROM {table} WHERE is_tagged(id) AND id = make_uuid(
                tagged_id(id), CONV(SUBSTR(HEX(id), 17, 4), 16, 10) >> 4 & 63)"
        );
        let checked: Option<usize> = client.query_first(&checked).unwrap();
        assert_eq!(checked, Some(uuids.len()), "{table}");
    }
    let text = uuids[0].to_string();
    for other in [
        text.to_uppercase(),
        text.replace('-', ""),
        format!("{text}\n"),
        format!("{{{text}}}"),
        String::new(),
    ] {
        // The first has letters.
        assert_ne!(other, text);
        let call = format!("SELECT uuid_from_text('{other}')");
        let refused = refusal(&mut client, &call);
        assert!(refused.contains("not the text of a UUID"), "{refused}");
    }
    let nothing = "SELECT COALESCE(uuid_from_text(NULL), uuid_to_text(NULL)) IS NULL";
    assert_eq!(client.query_first::<bool>(nothing).unwrap(), Some(true));
}

/// Why the guide says `BINARY(16)`. A server that keeps all of them makes this fail, and the guide
/// is to be changed then.
#[test]
fn type_uuid_changes_those_of_ninth_byte_0x80() {
    let (_database, mut client) = Database::with_tagged_orders(&[]);
    let uuids = uuids([1, 2]);
    let create = "CREATE TABLE typed (place INT PRIMARY KEY, id UUID)";
    client.query_drop(create).unwrap();
    for (place, uuid) in uuids.iter().enumerate() {
        let is_mistaken = uuid.to_bytes()[8] == 0x80;
        let digits = uuid.to_string().replace('-', "");
        let insert = format!("INSERT INTO typed VALUES ({place}, X'{digits}')");
        client.query_drop(insert).unwrap();
        let read = "SELECT CAST(id AS BINARY(16)) FROM typed WHERE place = ?";
        let read: Option<Vec<u8>> = client.exec_first(read, (place,)).unwrap();
        assert_eq!(read.unwrap() != uuid.to_bytes(), is_mistaken, "{uuid}");
        let cast = "SELECT CAST(? AS UUID) IS NULL";
        let cast: Option<bool> = client.exec_first(cast, (uuid.to_string(),)).unwrap();
        assert_eq!(cast, Some(is_mistaken), "{uuid}");
    }
    let mistaken = uuids.iter().filter(|uuid| uuid.to_bytes()[8] == 0x80);
    let share = uuids.len() / mistaken.count();
    assert!((10..25).contains(&share), "one of {share}");
}

#[test]
fn what_no_holder_of_a_key_made_is_refused() {
    let (_database, mut client) = Database::with_tagged_orders(&[]);
    for uuid in uuids([1, 2]) {
        let (passes, id) = checked(&mut client, uuid.to_bytes());
        assert!(passes == Some(true) && id.is_some(), "{uuid}");
    }
    let forged = forged();
    assert_eq!(forged.len(), 256 + 7);
    for (why, bytes) in forged {
        let refused = checked(&mut client, bytes);
        assert_eq!(refused, (Some(false), None), "{why}: {bytes:x?}");
    }
    // Too few bytes.
    let short = "SELECT randflake_orders.is_tagged('00000000')";
    assert_eq!(client.query_first::<bool>(short).unwrap(), Some(false));
    // Too many: the text of a UUID, which `uuid_from_text` reads.
    let long = "SELECT randflake_orders.is_tagged('00000000-0000-8000-801c-1a6d4fa37b6e')";
    assert!(refusal(&mut client, long).contains("Data too long"));
    let nothing =
        "SELECT COALESCE(randflake_orders.is_tagged(NULL), randflake_orders.tagged_id(NULL),
        randflake_orders.make_uuid(NULL, 1)) IS NULL";
    assert_eq!(client.query_first::<bool>(nothing).unwrap(), Some(true));
}

/// At once, for sessions that have used the key, and for no other number.
#[test]
fn a_retired_key_is_refused() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let uuids: Vec<_> = uuids([1, 2]).into_iter().take(20).collect();
    let passed = |client: &mut Client| -> Vec<u8> {
        let passing: Vec<_> = uuids
            .iter()
            .filter(|uuid: &&TaggedUuid| checked(client, uuid.to_bytes()).0 == Some(true))
            .collect();
        passing.iter().map(|uuid| uuid.key_number().get()).collect()
    };
    let each = [1, 2].repeat(10);
    assert_eq!(passed(&mut client), each);
    let retire = "DELETE FROM randflake_orders.`key` WHERE number = 1";
    database.client().query_drop(retire).unwrap();
    assert_eq!(passed(&mut client), [2; 10]);
    let refused = refusal(&mut client, "SELECT randflake_orders.make_uuid(1, 1)");
    assert!(
        refused.contains("no key of number 1: set it with randflake sql key --tagged 1"),
        "{refused}"
    );
    // A number without a key is no warning, and no error where rows are written strictly.
    let unknown = "SELECT randflake_orders.is_tagged(UNHEX('0000000000008000801c1a6d4fa37b6e'))";
    assert_eq!(client.query_first::<bool>(unknown).unwrap(), Some(false));
    let warnings = "SHOW COUNT(*) WARNINGS";
    assert_eq!(client.query_first::<u32>(warnings).unwrap(), Some(0));
    for statement in [
        "CREATE TABLE randflake_orders.answers (passes BOOLEAN NOT NULL)",
        "INSERT INTO randflake_orders.answers
            SELECT randflake_orders.is_tagged(UNHEX('0000000000008000801c1a6d4fa37b6e'))",
    ] {
        client.query_drop(statement).unwrap();
    }
    // A user who still has the secret can have it accepted again.
    database.bring_tag_key(1, &["--namespace", "orders"]).ok();
    assert_eq!(passed(&mut client), each);
}
