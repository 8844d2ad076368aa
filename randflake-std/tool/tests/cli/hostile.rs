//! What others wrote, and what must not be shown: URLs with passwords, holders, endless lines.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Stdio;

use randflake_std::rules::{NodeRecord, VERSION};
use serde_json::Value;

use crate::user::{Answer, KEY, User, objects, words};

/// Refused where the password would end the host; hidden where it is encoded.
const URLS: [&str; 7] = [
    "postgres://me_too:hun/ter2@127.0.0.1:1/ids",
    "etcd://me_too:hun?ter2@127.0.0.1:1",
    "redis://:hun#ter2@127.0.0.1:1",
    "mysql://me_too:hunter2@127.0.0.1:1/ids?danger_accept_invalid_certs=hunter2",
    "postgres://me_too:hun%2Fter2@127.0.0.1:1/ids",
    "rediss://me_too:hun%3Fter2@127.0.0.1:1/0?sslcert=hunter2",
    "me_too:hunter2@127.0.0.1",
];

const COMMANDS: [&str; 10] = [
    "lease status --json",
    "lease status",
    "lease list",
    "lease quarantine",
    "lease init",
    "segment status",
    "doctor",
    "doctor --json",
    "generate",
    "lease ticket --device 1",
];

#[track_caller]
fn shows_no_password(answer: &Answer, what: &str) {
    for shown in [&answer.stdout, &answer.stderr] {
        for secret in ["hun", "ter2", "me_too"] {
            assert!(!shown.contains(secret), "{what}: {answer:?}");
        }
    }
}

#[test]
fn no_command_shows_a_password() {
    let user = User::new();
    let keys = [
        ("RANDFLAKE_KEY", KEY),
        ("RANDFLAKE_TICKET_KEY", "00112233445566778899aabbccddeeff"),
    ];
    for url in URLS {
        for line in COMMANDS {
            let what = format!("{line} {url}");
            let given = user.run_in(&keys, &[&words(line)[..], &["--store", url]].concat());
            shows_no_password(&given, &what);
            assert_ne!(given.status, Some(0), "{what}");
            let set = [&keys[..], &[("RANDFLAKE_STORE", url)]].concat();
            let set = user.run_in(&set, &words(line));
            shows_no_password(&set, &what);
            assert_eq!(set.status, given.status, "{what}");
        }
    }
}

#[test]
fn a_url_in_the_wrong_place_is_not_shown() {
    let user = User::new();
    let url = "postgres://me_too:hunter2@host/ids";
    for line in [
        "lease status",
        "doctor",
        "lease list --json=",
        "generate -n",
        "lease ticket --device",
    ] {
        let mut line: Vec<_> = words(line).into_iter().map(str::to_owned).collect();
        match line.pop_if(|last| last.ends_with('=')) {
            Some(last) => line.push(last + url),
            None => line.push(url.to_owned()),
        }
        let answer = user.run(&line);
        shows_no_password(&answer, &line.join(" "));
        assert!(answer.fails(2).contains("postgres://..."));
    }
}

#[test]
fn what_a_password_ends_early_is_said() {
    let said = User::new()
        .run(&["lease", "status", "--store", URLS[0]])
        .fails(2);
    assert!(
        said.contains("write %2F, %3F and %23 in user and password"),
        "{said}"
    );
    let said = User::new().run(&["doctor", "--store", URLS[3]]);
    assert!(
        said.stdout.contains(
            "the option \"danger_accept_invalid_certs\": the allowed options are sslmode"
        ),
        "{said:?}"
    );
}

/// Gives a name to the holders of all leases.
fn name_holders(database: &Path, name: &str) {
    let connection = rusqlite::Connection::open(database).unwrap();
    let select = "SELECT number, value FROM record WHERE kind = 2";
    let mut statement = connection.prepare(select).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let texts: Vec<(u32, String)> = rows.unwrap().map(Result::unwrap).collect();
    for (node_id, text) in texts {
        let record = NodeRecord {
            holder: name.to_owned(),
            held: true,
            ..NodeRecord::from_text(node_id, &text, VERSION).unwrap()
        };
        let update = "UPDATE record SET value = ?1 WHERE kind = 2 AND number = ?2";
        let changed = connection.execute(update, (record.to_text(), node_id));
        assert_eq!(changed.unwrap(), 1);
    }
}

#[test]
fn a_holder_s_name_cannot_forge_the_list() {
    const NAME: &str = "x\n7       2026-01-01T00:00:00Z  \u{1b}[2J\u{9b}2J\u{202e}\r\u{7f}";
    let user = User::new();
    user.run_keyed(&["generate"]).ok();
    let mut endless = user.endless(&[]);
    endless.read(1);
    name_holders(&user.state("leases.db"), NAME);
    let list = user.run(&["lease", "list", "--all"]).ok();
    let rows = user
        .run(&["lease", "list", "--all", "--json"])
        .ok()
        .lines()
        .count();
    assert_eq!(list.lines().count(), rows + 1, "{list}");
    assert!(list.contains("x\\n7  "), "{list}");
    // The last to end: the one that was released first lives to the end of its second.
    let live = objects(&user.run(&["lease", "list", "--json"]).ok());
    let end = |lease: &&Value| lease["end_unix_ms"].as_u64();
    let held = live.iter().max_by_key(end).unwrap();
    let answer = user.run(&["lease", "release", &held["node"].to_string()]);
    assert!(answer.stderr.contains("is leased by x\\n7  "), "{answer:?}");
    for shown in [list, answer.fails(1)] {
        let is_visible =
            |c: char| c == '\n' || c.escape_debug().count() == 1 || "'\"\\".contains(c);
        assert!(shown.chars().all(is_visible), "{shown:?}");
    }
    endless.kill();
}

