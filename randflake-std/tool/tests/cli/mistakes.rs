//! What new users do wrong, each with what helps them

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::user::{KEY, User, words};

/// Commands, and what must be said: the whole line, or a part of it after an ellipsis.
#[track_caller]
fn assert_helped(lines: &[(&[&str], &str)]) {
    let user = User::without_store();
    for (line, said) in lines {
        let told = user.run_keyed(line).fails(2);
        match said.strip_prefix("...") {
            Some(part) => assert!(told.contains(part), "{line:?}: {told}"),
            None => assert_eq!(told, *said, "{line:?}"),
        }
    }
    assert!(!user.path("state").exists());
}

#[test]
fn an_id_in_another_form_names_the_option_that_reads_it() {
    for (from, value, option) in [
        (
            "text",
            "4594531474933654033",
            "a signed number needs --from int",
        ),
        ("text", "-1", "a signed number needs --from int"),
        (
            "text",
            "18446744073709551615",
            "an unsigned number needs --from uint",
        ),
        ("text", "0x1f", "a hexadecimal number needs --from hex"),
        (
            "text",
            "01234567-89ab-8cde-bc00-000000000000",
            "a UUID needs --from uuid",
        ),
        ("int", "3vgoe12ccb8gh", "a text id needs --from text"),
        ("uint", "3vgoe12ccb8gh", "a text id needs --from text"),
        ("hex", "3vgoe12ccb8gh", "a text id needs --from text"),
        ("uuid", "3vgoe12ccb8gh", "a text id needs --from text"),
        ("base58", "0vg", "..."),
    ] {
        for command in [&["inspect"][..], &["convert", "--to", "int"]] {
            let line = [command, &["--from", from, "--", value]].concat();
            let said = User::new().run_keyed(&line).fails(2);
            let option = option.trim_start_matches("...");
            assert!(said.starts_with(&format!("{value:?}: ")), "{said}");
            assert!(said.ends_with(option), "{from} {value}: {said}");
        }
    }
}

#[test]
fn an_id_with_something_around_it_says_what_to_remove() {
    let quotes = "...; quotes and commas are not allowed: remove them";
    assert_helped(&[
        (&["inspect", "\"3vgoe12ccb8gh\""], quotes),
        (&["inspect", "3vgoe12ccb8gh,"], quotes),
        (&["inspect", "--from", "int", "'1'"], quotes),
        (
            &["inspect", "{\"text\":\"3vgoe12ccb8gh\"}"],
            "...; of JSON only the id is allowed, as `jq -r .text` prints it",
        ),
        (
            &["inspect", "3vgoe12ccb8gh 3vgoe12ccb8gh"],
            "...; each id needs a line of its own",
        ),
        (
            &["inspect", "3VGOE12CCB8GH"],
            "\"3VGOE12CCB8GH\": 'V', character 2, is not a digit: 0-9 and a-v are allowed; \
             a text id has lower-case letters only",
        ),
        (
            &["inspect", "3vgoÃ"],
            "\"3vgoÃ\": character 5 is 'Ã' (U+00C3): ids are written in ASCII",
        ),
    ]);
    let user = User::without_store();
    fs::write(user.path("ids.txt"), "3vgoe12ccb8gh\n").unwrap();
    let said = user.run_keyed(&["inspect", "ids.txt"]).fails(2);
    assert!(
        said.ends_with("; to read ids from this file, write < ids.txt"),
        "{said}"
    );
}

#[test]
fn an_input_in_another_encoding_is_recognised() {
    let user = User::new();
    for (input, said) in [
        (
            &b"\xef\xbb\xbf3vgoe12ccb8gh\n"[..],
            "line 1: \"\\u{feff}3vgoe12ccb8gh\": a byte order mark (U+FEFF) stands before it: save the file as \
             UTF-8 without one, or remove it, as `sed '1s/^\\xEF\\xBB\\xBF//'` does",
        ),
        (
            b"\xff\xfe3\0v\0\r\0\n\0",
            "line 1: the input is UTF-16, as Windows PowerShell writes it: UTF-8 is allowed (Out-File -Encoding ascii)",
        ),
        (
            b"3\0v\0\r\0\n\0",
            "line 1: \"3\\0v\\0\\r\\0\": character 2 is a zero byte, as in UTF-16: UTF-8 is allowed",
        ),
        (
            b"v\n3vg\xe9o\n",
            "line 2: byte 4 is 0xe9, which is not UTF-8: ids are written in ASCII",
        ),
    ] {
        for command in ["inspect", "convert --to int"] {
            let told = user.run_on(input, &words(command)).fails(2);
            assert_eq!(told, said);
        }
    }
}

#[test]
fn an_epoch_is_a_date_or_milliseconds() {
    let user = User::new();
    let told = |epoch: &str| {
        let layout = format!("sonyflake@{epoch}/10");
        let line = [
            "inspect",
            "--layout",
            &layout,
            "--from",
            "int",
            "1234567890123",
        ];
        user.run(&line).ok()
    };
    assert_eq!(told("2025-01-01"), told("1735689600000"));
    assert_eq!(told("2025-01-01T00:00:00Z"), told("1735689600000"));
    let compose = |time: &str| {
        let line = ["compose", "--time", time, "--node", "42", "--sequence", "1"];
        user.run_keyed(&line).ok()
    };
    assert_eq!(compose("2024-12-09T01:04:57Z"), compose("1733706297"));
    assert_eq!(compose("2024-12-09T01:04:57Z"), "3vgoe12ccb8gh\n");
}

