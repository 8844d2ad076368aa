//! Ledgers that are lost, older, copied or of another line.

use std::fs;

use super::Line;

#[test]
fn a_ledger_that_is_not_there_is_not_made() {
    let line = Line::new();
    let said = line.run("device\nd0e5\n", "images", "typo.db").fails(1);
    assert!(
        said.contains("restore it: a new one would give them a second time"),
        "{said}"
    );
    assert!(said.contains("--max-ttl 3660d"), "{said}");
    assert!(!line.user.path("typo.db").exists() && !line.user.path("images").exists());
}

#[test]
fn a_ledger_of_another_line_or_an_older_one_is_refused() {
    let line = Line::new();
    let older = line.user.path("older.db");
    line.make("device\nd0e5\n");
    fs::copy(line.user.path("line.db"), &older).unwrap();
    line.make("device\nd0e6\n");
    // A new one beside the images of the first.
    line.init("second.db");
    let said = line.run("device\nd0e9\n", "images", "second.db").fails(1);
    assert!(said.contains("which the ledger does not know"), "{said}");
    // The backup put back over the newest one.
    for end in ["-wal", "-shm"] {
        drop(fs::remove_file(line.user.path(&format!("line.db{end}"))));
    }
    fs::copy(&older, line.user.path("line.db")).unwrap();
    let said = line.run("device\nd0e9\n", "images", "line.db").fails(1);
    assert!(said.contains("which the ledger does not know"), "{said}");
    // Without the images nothing shows it but the store's own mark.
    let said = line.run("device\nd0e9\n", "empty", "line.db").fails(1);
    assert!(
        said.contains("the ledger may have forgotten devices"),
        "{said}"
    );
    assert!(!line.image("empty", "d0e9").exists());
}

#[test]
fn a_copy_of_the_ledger_gives_nothing() {
    let line = Line::new();
    line.make("device\nd0e5\n");
    // On the second station: another folder, and the original is not there.
    let station = line.user.path("station");
    fs::create_dir(&station).unwrap();
    fs::copy(line.user.path("line.db"), station.join("line.db")).unwrap();
    let answer = line.run("device\nd0e6\n", "other", "station/line.db");
    let said = answer.fails(1);
    assert!(said.contains("line.db"), "{said}");
    assert!(!line.image("other", "d0e6").exists());
    for end in ["", "-wal", "-shm", ".lock"] {
        drop(fs::remove_file(line.user.path(&format!("line.db{end}"))));
    }
    let said = line
        .run("device\nd0e6\n", "other", "station/line.db")
        .fails(1);
    assert!(
        said.contains("it is a copy, or was restored or moved"),
        "{said}"
    );
    assert!(!line.image("other", "d0e6").exists());
}

#[test]
fn what_makes_no_image_leases_no_node_id() {
    let line = Line::new();
    let table = line.user.argument("devices.csv");
    fs::write(&table, "device\nd0e5\n").unwrap();
    for (options, said) in [
        ("--until 2024-11-22", "--until must be after --from"),
        ("--until 2058-01-01", "up to 1100 are allowed"),
        ("--horizon-at 1", "is not where a page"),
        ("--grant-at 0x101fc010", "is over the grant"),
    ] {
        let (name, value) = options.split_once(' ').unwrap();
        let mut command = vec!["lease".to_owned(), "line".to_owned(), table.clone()];
        command.extend(line.arguments("images", "line.db"));
        let place = command
            .iter()
            .position(|argument| argument == name)
            .unwrap();
        command[place + 1] = value.to_owned();
        let told = line.user.run(&command).fails(2);
        assert!(told.contains(said), "{options}: {told}");
    }
    // Another key than the ledger's.
    line.make("device\nd0e6\n");
    fs::remove_file(line.user.path("devices.key")).unwrap();
    let key = line.user.argument("devices.key");
    line.user.run(&["keygen", "--out", &key]).ok();
    let said = line.run("device\nd0e7\n", "images", "line.db").fails(1);
    assert!(said.contains("the secret of check value "), "{said}");
    assert!(!line.image("images", "d0e7").exists());
    let store = line.store("line.db");
    let leases = line
        .user
        .run(&["lease", "list", "--json", "--store", &store])
        .ok();
    assert_eq!(leases.lines().count(), 1);
}
