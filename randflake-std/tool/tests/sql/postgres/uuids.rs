//! The UUID form of ids in PostgreSQL's own type.

use randflake_std::Id;

use super::Database;
use crate::layouts::all;

/// Texts that the server reads and writes otherwise, or has other bytes for, or takes for another version or variant.
const OTHERS: &str = "
    SELECT count(*) FROM unnest($1::text[], $2::bytea[]) AS expected (text, bytes)
    WHERE (text::uuid::text, uuid_send(text::uuid), substr(text::uuid::text, 15, 1), substr(text::uuid::text, 20, 1) ~ '[89ab]')
        IS DISTINCT FROM (text, bytes, '8', true)";

#[test]
fn the_server_takes_our_uuids_for_uuids_of_version_8() {
    let database = Database::start();
    let mut client = database.client();
    let sample = all().swap_remove(0);
    let ids: Vec<Id> = sample.raws.iter().copied().map(Id::from_u64).collect();
    let ints: Vec<_> = ids.iter().map(|id| id.to_i64().to_string()).collect();
    let convert = |from, to, lines: &[String]| -> Vec<String> {
        let arguments = ["convert", "--from", from, "--to", to];
        let printed = database
            .user
            .run_on((lines.join("\n") + "\n").as_bytes(), &arguments)
            .ok();
        printed.lines().map(str::to_owned).collect()
    };
    let texts = convert("int", "uuid", &ints);
    let bytes: Vec<_> = ids.iter().map(|id| id.to_uuid_bytes().to_vec()).collect();
    assert_eq!((texts.len(), bytes.len()), (ids.len(), ids.len()));
    let others: i64 = client.query_one(OTHERS, &[&texts, &bytes]).unwrap().get(0);
    assert_eq!(others, 0);
    // `uuid_extract_version` is there since version 17.
    let is_new: bool = client
        .query_one(
            "SELECT current_setting('server_version_num')::int >= 170000",
            &[],
        )
        .unwrap()
        .get(0);
    if is_new {
        let others = "SELECT count(*) FROM unnest($1::text[]) AS text
            WHERE uuid_extract_version(text::uuid) IS DISTINCT FROM 8";
        let others: i64 = client.query_one(others, &[&texts]).unwrap().get(0);
        assert_eq!(others, 0);
    }
    // What the server writes is read back.
    let written = "SELECT text::uuid::text FROM unnest($1::text[]) WITH ORDINALITY AS of (text, place) ORDER BY place";
    let written = client.query(written, &[&texts]).unwrap();
    let written: Vec<String> = written.iter().map(|row| row.get(0)).collect();
    assert_eq!(convert("uuid", "int", &written), ints);
}