#[test]
fn an_option_without_meaning_is_refused() {
    assert_helped(&[
        (
            &["generate", "--layout", "mastodon", "--node-id", "0"],
            "invalid value '0' for '--node-id <N>': the layout has no node id: leave the option out",
        ),
        (
            &["segment", "--key-file", "secret.key"],
            "--key-file: only --encrypt takes a secret",
        ),
        (
            &["convert", "--to", "int", "--key-file", "secret.key", "v"],
            "--key-file: only --encrypt and --decrypt take a secret",
        ),
        (
            &["keygen", "--key-file", "secret.key"],
            "--key-file: only --derive and --key53 take a secret",
        ),
    ]);
    let compose = words("compose --layout mastodon --time 1733706297 --sequence 1 --format int");
    assert_eq!(User::new().run(&compose).ok(), "113620175880192001\n");
}

#[test]
fn a_number_in_another_shape_says_which_is_allowed() {
    let digits = "0 to 18446744073709551615 are allowed, in digits only";
    let nodes = "a number from 1 to 131072 is allowed, or a range such as 1..=8";
    for count in ["x", "1e6", "1_000", "1,000", "0x10", "1.5"] {
        assert_helped(&[(
            &["generate", "-n", count],
            &format!("invalid value '{count}' for '--count <N>': {digits}"),
        )]);
    }
    for range in ["1-8", "1..8", "1:8", "1,8", "abc"] {
        assert_helped(&[(
            &["generate", "--node-ids", range],
            &format!("invalid value '{range}' for '--node-ids <K>': {nodes}"),
        )]);
    }
    assert_helped(&[
        (
            &["generate", "5"],
            "unexpected argument '5' found; usage: randflake generate [OPTIONS]; tip: to make 5, write -n 5",
        ),
        (&["segment", "5"], "...; tip: to make 5, write -n 5"),
        (
            &["lease", "acquire", "--holder", ""],
            "--holder \"\": it must have a character, and not begin with device/, which is for `randflake lease ticket`",
        ),
        (
            &words("compose --time 1733706297000 --node 1 --sequence 1"),
            "...2803741823 (2058-11-05T17:10:23Z) are allowed; it looks like milliseconds",
        ),
        (
            &words("compose --time 1733706297 --sequence 1"),
            "--node <N> is missing: 0 to 131071 are allowed",
        ),
        (
            &words("compose --time 1733706297 --node 1,2 --sequence 1"),
            "...the layout's node id has no parts: one number is allowed",
        ),
        (
            &words("compose --layout snowflake --time 1733706297 --node 1,2,3 --sequence 1"),
            "...a value for each part is needed: datacenter,worker",
        ),
        (
            &words("compose --layout snowflake --time 1733706297 --node 1,a --sequence 1"),
            "...'a' is not a number",
        ),
    ]);
}

#[test]
fn a_secret_in_place_of_a_file_s_name_is_not_shown() {
    let user = User::new();
    let said = user.run(&["generate", "--key-file", KEY]).fails(2);
    assert!(
        said.starts_with(
            "the name of a secret's file is asked for, not the secret itself: write it to a file of mode 0600, or set \
             RANDFLAKE_KEY to it"
        ),
        "{said}"
    );
    assert!(!said.contains(KEY));
}

#[test]
fn what_is_refused_at_once_makes_no_secret() {
    let user = User::without_store();
    for mistake in ["--namespace Orders", "--ttl 5m", "--node-id -1"] {
        user.run(&words(&format!("generate {mistake}"))).fails(2);
        assert!(!user.path("state").exists(), "{mistake}");
    }
    let empty = [("RANDFLAKE_STORE", "")];
    let said = user.run_in(&empty, &["generate"]).fails(2);
    assert!(
        said.contains("RANDFLAKE_STORE is given, and empty"),
        "{said}"
    );
    assert!(!user.path("state").exists());
}

/// A named pipe would be waited for, and a device has no end.
#[test]
fn what_is_no_regular_file_is_no_secret() {
    use std::os::unix::net::UnixListener;

    let user = User::new();
    let _socket = UnixListener::bind(user.path("socket")).unwrap();
    let pipe = Command::new("mkfifo").arg(user.path("pipe")).status();
    assert!(pipe.unwrap().success());
    symlink("pipe", user.path("link")).unwrap();
    for path in [".", "/dev/zero", "socket", "pipe", "link"] {
        let said = user.run(&["generate", "--key-file", path]).fails(1);
        assert_eq!(
            said,
            format!(
                "secret file: {path} is not a regular file, but a directory, a named pipe, a socket or a device: give the \
                 path of a file"
            )
        );
    }
}

#[test]
fn a_layout_whose_time_is_up_is_read_and_not_issued() {
    let user = User::without_store();
    for command in [
        "generate --layout baidu",
        "generate --layout encrypted:baidu",
    ] {
        let said = user.run_keyed(&words(command)).fails(1);
        let layout = command.rsplit(' ').next().unwrap();
        assert!(
            said.starts_with("ids of this layout have times from 2016-05-19T16:00:00Z to 2024-11-20T13:24:15Z, and it is "),
            "{said}"
        );
        let (_, advice) = said.split_once("another epoch, such as --layout ").unwrap();
        let (advised, rest) = advice.split_once(", or in another layout").unwrap();
        assert!(advised.starts_with(&format!("{layout}@")) && rest.ends_with("can still be read"));
        assert!(!user.path("state").exists());
        // The advice helps.
        let advised = user.run_keyed(&["generate", "--layout", advised]);
        advised.in_new_store().ok();
        fs::remove_dir_all(user.path("state")).unwrap();
    }
    let compose =
        words("compose --layout baidu --time 2020-01-01 --node 7 --sequence 3 --format int");
    let id = user.run(&compose).ok();
    let told = user.run(&["inspect", "--layout", "baidu", "--from", "int", id.trim()]);
    assert!(told.ok().contains("2020-01-01T00:00:00Z"));
}
