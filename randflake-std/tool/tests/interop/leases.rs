//! A Python process that leases node ids through the tool, beside a handle of this library.

use std::collections::HashSet;
use std::process::{Command, Stdio};

use randflake_std::lease::{Namespace, SqliteStore};
use randflake_std::{Handle, Id, Randflake, Secret};
use serde_json::Value;

use crate::peer::Random;
use crate::peer::python;

/// Of each node id, before and after the renewal.
const IDS: usize = 1_000;

#[test]
fn python_issues_under_the_tools_leases() {
    let secret = Random::new().secret();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases.db");
    let store = format!("sqlite:{}", path.display());
    let namespace = Namespace::new("default", Randflake).unwrap();
    let leases = SqliteStore::open(&path, &namespace).unwrap();
    let handle = Handle::builder(&Secret::from_hex(&secret.hex).unwrap(), leases)
        .build()
        .unwrap();

    let python = Command::new(python())
        .args(["-c", include_str!("leases.py")])
        .args([
            env!("CARGO_BIN_EXE_randflake"),
            &store,
            &secret.hex,
            &IDS.to_string(),
        ])
        .env("RANDFLAKE_KEY", &secret.hex)
        .env("HOME", folder.path())
        .env_remove("RANDFLAKE_STORE")
        .env_remove("RANDFLAKE_NAMESPACE")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ids = HashSet::new();
    while ids.len() < 4 * IDS {
        ids.extend(handle.generate());
    }
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();

    let list = |name: &str| told[name]["leases"].as_array().unwrap().clone();
    let (taken, renewed) = (list("taken"), list("renewed"));
    assert_eq!((taken.len(), renewed.len()), (2, 2));
    let theirs = told["ids"].as_array().unwrap();
    assert_eq!(theirs.len(), 4 * IDS);
    for (index, id) in theirs.iter().enumerate() {
        let id = Id::from_i64(id.as_i64().unwrap());
        let parts = secret.codec.inspect(id);
        // In turns, and within the lease of then.
        let leases = if index < 2 * IDS { &taken } else { &renewed };
        let lease = &leases[index % 2];
        let number = |name: &str| lease[name].as_u64().unwrap();
        assert_eq!(u64::from(parts.node_id), number("node"));
        assert!((number("start_tick")..number("end_tick")).contains(&parts.tick));
        assert!(ids.insert(id), "{id} was issued twice");
    }
    // A node id that both have had would not show that ids are unique.
    let ours = handle.lease().leases[0].node_id();
    assert!(taken.iter().all(|lease| lease["node"] != ours));
}
