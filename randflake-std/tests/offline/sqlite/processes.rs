//! Helper processes: this test program, started again in a role.

use std::env;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Place, continuity, crowd, looks};

const ROLE: &str = "SQLITE_TEST_ROLE";
const STORE: &str = "SQLITE_TEST_STORE";
const DETAIL: &str = "SQLITE_TEST_DETAIL";

/// What a process does that [`spawn`] has started; in the tests' own process, nothing.
#[test]
fn role() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let (store, detail) = (env::var(STORE).unwrap(), env::var(DETAIL).unwrap());
    match &*role {
        "acquirer" => crowd::acquirer(Path::new(&store), &detail),
        "holder" => looks::holder(Path::new(&store)),
        "reader" => continuity::reader(Path::new(&store)),
        _ => panic!("{role}"),
    }
}

/// A process that reports on its standard error.
pub(crate) fn spawn(role: &str, place: &Place, detail: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "sqlite::processes::role", "--nocapture"]);
    command
        .env(ROLE, role)
        .env(STORE, place.database())
        .env(DETAIL, detail);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}
