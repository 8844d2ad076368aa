//! The benchmark goes through all of its cases, and draws them.

use std::fs;
use std::process::Command;

#[test]
fn all_cases_run_and_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut peers = Command::new(env!("CARGO_BIN_EXE_peers"));
    peers.args(["--rounds", "0", "--caption", "once", "--json"]);
    peers.arg(path("json")).arg("--svg").arg(path("svg"));
    let output = peers.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let figures = fs::read_to_string(path("json")).unwrap();
    let ours = figures.lines().filter(|line| line.contains("randflake"));
    assert!(ours.count() > 10, "{figures}");
    assert!(
        fs::read_to_string(path("svg"))
            .unwrap()
            .ends_with("</svg>\n")
    );
}
