//! Standard error on a full disk: what cannot be said changes neither what is done nor the exit
//! status.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::user::{KEY, User, words};

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[track_caller]
fn ends(mut command: Command, status: i32) {
    let ended = command.stderr(full()).output().unwrap();
    assert_eq!(ended.status.code(), Some(status), "{command:?}");
}

#[test]
fn a_message_that_cannot_be_written_leaves_the_exit_status() {
    let user = User::new();
    let mut wrong = user.command(&["inspect", "zzz"]);
    wrong.env("RANDFLAKE_KEY", KEY);
    ends(wrong, 2);
    ends(user.command(&["generate", "--nothing"]), 2);
    ends(user.command(&["lease"]), 2);
    ends(
        user.command(&["generate", "--store", "redis://127.0.0.1:1"]),
        1,
    );
    // It makes a secret, and says where.
    ends(user.command(&["generate"]), 0);
    // It says that there are none, and all is well.
    ends(user.command(&["lease", "list"]), 0);
    std::fs::write(user.path("rows"), "id\nzzz\n").unwrap();
    let column = "convert --csv --column id --to int --on-error empty";
    let mut bad_rows = user.command(&words(column));
    bad_rows.stdin(File::open(user.path("rows")).unwrap());
    ends(bad_rows, 5);
}

#[test]
fn output_and_messages_on_a_full_disk_are_a_failure() {
    let user = User::new();
    let mut command = user.command(&["convert", "1", "--from", "int", "--to", "text"]);
    let ended = command
        .stdout(full())
        .stderr(Stdio::from(full()))
        .status()
        .unwrap();
    assert_eq!(ended.code(), Some(1));
}
