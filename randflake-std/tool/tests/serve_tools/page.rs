//! The page for operators in a headless browser: `page.mjs` looks at it.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::server::Server;
use crate::told;

fn look(server: &Server, arguments: &[&str]) {
    look_while(server, arguments, || {});
}

/// Does something when the script asks for it.
fn look_while(server: &Server, arguments: &[&str], act: impl FnOnce()) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve_tools/page.mjs");
    let url = format!("http://{}/", server.address);
    // It reads the rest of the environment itself.
    let mut browser = Command::new(told("RANDFLAKE_NODE"))
        .arg(script)
        .arg(url)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut said, mut act) = (String::new(), Some(act));
    for line in BufReader::new(browser.stdout.take().unwrap()).lines() {
        said += &(line.unwrap() + "\n");
        if said == "act\n"
            && let Some(act) = act.take()
        {
            act();
        }
    }
    let output = browser.wait_with_output().unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.ends_with("all is well\n"), "{said}\n{complained}");
}

#[test]
fn operators_see_and_reach_everything() {
    let server = Server::start();
    look(&server, &["open"]);
}

/// Also what was before the page was opened, on a telephone, and what is known of a store that does
/// not answer.
#[test]
fn a_fleet_its_last_minutes_and_an_outage_are_shown() {
    let server = Server::start();
    let _other = server.replica();
    server
        .post("/v1/leases", r#"{"count":50,"ttl_ms":60000}"#)
        .json(201);
    // Every operation of the store takes this lock.
    let lock = File::open(server.path("state/randflake/leases.db.lock")).unwrap();
    look_while(&server, &["fleet"], || lock.lock().unwrap());
}

#[test]
fn a_token_is_asked_for_and_kept_in_memory_alone() {
    let (server, tokens) = Server::with_tokens(&[["operator", "admin,inspect", "*"]]);
    look(&server, &["token", &tokens[0]]);
}

/// Ids of 53 bits in the engine of a browser, which is what they are for.
#[test]
fn a_page_has_each_bit_of_numbers() {
    let server = Server::start_with(&["--layout", "randflake53"]);
    look(&server, &["numbers"]);
}

/// Tagged UUIDs in the same engine: as text, as bytes, and from a form and its address.
#[test]
fn a_page_has_each_bit_of_tagged_uuids() {
    let server = Server::start();
    look(&server, &["uuids"]);
}

#[test]
fn a_holder_s_name_shows_what_cannot_be_seen() {
    let server = Server::start();
    let mut acquire = server.tool();
    acquire.args([
        "lease",
        "acquire",
        "--holder",
        "app\u{202e}1\u{200b}/ke\u{301}ep",
    ]);
    let output = acquire.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    look(&server, &["holders"]);
}

#[test]
fn a_quarantine_is_shown() {
    let server = Server::start();
    let output = server
        .tool()
        .args(["lease", "quarantine"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    look(&server, &["quarantine"]);
}
