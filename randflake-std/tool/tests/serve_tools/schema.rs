//! Requests made from the `OpenAPI` description, by schemathesis: no answer is a failure of the
//! server, and none is other than the description says.

use std::process::Command;
use std::{env, fs};

use crate::server::Server;
use crate::told;

/// The same requests each time, all of them: neither chance nor a slow machine decides. A search
/// for others, of ten minutes, is `cargo xtask deep checkers schemathesis`.
const SAME: [&str; 4] = ["--seed", "1", "--max-examples", "20"];

/// Two requests may choose the same node id, and the second is told to come again. Nothing else may
/// answer so.
const SETTINGS: &str = r#"
[[operations]]
include-name = "POST /v1/leases"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503"]
"#;

#[test]
fn answers_are_those_of_the_description() {
    let server = Server::start();
    // Without a counter each request for its numbers is refused.
    let init = ["segment", "init", "--no-wait"];
    assert!(server.tool().args(init).output().unwrap().status.success());
    let seconds = env::var("RANDFLAKE_SCHEMATHESIS_SECONDS");
    let extent = match &seconds {
        Ok(seconds) => ["--max-time", seconds, "--max-examples", "1000"],
        Err(_) => SAME,
    };
    fs::write(server.path("schemathesis.toml"), SETTINGS).unwrap();
    let output = Command::new(told("RANDFLAKE_SCHEMATHESIS"))
        .args(["run", &format!("http://{}/openapi.json", server.address)])
        .args(extent)
        .args(["--no-color", "--generation-database", "none"])
        // Which node ids, TTLs and ids there are depends on the namespace: a schema cannot say it.
        .args(["--exclude-checks", "positive_data_acceptance"])
        .current_dir(server.path("."))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("Tested: 16"), "{said}");
}
