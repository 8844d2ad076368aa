//! A copy of the tables in another database of the server: refused, because the original may be in
//! use.

use randflake_lease::StoreError;
use randflake_mysql::MysqlStore;

use crate::database::{Database, acquire, assert_quarantined, namespace};

#[test]
fn copied_tables_must_be_declared_moved() {
    let database = Database::new();
    let (mut original, grant) = database.holder();
    let copied = format!("{}_copy", database.name);
    database.do_all(&[&format!("CREATE DATABASE {copied}")]);
    for table in ["randflake_store", "randflake_record"] {
        database.do_all(&[
            &format!("CREATE TABLE {copied}.{table} LIKE {table}"),
            &format!("INSERT INTO {copied}.{table} SELECT * FROM {table}"),
        ]);
    }
    let url = format!("mysql://root@127.0.0.1:{}/{copied}", database.server.port);
    let open = || MysqlStore::open(&url, &namespace()).unwrap();

    let mut copy = open();
    for refused in [
        acquire(&mut copy, 1).unwrap_err(),
        copy.renew(&[grant], crate::database::TTL).unwrap_err(),
        copy.administration().override_quarantine().unwrap_err(),
    ] {
        assert!(
            matches!(refused, StoreError::FailedPrecondition(_)),
            "{refused:?}"
        );
        let said = refused.to_string();
        for part in [
            &*format!("the database {},", database.name),
            &format!("the database {copied}."),
            "randflake lease init --moved",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
    acquire(&mut original, 1).unwrap();

    assert!(copy.administration().declare_moved().unwrap().is_some());
    assert_quarantined(&mut copy);
    assert_quarantined(&mut open());
    // The original is as it was.
    acquire(&mut original, 1).unwrap();
}
