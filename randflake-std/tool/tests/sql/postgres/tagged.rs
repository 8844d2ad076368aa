//! Tagged UUIDs, made, checked and stored as in core.

use core::error::Error;

use postgres::Client;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use randflake_std::{Id, TaggedUuid};

use super::{Database, refusal};
use crate::samples::{forged, ids, secret, tag_key, uuids, vectors};

/// The binary form of the type `uuid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Uuid([u8; 16]);

impl ToSql for Uuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::UUID
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::UUID
    }
}

impl From<TaggedUuid> for Uuid {
    fn from(uuid: TaggedUuid) -> Self {
        Self(uuid.to_bytes())
    }
}

impl Database {
    /// With the schema `randflake_orders` of tagged UUIDs, and the keys of two numbers.
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

fn bigint(count: usize) -> i64 {
    count.try_into().unwrap()
}

/// How many UUIDs pass, by each of both functions.
fn passed(client: &mut Client, uuids: &[Uuid]) -> [i64; 2] {
    let question = "SELECT count(*) FILTER (WHERE randflake_orders.is_tagged(uuid)),
        count(randflake_orders.tagged_id(uuid)) FROM unnest($1::uuid[]) AS of (uuid)";
    let row = client.query_one(question, &[&uuids]).unwrap();
    [row.get(0), row.get(1)]
}

#[test]
fn every_vector_is_made_and_read() {
    let database = Database::start();
    let mut client = database.client();
    for (key, vectors) in vectors() {
        let printed =
            database.printed(&["--namespace", &key.namespace, "--tagged", "--schema", "s"]);
        client.batch_execute(&printed).unwrap();
        let number = key.number.to_string();
        let arguments = ["--namespace", &key.namespace, "--schema", "s"];
        let arguments = [&arguments[..], &["--tagged", &number]].concat();
        database
            .bring_key_of("postgres", &key.secret, &arguments)
            .ok();
        let (ids, uuids): (Vec<i64>, Vec<String>) = vectors
            .into_iter()
            .map(|(id, uuid)| (id.cast_signed(), uuid))
            .unzip();
        let right = "SELECT count(*) FROM unnest($1::bigint[], $2::text[]) AS expected (id, uuid)
            WHERE (s.make_uuid(id, $3)::text, s.tagged_id(uuid::uuid), s.is_tagged(uuid::uuid))
                IS NOT DISTINCT FROM (uuid, id, true)";
        let right = client.query_one(right, &[&ids, &uuids, &i32::from(key.number)]);
        assert_eq!(
            right.unwrap().get::<_, i64>(0),
            bigint(ids.len()),
            "{ids:?}"
        );
        client.batch_execute("DROP SCHEMA s CASCADE").unwrap();
    }
}

/// In text and in binary, there and back.
#[test]
fn a_column_of_uuids_keeps_every_bit() {
    let (_database, mut client) = Database::with_tagged_orders(&[]);
    let mut uuids = uuids([1, 2]);
    let texts: Vec<String> = uuids.iter().map(ToString::to_string).collect();
    let binary: Vec<Uuid> = uuids.iter().copied().map(Uuid::from).collect();
    client
        .batch_execute(
            "CREATE TABLE texts (id uuid PRIMARY KEY); CREATE TABLE bytes (id uuid PRIMARY KEY)",
        )
        .unwrap();
    let insert = "INSERT INTO texts SELECT unnest($1::text[])::uuid";
    client.execute(insert, &[&texts]).unwrap();
    let insert = "INSERT INTO bytes SELECT unnest($1::uuid[])";
    client.execute(insert, &[&binary]).unwrap();
    // The database sorts them as the type does.
    uuids.sort_unstable();
    for table in ["texts", "bytes"] {
        let rows = format!("SELECT id, id::text FROM {table} ORDER BY {table}.id");
        let rows = client.query(&rows, &[]).unwrap();
        let found: Vec<(Uuid, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let expected = uuids
            .iter()
            .map(|uuid| (Uuid::from(*uuid), uuid.to_string()));
        assert_eq!(found, expected.collect::<Vec<_>>());
        let read: Vec<TaggedUuid> = found
            .iter()
            .map(|(_, text)| text.parse().unwrap())
            .collect();
        assert_eq!(read, uuids);
        let checked = format!(
            "SELECT count(*) FROM {table} WHERE randflake_orders.is_tagged(id) AND randflake_orders.make_uuid(
                randflake_orders.tagged_id(id), ('x' || substr(id::text, 20, 4))::bit(16)::int >> 4 & 63) = id"
        );
        let checked: i64 = client.query_one(&checked, &[]).unwrap().get(0);
        assert_eq!(checked, bigint(uuids.len()));
    }
}

#[test]
fn what_no_holder_of_a_key_made_is_refused() {
    let (_database, mut client) = Database::with_tagged_orders(&[]);
    let genuine: Vec<Uuid> = uuids([1, 2]).into_iter().map(Uuid::from).collect();
    let all = bigint(ids().len());
    assert_eq!(passed(&mut client, &genuine), [all, all]);
    let forged = forged();
    assert_eq!(forged.len(), 256 + 7);
    for (why, bytes) in forged {
        assert_eq!(
            passed(&mut client, &[Uuid(bytes)]),
            [0, 0],
            "{why}: {bytes:x?}"
        );
        // NULL is no answer to a question of yes and no.
        let answer = client.query_one("SELECT randflake_orders.is_tagged($1)", &[&Uuid(bytes)]);
        assert_eq!(
            answer.unwrap().get::<_, Option<bool>>(0),
            Some(false),
            "{why}"
        );
    }
    let nothing = "SELECT randflake_orders.is_tagged(NULL) IS NULL AND randflake_orders.tagged_id(NULL) IS NULL
        AND randflake_orders.make_uuid(NULL, 1) IS NULL";
    assert!(client.query_one(nothing, &[]).unwrap().get::<_, bool>(0));
}

/// At once, for sessions that have used the key, and for no other number.
#[test]
fn a_retired_key_is_refused() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let both: Vec<Uuid> = uuids([1, 2]).into_iter().map(Uuid::from).collect();
    let second: Vec<Uuid> = both.iter().copied().skip(1).step_by(2).collect();
    let (all, half) = (bigint(both.len()), bigint(second.len()));
    assert_eq!(passed(&mut client, &both), [all, all]);
    let retire = "DELETE FROM randflake_orders.key WHERE number = 1";
    assert_eq!(database.client().execute(retire, &[]).unwrap(), 1);
    assert_eq!(passed(&mut client, &both), [half, half]);
    assert_eq!(passed(&mut client, &second), [half, half]);
    assert_eq!(
        refusal(&mut client, "SELECT randflake_orders.make_uuid(1, 1)"),
        "no key of number 1: the schema randflake_orders has those of 2"
    );
    // A user who still has the secret can have it accepted again.
    database.bring_tag_key(1, &["--namespace", "orders"]).ok();
    assert_eq!(passed(&mut client, &both), [all, all]);
}

/// The namespace's ids are read by another schema, which has the secret of the number.
#[test]
fn ids_of_uuids_are_read_with_their_numbers_secret() {
    let (database, mut client) = Database::with_tagged_orders(&[]);
    let arguments = "--namespace orders --layout randflake --schema ids_1";
    let arguments: Vec<_> = arguments.split(' ').collect();
    client.batch_execute(&database.printed(&arguments)).unwrap();
    let arguments = ["--namespace", "orders", "--schema", "ids_1"];
    let key = secret(1);
    database
        .bring_key_of("postgres", &key.to_hex(), &arguments)
        .ok();
    let raw = 63_673_697_622_556_673;
    let uuid = tag_key(1).tag(Id::from_u64(key.cipher().encrypt_u64(raw)));
    let question = "SELECT ids_1.decrypt(randflake_orders.tagged_id($1)), ids_1.id_node(randflake_orders.tagged_id($1))";
    let row = client.query_one(question, &[&Uuid::from(uuid)]).unwrap();
    assert_eq!((row.get(0), row.get(1)), (raw.cast_signed(), 42_i64));
}
