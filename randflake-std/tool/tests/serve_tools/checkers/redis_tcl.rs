//! Redis' own tests in Tcl, of a source package of `PyPI` that has Redis' sources, with the server
//! in place of Redis. What they ask for that is not here is left out by a list of reasons.

use std::path::Path;
use std::process::Command;

use super::{free_port, list};
use crate::server::Server;
use crate::told;

/// Fewer would be another version, or tests that are left out by mistake.
const LEAST: usize = 17;

#[test]
fn its_tests_pass_where_they_apply() {
    assert!(list(include_str!("redis_tcl.txt")).count() > 20);
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve_tools/checkers");
    // One of the tests goes up to the limit of clients, which it expects to be this one.
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let server = Server::start_with(&["--resp", &address, "--max-connections", "10"]);
    let output = Command::new(told("RANDFLAKE_TCLSH"))
        .arg(home.join("redis_tcl.tcl"))
        .args(["127.0.0.1", &port.to_string()])
        .arg(home.join("redis_tcl.txt"))
        .current_dir(told("RANDFLAKE_REDIS_SOURCE"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let checked = said.lines().filter(|line| line.starts_with("checked: "));
    let mut passed = 0;
    for line in checked {
        println!("{line}");
        passed = line.split(' ').nth(1).unwrap().parse().unwrap();
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    assert!(passed >= LEAST, "{passed} passed: {said}");
    assert_eq!(server.get("/healthz").status, 200);
}
