//! `DuckDB`, by its Python package.

use std::fs;
use std::path::Path;
use std::process::Command;

use randflake_std::Cipher;
use randflake_std::lease::KeyCheck;
use serde_json::{Value, json};

use crate::guide;
use crate::samples::{Sample, all};
use crate::user::{KEY, User};

/// Runs the script in a folder with the files that it reads, and returns what it prints. It fails
/// by an exit status.
#[track_caller]
fn python(script: &str, user: &User) -> String {
    python_with(script, user, &[])
}

#[track_caller]
fn python_with(script: &str, user: &User, arguments: &[&str]) -> String {
    let mut command = Command::new(harness::program("RANDFLAKE_DUCKDB_PYTHON"));
    let output = command
        .args(["-c", script])
        .args(arguments)
        .current_dir(user.path(""))
        // The tool's default store, and a time zone that is not that of ids.
        .env("XDG_STATE_HOME", user.path("state"))
        .env("TZ", "Asia/Kolkata")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The scripts of the guide, in a folder with its files.
#[test]
fn the_guide_is_right() {
    let user = User::new();
    let arguments = ["--namespace", "orders", "--layout", "randflake"];
    fs::write(
        user.path("randflake_orders.sql"),
        printed(&user, &arguments),
    )
    .unwrap();
    user.write_key("orders.key", KEY);
    let orders = "order_id,total\n4594531474933654033,7\n1,8\n";
    fs::write(user.path("orders.csv"), orders).unwrap();
    let chapter = guide::duckdb();
    let said = python(&guide::blocks(&chapter, "python").concat(), &user);
    assert!(said.contains("2024-12-09 01:00:00"), "{said}");
    let (_, found) = said.rsplit_once("order_id").unwrap();
    assert!(found.contains("4594531474933654033"), "{said}");
    // What it warns of.
    let plan = "print(db.sql('EXPLAIN SELECT randflake_orders.decrypt(raw) FROM orders').fetchall()[0][1])";
    let whitening =
        "print(db.execute(\"SELECT getvariable('randflake_orders_key').whitening\").fetchone()[0])";
    let script = guide::blocks(&chapter, "python").concat() + plan + "\n" + whitening;
    let said = python(&script, &user);
    let (plan, whitening) = said.trim().rsplit_once('\n').unwrap();
    assert!(plan.contains(whitening), "{said}");
}

fn printed(user: &User, arguments: &[&str]) -> String {
    user.run(&[&["sql", "duckdb"], arguments].concat()).ok()
}

#[test]
fn every_layout_reads_as_in_core() {
    let user = User::new();
    let layouts: Vec<_> = all().iter().map(|sample| expected(&user, sample)).collect();
    fs::write(user.path("layouts.json"), json!(layouts).to_string()).unwrap();
    user.write_key("key", KEY);
    let key53 = user.run_keyed(&["keygen", "--key53"]).ok();
    user.write_key("key53", &key53);
    python(include_str!("duckdb/layouts.py"), &user);
}

/// What core says of the sample.
fn expected(user: &User, sample: &Sample) -> Value {
    let bits = sample.field_bits();
    let rows = sample.raws.iter().zip(sample.ids()).map(|(raw, id)| {
        let parts = sample.codec.inspect(id);
        json!([
            id.to_i64(),
            raw.cast_signed(),
            id.to_string(),
            sample.spec().unix_ms(parts.tick),
            parts.node_id,
            parts.sequence,
            (raw & bits).cast_signed()
        ])
    });
    json!({
        "layout": sample.layout,
        "key": match sample.codec.permutation() {
            None => Value::Null,
            Some(Cipher::Feistel53(_)) => "key53".into(),
            Some(_) => "key".into(),
        },
        "check": KeyCheck::of(sample.codec.permutation()).value().map(|check| format!("{check:08x}")),
        "sql": printed(user, &["--layout", &sample.layout, "--schema", "s"]),
        "rows": rows.collect::<Vec<_>>(),
    })
}

#[test]
fn reference_ids_are_read_and_bad_input_is_refused() {
    let user = User::new();
    let arguments = ["--namespace", "orders", "--layout", "randflake"];
    fs::write(user.path("orders.sql"), printed(&user, &arguments)).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../randflake-core/tests/vectors");
    for file in ["reference.json", "randflake.json"] {
        fs::copy(path.join(file), user.path(file)).unwrap();
    }
    python(include_str!("duckdb/orders.py"), &user);
}

/// Macros with the names of functions that those here call.
#[test]
fn macros_of_an_attached_file_are_not_run() {
    let user = User::new();
    let arguments = ["--namespace", "orders", "--layout", "randflake"];
    fs::write(user.path("orders.sql"), printed(&user, &arguments)).unwrap();
    python(include_str!("duckdb/others.py"), &user);
}

/// The commands and queries of `docs/data.md`, on tables with repeated and missing ids.
#[test]
fn files_are_read_and_written_as_the_guide_says() {
    let user = User::new();
    user.write_key("orders.key", KEY);
    let key = ["--key-file", "orders.key", "--format", "int"];
    let generate = ["generate", "-n", "300", "--namespace", "orders"];
    let ids = user.run(&[&generate[..], &key].concat()).ok();
    fs::write(user.path("ids.txt"), ids).unwrap();
    let compose = "compose --time 2026-10-31T23:30:00Z --node 3 --sequence 5";
    let compose: Vec<_> = compose.split(' ').collect();
    let id = user.run(&[&compose[..], &key].concat()).ok();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data.md");
    fs::copy(guide, user.path("data.md")).unwrap();
    let arguments = [env!("CARGO_BIN_EXE_randflake"), id.trim()];
    python_with(include_str!("duckdb/files.py"), &user, &arguments);
}
