//! What is refused before anything is served.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::server::{Home, Server};

/// How the tool ends, and what it says.
fn refused(home: &Home, arguments: &[&str]) -> (i32, String) {
    let output = home
        .tool(&[&["serve"], arguments].concat())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), told)
}

const LOCAL: [&str; 2] = ["--resp", "127.0.0.1:0"];

/// A key in the place of its file's name.
const SECRET: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn nothing_is_served_beyond_this_machine_without_tokens() {
    let home = Home::new();
    for arguments in [
        ["--resp", "0.0.0.0:0"],
        ["--http", "0.0.0.0:0"],
        ["--resp", "[::]:0"],
    ] {
        let (status, told) = refused(&home, &arguments);
        assert_eq!(status, 2, "{told}");
        assert!(
            told.contains("give --tokens FILE, with a line of `randflake token new`"),
            "{told}"
        );
    }
}

/// Arguments of `serve`, the exit status, and what its message says.
type Refusal<'a> = (&'a [&'a str], i32, &'a str);

/// Each is refused with its status and message, which repeats no secret of the files.
fn are_told(home: &Home, refusals: &[Refusal<'_>]) {
    for (arguments, status, problem) in refusals {
        let needs_address = !arguments.is_empty() && arguments[0] != "--resp";
        let all = if needs_address {
            [&LOCAL, *arguments].concat()
        } else {
            arguments.to_vec()
        };
        let (ended, told) = refused(home, &all);
        assert_eq!(ended, *status, "{arguments:?}: {told}");
        assert!(told.contains(problem), "{arguments:?}: {told}");
        assert!(!told.contains("rft_") && !told.contains(SECRET), "{told}");
    }
}

#[test]
fn wrong_arguments_are_told() {
    let home = Home::new();
    home.ask(&["keygen", "--out", "key"]);
    home.write("twice", "name=a key-file=key\nname=b key-file=key\n");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    are_told(
        &home,
        &[
            (
                &[],
                2,
                "give --resp ADDRESS for the Redis protocol, --http ADDRESS for HTTP, or both",
            ),
            (
                &["--resp", "nowhere"],
                2,
                "an address and a port are allowed",
            ),
            (
                &["--resp", "systemd"],
                1,
                "systemd has passed no socket named resp",
            ),
            (&["--namespace", "Orders"], 2, "a-z, 0-9, '-' and '_'"),
            (&["--tls-cert", "key"], 2, "--tls-key <FILE>"),
            (
                &["--tls-cert", "key", "--tls-key", "key"],
                1,
                "no certificate in PEM",
            ),
            (&["--node-ids", "8..=1"], 2, "a number from 1 on is allowed"),
            (&["--idle", "0"], 2, "more than 0 is allowed"),
            (&["--resp", &taken], 1, "another program listens there"),
        ],
    );
    // No secret was made for what was refused.
    assert!(!home.path("state/randflake/key").exists());
    let keyed = [&LOCAL[..], &["--key-file", "key", "--ttl", "2s"]].concat();
    let (ended, told) = refused(&home, &keyed);
    assert!(
        ended == 2 && told.contains("too short: at least 3s"),
        "{told}"
    );
}

#[test]
fn wrong_files_of_tokens_are_told() {
    let home = Home::new();
    let token = format!("rft_{}", "0123".repeat(16));
    home.write("bare", &format!("{token}\n"));
    open_to_all(&home);
    let shared = home.path("shared");
    fs::create_dir(&shared).unwrap();
    home.write("shared/tokens", "");
    fs::set_permissions(shared, Permissions::from_mode(0o777)).unwrap();
    are_told(
        &home,
        &[
            (
                &["--tokens", "missing"],
                1,
                "; `randflake token new --file FILE` makes it",
            ),
            (
                &["--tokens", &token],
                2,
                "--tokens takes the name of a file, not a token",
            ),
            (
                &["--tokens", "open"],
                1,
                "the tokens, open has mode 0666, so that others may write there: remove that right (chmod go-w)",
            ),
            (&["--tokens", "shared/tokens"], 1, "shared has mode 0777"),
            (
                &["--tokens", "bare"],
                1,
                "bare: line 1: a token itself stands there, and the file has its SHA-256 alone",
            ),
        ],
    );
}

#[test]
fn wrong_files_of_namespaces_are_told() {
    let home = Home::new();
    home.ask(&["keygen", "--out", "key"]);
    open_to_all(&home);
    for (name, text) in [
        ("twice", "name=a key-file=key\nname=b key-file=key\n"),
        ("no-key", "name=a\n"),
        ("empty", "# nothing\n"),
        ("words", "name: a\n"),
        ("no-file", "name=a key-file=nowhere\n"),
        ("longest", "name=a key-file=key max-ttl=1h\n"),
        ("longest-of-words", "name=a key-file=key max-ttl=long\n"),
        ("secret", &format!("name=a key-file={SECRET}\n")),
    ] {
        home.write(name, text);
    }
    are_told(
        &home,
        &[
            (
                &["--namespaces", "open"],
                1,
                "the namespaces, open has mode 0666, so that others may write there",
            ),
            (
                &["--namespaces", "missing"],
                1,
                "a single one is named by --namespace",
            ),
            (
                &["--namespaces", "words"],
                1,
                "words: line 1: a line has words NAME=VALUE",
            ),
            (
                &["--namespaces", "secret"],
                1,
                "secret: line 1: the name of a secret's file is asked for",
            ),
            (
                &["--namespaces", "no-file"],
                1,
                "nowhere: No such file or directory (os error 2): is the path right, and its volume mounted?",
            ),
            (
                &["--namespaces", "twice"],
                1,
                "twice: line 2: the secret is that of namespace \"a\"",
            ),
            (
                &["--namespaces", "no-key"],
                1,
                "no-key: line 1: key-file is missing",
            ),
            (&["--namespaces", "empty"], 1, "empty: it has no namespace"),
            (
                &["--namespaces", "longest", "--max-ttl", "5m"],
                1,
                "longest: line 1: the longest TTL is 1h by max-ttl of this line and 5m by --max-ttl",
            ),
            (
                &["--namespaces", "longest-of-words"],
                1,
                "longest-of-words: line 1: max-ttl: a duration is allowed",
            ),
            (
                &["--namespaces", "twice", "--namespace", "a"],
                2,
                "cannot be used with",
            ),
        ],
    );
}

/// A file that others may write.
fn open_to_all(home: &Home) {
    home.write("open", "");
    fs::set_permissions(home.path("open"), Permissions::from_mode(0o666)).unwrap();
}

#[test]
fn a_namespace_that_cannot_be_served_is_named() {
    let home = Home::without_store();
    home.write(
        "namespaces",
        "name=a layout=snowflake\nname=b layout=snowflake\n",
    );
    let server = Server::start_with(home, &["--namespaces", "namespaces"]);
    let namespaces = "name=a layout=snowflake\nname=b layout=sonyflake\n";
    server.home().write("namespaces", namespaces);
    let arguments = ["--resp", "127.0.0.1:0", "--namespaces", "namespaces"];
    let (status, told) = refused(server.home(), &arguments);
    assert_eq!(status, 1, "{told}");
    assert!(
        told.contains("namespace \"b\": the namespace has other terms"),
        "{told}"
    );
    // Only where it was made, as at each start of a container without a volume.
    let new = "state/randflake/leases.db; if there was one before, end this and put that back";
    server.home().wait_for(new);
    assert!(!told.contains(new), "{told}");
    // Once, not for each of them.
    let local = "the leases are kept on this machine, in sqlite:/";
    assert_eq!(told.matches(local).count(), 1, "{told}");
}

/// Each device has the key of tickets.
#[test]
fn a_key_of_tickets_that_encrypts_ids_is_refused() {
    let home = Home::new();
    home.ask(&["keygen", "--out", "wide.key"]);
    home.ask(&["keygen", "--out", "numbers.key"]);
    let key53 = ["keygen", "--key53", "--key-file", "numbers.key"];
    home.ask(&[&key53[..], &["--out", "numbers53.key"]].concat());
    let lines = "name=wide layout=randflake key-file=wide.key\n\
                 name=numbers layout=randflake53 key-file=numbers.key\n";
    home.write("namespaces", lines);
    let serve = |tickets: &str| {
        let arguments = ["--namespaces", "namespaces", "--ticket-key-file", tickets];
        refused(
            &home,
            &[&["--http", "127.0.0.1:0"][..], &arguments].concat(),
        )
    };
    for (key, namespace) in [
        ("wide.key", "wide"),
        ("numbers.key", "numbers"),
        ("numbers53.key", "numbers"),
    ] {
        let (status, told) = serve(key);
        assert_eq!(status, 1, "{told}");
        let said = format!("the key of tickets is the secret of namespace \"{namespace}\"");
        assert!(told.contains(&said), "{key}: {told}");
    }
}

/// Nobody would look at the file.
#[test]
fn a_key_of_tickets_is_refused_without_http() {
    let arguments = ["--resp", "127.0.0.1:0", "--ticket-key-file", "meters.key"];
    let (status, told) = refused(&Home::new(), &arguments);
    assert_eq!(status, 2, "{told}");
    let said = "devices get their tickets by HTTP alone, so give --http ADDRESS too";
    assert!(told.contains(said), "{told}");
}