#[test]
fn ids_and_tickets_do_not_share_a_key() {
    let user = User::new();
    user.run(&["keygen", "--out", "ids.key"]).ok();
    let ids = std::fs::read_to_string(user.path("ids.key")).unwrap();
    let ticket = ["lease", "ticket", "--device", "1"];
    let file = ["--ticket-key-file", "ids.key"];
    let refused = [
        user.run_in(&[("RANDFLAKE_KEY", &ids)], &[&ticket[..], &file].concat()),
        user.run(&[&ticket[..], &file, &["--key-file", "ids.key"]].concat()),
        user.run_in(
            &[("RANDFLAKE_TICKET_KEY", &ids)],
            &[&ticket[..], &["--key-file", "ids.key"]].concat(),
        ),
        user.run_in(
            &[("RANDFLAKE_TICKET_KEY", &ids), ("RANDFLAKE_KEY", &ids)],
            &["generate"],
        ),
        user.run_in(
            &[("RANDFLAKE_TICKET_KEY", &ids)],
            &["inspect", "--key-file", "ids.key", "3vgoe12ccb8gh"],
        ),
    ];
    for answer in refused {
        let said = answer.fails(1);
        assert!(
            said.starts_with("the key of tickets is the secret of ids"),
            "{said}"
        );
    }
    // Nor the key of 53-bit ids.
    let key53 = [
        "keygen",
        "--key53",
        "--key-file",
        "ids.key",
        "--out",
        "ids53.key",
    ];
    user.run(&key53).ok();
    let options = ["--ticket-key-file", "ids53.key", "--key-file", "ids.key"];
    let said = user.run(&[&ticket[..], &options].concat()).fails(1);
    assert!(said.starts_with("the key of tickets"), "{said}");
    // That of the state directory, which `generate` makes.
    assert_eq!(user.run(&["generate"]).status, Some(0));
    let own = user.state("key");
    let own = [&ticket[..], &["--ticket-key-file", own.to_str().unwrap()]].concat();
    assert!(user.run(&own).fails(1).contains("the key of tickets"));
    let doctor = user.run_in(
        &[("RANDFLAKE_TICKET_KEY", &ids)],
        &["doctor", "--key-file", "ids.key"],
    );
    let told = objects(
        &user
            .run_in(
                &[("RANDFLAKE_TICKET_KEY", &ids)],
                &["doctor", "--json", "--key-file", "ids.key"],
            )
            .stdout,
    );
    assert!(doctor.stdout.contains("problem  secret"), "{doctor:?}");
    assert!(
        told.iter()
            .any(|told| told["check"] == "secret" && told["ok"] == false)
    );
    assert!(
        !user
            .run(&["lease", "list", "--all"])
            .stdout
            .contains("device/")
    );
    user.run(&["lease", "device", "1", "--counter", "0"]).ok();
    assert_eq!(user.run(&[&ticket[..], &file].concat()).ok().len(), 65);
}

/// With 64 MiB for the whole process, a line of 64 MB is refused after its first 4 KiB.
#[test]
fn a_long_line_is_not_read() {
    let user = User::new();
    let path = user.path("lines");
    let mut lines = File::create(&path).unwrap();
    let id = "3vgoe12ccb8gh";
    // White space counts too; at most it is allowed.
    let padded = format!("{id:4095}\n");
    write!(lines, "{id}\n{padded}").unwrap();
    let short = lines.stream_position().unwrap();
    let line = vec![b'0'; 64 << 20];
    lines.write_all(&line).unwrap();
    let limited = |command: &str| {
        let mut lines = File::open(&path).unwrap();
        lines.seek(SeekFrom::Start(0)).unwrap();
        let program = env!("CARGO_BIN_EXE_randflake");
        let mut shell = std::process::Command::new("sh");
        shell
            .args([
                "-c",
                &format!("ulimit -v 65536 && exec {program} {command}"),
            ])
            .env("RANDFLAKE_KEY", KEY)
            .stdin(Stdio::from(lines));
        Answer::of(shell.output().unwrap())
    };
    for command in ["inspect", "convert --to int"] {
        let answer = limited(command);
        assert_eq!(answer.stdout.lines().count(), 2, "{answer:?}");
        let said = "line 3: longer than 4096 bytes, as no id is";
        assert_eq!(answer.fails(2), said);
    }
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(short)
        .unwrap();
    assert_eq!(limited("convert --to int").ok().lines().count(), 2);
}
