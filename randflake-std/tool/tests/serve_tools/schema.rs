//! Requests made from the `OpenAPI` description, by schemathesis: no answer is a failure of the server, and none is other
//! than the description says.

use std::env;
use std::process::Command;

use crate::server::Server;
use crate::told;

/// In seconds: a longer run is `RANDFLAKE_SCHEMATHESIS_SECONDS=600 cargo xtask serve`.
const LONGEST: &str = "20";

#[test]
fn answers_are_those_of_the_description() {
    let server = Server::start();
    let seconds = env::var("RANDFLAKE_SCHEMATHESIS_SECONDS").unwrap_or_else(|_| LONGEST.to_owned());
    let examples = if seconds == LONGEST { "10" } else { "1000" };
    let output = Command::new(told("RANDFLAKE_SCHEMATHESIS"))
        .args(["run", &format!("http://{}/openapi.json", server.address)])
        .args(["--max-time", &seconds, "--max-examples", examples])
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
    assert!(said.contains("Tested: 15"), "{said}");
}
