//! Ids that the database makes.

use postgres::Client;
use randflake_std::Secret;

use super::{Database, refusal};
use crate::user::KEY;

#[test]
fn ids_are_those_of_an_encrypted_segment() {
    let database = Database::start();
    let mut client = database.install(&["--namespace", "invoices", "--counter"]);
    client
        .batch_execute("CREATE ROLE app LOGIN; GRANT CREATE ON SCHEMA public TO app")
        .unwrap();
    let next = "SELECT randflake_invoices.next_id('invoices')";
    // Without a key no number is used up.
    let refused = refusal(&mut client, next);
    assert_eq!(refused, "no key: the schema randflake_invoices has none");
    database.bring_key("invoices").ok();
    // By default, under a role that has no other right.
    client
        .batch_execute(
            "GRANT USAGE ON SCHEMA randflake_invoices TO app;
             GRANT EXECUTE ON FUNCTION randflake_invoices.next_id TO app",
        )
        .unwrap();
    let mut app = database.client_of("app");
    app.batch_execute("CREATE TABLE invoices (id bigint PRIMARY KEY DEFAULT randflake_invoices.next_id('invoices'), note text)").unwrap();
    let sql = "INSERT INTO invoices (note) SELECT 'n' FROM generate_series(1, 100) RETURNING id";
    let ids: Vec<i64> = app
        .query(sql, &[])
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    // What `SegmentsBuilder::encrypted` makes of 1, 2, 3 and so on, and the tool with it.
    let cipher = Secret::from_hex(KEY).unwrap().cipher();
    let expected: Vec<i64> = (1..=100)
        .map(|number| cipher.encrypt_u64(number).cast_signed())
        .collect();
    assert_eq!(ids, expected);
    database.user.begin_counter(&[]);
    let arguments = ["segment", "--encrypt", "--format", "int", "-n", "100"];
    let issued = database.user.run_keyed(&arguments).ok();
    let issued: Vec<i64> = issued.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ids, issued);

    for statement in [
        "SELECT randflake_invoices.encrypt(1)",
        "SELECT randflake_invoices.decrypt(1)",
        "SELECT nextval('randflake_invoices.number')",
        "SELECT last_value FROM randflake_invoices.number",
    ] {
        let refused = refusal(&mut app, statement);
        assert!(refused.starts_with("permission denied for"), "{refused}");
    }
    // Who reads all data sees how many there are.
    client
        .batch_execute("CREATE ROLE reads LOGIN; GRANT pg_read_all_data TO reads")
        .unwrap();
    let mut reads = database.client_of("reads");
    let count = "SELECT last_value FROM randflake_invoices.number";
    let count = reads.query_one(count, &[]).unwrap();
    assert_eq!(count.get::<_, i64>(0), 100);
    for name in ["'orders'", "NULL", "'Invoices'"] {
        let refused = refusal(
            &mut app,
            &format!("SELECT randflake_invoices.next_id({name})"),
        );
        assert_eq!(
            refused,
            format!("next_id({name}): the counter of this schema is 'invoices'")
        );
    }
    client
        .batch_execute("SELECT setval('randflake_invoices.number', 9223372036854775806)")
        .unwrap();
    let refused = refusal(&mut app, next);
    assert!(
        refused.starts_with("nextval: reached maximum value of sequence"),
        "{refused}"
    );
}

/// As the guide says it: what a backup has not would be issued again, so somebody says where to go on.
#[test]
fn a_restored_counter_waits_until_it_is_resumed() {
    let database = Database::start();
    let mut client = database.install(&["--namespace", "invoices", "--counter"]);
    database.bring_key("invoices").ok();
    let insert = "INSERT INTO invoices DEFAULT VALUES RETURNING id";
    let check = "SELECT max(randflake_invoices.decrypt(id)) <= (SELECT last_value FROM randflake_invoices.number) FROM invoices";
    let next = |client: &mut Client| client.query_one(insert, &[]).unwrap().get::<_, i64>(0);
    let is_not_behind =
        |client: &mut Client| client.query_one(check, &[]).unwrap().get::<_, bool>(0);
    client
        .batch_execute("CREATE TABLE invoices (id bigint PRIMARY KEY DEFAULT randflake_invoices.next_id('invoices'))")
        .unwrap();
    next(&mut client);
    assert!(is_not_behind(&mut client));
    let backup = database.dump(&[]);
    let after_it = [0; 3].map(|_| next(&mut client));

    let mut copy = database.restore(&backup, "copy");
    let elsewhere = "the counter of the schema randflake_invoices was last used in another database, or before a dump was restored \
                     It may be behind ids that have left.";
    assert_eq!(refusal(&mut copy, insert), elsewhere);
    for number in ["1", "0", "-5", "NULL"] {
        let resume = format!("SELECT randflake_invoices.resume({number})");
        let refused = refusal(&mut copy, &resume);
        let said = format!("resume({number}): numbers up to 1 were used or skipped here");
        assert_eq!(refused, said);
    }
    assert_eq!(refusal(&mut copy, insert), elsewhere);
    copy.batch_execute("SELECT randflake_invoices.resume(1000001)")
        .unwrap();
    let refused = refusal(&mut copy, "SELECT randflake_invoices.resume(5)");
    assert_eq!(
        refused,
        "resume(5): numbers up to 1000000 were used or skipped here"
    );
    assert!(!after_it.contains(&next(&mut copy)));
    assert!(is_not_behind(&mut copy));
    copy.batch_execute("SELECT setval('randflake_invoices.number', 1)")
        .unwrap();
    assert!(!is_not_behind(&mut copy));

    // In the place of the schema that was dumped.
    client
        .batch_execute("DROP SCHEMA randflake_invoices CASCADE; DROP TABLE invoices")
        .unwrap();
    database.run_script(&backup, "postgres");
    assert_eq!(refusal(&mut database.client(), insert), elsewhere);
}
