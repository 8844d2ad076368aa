//! To check, to make and to have the keys are rights of their own.

use crate::mysql::{Database, refusal};

#[test]
fn each_right_is_granted_alone() {
    let (database, mut root) = Database::with_tagged_orders(&[]);
    for (user, rights) in [
        ("checks", &["is_tagged", "tagged_id"][..]),
        ("makes", &["make_uuid"]),
        ("outsider", &[]),
    ] {
        root.query_drop(format!("CREATE USER {user}")).unwrap();
        for right in rights {
            root.query_drop(format!(
                "GRANT EXECUTE ON FUNCTION randflake_orders.{right} TO {user}"
            ))
            .unwrap();
        }
    }
    // Users by the first letter of their names; the others are refused.
    for (statement, users) in [
        ("SELECT randflake_orders.is_tagged(RANDOM_BYTES(16))", "c"),
        ("SELECT randflake_orders.tagged_id(RANDOM_BYTES(16))", "c"),
        ("SELECT randflake_orders.make_uuid(1, 1)", "m"),
        ("SELECT randflake_orders.tag_of(1, 1)", ""),
        ("SELECT randflake_orders.key_checks()", ""),
        ("SELECT * FROM randflake_orders.`key`", ""),
        ("DELETE FROM randflake_orders.`key`", ""),
        ("UPDATE randflake_orders.`key` SET number = 3", ""),
    ] {
        for user in ["checks", "makes", "outsider"] {
            let mut client = database.server.client_as(user, "information_schema");
            if users.contains(&user[..1]) {
                client.query_drop(statement).unwrap();
            } else {
                let refused = refusal(&mut client, statement);
                assert!(refused.contains("denied"), "{user}: {statement}: {refused}");
            }
        }
    }
}
