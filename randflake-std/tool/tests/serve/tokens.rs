//! The life of a token: made, listed, replaced, expired, revoked.

use core::time::Duration;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::client::Client;
use crate::server::{Home, Server, wait_until};

/// What the tool says that fails.
fn fails(home: &Home, arguments: &[&str]) -> String {
    let output = home.tool(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn list(home: &Home) -> Vec<Value> {
    let told = home.ask(&["token", "list", "--file", "tokens", "--json"]);
    let rows = told.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn both_tokens_are_valid_while_one_replaces_the_other() {
    let home = Home::new();
    let old = home.token("shop", "ids", "default", &["--ids-per-second", "1000000"]);
    home.token("root", "admin", "*", &[]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let home = server.home();
    let mut client = server.connect_as(&old);
    let rotate = [
        "token", "rotate", "shop", "--keep", "1h", "--file", "tokens",
    ];
    let new = home.ask(&rotate).trim().to_owned();
    assert_ne!(old, new);
    let is_known = |token: &str| server.connect().ask(&["AUTH", token]) == "+OK";
    wait_until("the server does not read the file", || is_known(&new));
    assert!(is_known(&old));
    client.ask(&["INCR", "default"]).strip_prefix(':').unwrap();

    let rows = list(home);
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["shop", "root", "shop"]);
    assert_eq!(rows[2]["scopes"], rows[0]["scopes"]);
    assert_eq!(rows[2]["expires_utc"], Value::Null);
    assert_eq!(rows[0]["expired"], false);
    let told = home.ask(&["token", "list", "--file", "tokens"]);
    let state = |line: usize| told.lines().nth(line).unwrap().split("; ").last().unwrap();
    assert!(state(0).starts_with("expires in "), "{told}");
    assert_eq!([state(1), state(2)], ["does not expire"; 2]);
    // Neither a token nor all of a hash is shown.
    assert!(
        !told.contains(&old[..12]) && !told.contains(&new[..12]),
        "{told}"
    );

    let id = rows[0]["id"].as_str().unwrap();
    let revoke = ["token", "revoke", "shop", "--id", id, "--file", "tokens"];
    assert!(home.ask(&revoke).starts_with("revoked 1 token of shop"));
    wait_until("the old token stays", || !is_known(&old));
    let told = client.ask(&["INCR", "default"]);
    assert!(told.starts_with("-NOAUTH "), "{told}");
    assert!(is_known(&new));
}

#[test]
fn a_token_that_has_expired_is_told_to_its_owner_alone() {
    let home = Home::new();
    let token = home.token("guest", "ids", "default", &["--expires", "2s"]);
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut open = server.connect();
    // On a slow machine it may be over already.
    _ = open.ask(&["AUTH", &token]);
    let expired = "the token \"guest\" has expired at 20";
    wait_until("it does not expire", || {
        server.connect().ask(&["AUTH", &token]).contains(expired)
    });
    let told = open.ask(&["INCR", "default"]);
    assert!(
        told.starts_with("-WRONGPASS ") || told.starts_with("-NOAUTH "),
        "{told}"
    );
    let told = open.ask(&["AUTH", "guest", "rft_guess"]);
    assert!(told.contains("is unknown, or was revoked"), "{told}");
    assert!(!told.contains("expired"), "{told}");
    let told = server.home().ask(&["token", "list", "--file", "tokens"]);
    assert!(told.contains("; expired at 20"), "{told}");
}

#[test]
fn what_is_not_there_or_is_the_last_is_said() {
    let home = Home::new();
    home.token("root", "admin,ids", "*", &[]);
    home.token("shop", "ids", "default", &["--expires", "2999-12-31"]);
    let file = ["--file", "tokens"];
    let said = fails(&home, &[&["token", "revoke", "shopp"], &file[..]].concat());
    assert!(
        said.contains("no token is named \"shopp\": it has root, shop"),
        "{said}"
    );
    let said = fails(&home, &[&["token", "revoke", "root"], &file[..]].concat());
    assert!(said.contains("the last valid token with admin"), "{said}");
    let wrong = ["token", "revoke", "shop", "--id", "00"];
    let said = fails(&home, &[&wrong, &file[..]].concat());
    assert!(
        said.contains("no token of \"shop\" has the number \"00\""),
        "{said}"
    );
    let new = [
        "token",
        "new",
        "--name",
        "shop",
        "--scopes",
        "ids",
        "--namespaces",
        "*",
    ];
    let said = fails(&home, &[&new, &file[..]].concat());
    assert!(said.contains("randflake token rotate shop"), "{said}");
    // Nobody knows whether the new one shall expire.
    let rotate = [&["token", "rotate", "shop"], &file[..]].concat();
    let output = home.tool(&rotate).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("say when the new one does, with --expires"),
        "{said}"
    );
    assert_eq!(list(&home).len(), 2);
    home.ask(&[&rotate[..], &["--expires", "never"]].concat());
    home.ask(&[&["token", "revoke", "root", "--force"], &file[..]].concat());
    home.ask(&[&["token", "revoke", "shop"], &file[..]].concat());
    assert!(list(&home).is_empty());
    let said = fails(&home, &["token", "list", "--file", "nowhere"]);
    assert!(said.contains("nowhere"), "{said}");
}

/// A pipeline, or a transaction, may take minutes: for ids of the seconds to come, or for a store that is busy.
#[test]
fn a_token_that_is_revoked_ends_in_the_middle_of_a_pipeline() {
    /// Of 131,072 that a node id has in a second.
    const NEXT: [&str; 6] = ["ID.NEXT", "default", "COUNT", "100000", "FORMAT", "raw"];
    const MANY: usize = 60;
    for is_transaction in [false, true] {
        let home = Home::new();
        let token = home.token("shop", "ids", "default", &[]);
        home.token("root", "admin", "*", &[]);
        let server = Server::start_with(home, &["--tokens", "tokens", "--node-ids", "1"]);
        let mut client = server.connect_as(&token);
        let mut pipeline = Client::command(&NEXT).repeat(MANY);
        if is_transaction {
            pipeline = [
                Client::command(&["MULTI"]),
                pipeline,
                Client::command(&["EXEC"]),
            ]
            .concat();
        }
        client.send(&pipeline);
        let queued = if is_transaction { MANY + 1 } else { 0 };
        for _ in 0..queued {
            assert!(client.reply().starts_with('+'));
        }
        if is_transaction {
            assert_eq!(client.head(), format!("*{MANY}"));
        }
        assert!(!client.reply().starts_with('-'));
        let revoke = ["token", "revoke", "shop", "--file", "tokens"];
        server.home().ask(&revoke);
        server.signal(libc::SIGHUP);
        let replies: Vec<_> = (1..MANY).map(|_| client.reply()).collect();
        let refused = replies.iter().filter(|reply| reply.starts_with("-NOAUTH "));
        assert!(refused.count() > MANY / 2, "{is_transaction}");
    }
}

/// An idle connection, and one that asks for what needs no token, would keep places and memory from others.
#[test]
fn connections_of_a_revoked_token_end_by_themselves() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    let other = home.token("other", "ids", "default", &[]);
    let arguments = ["--tokens", "tokens", "--http", "127.0.0.1:0"];
    let server = Server::start_with(home, &arguments);
    let mut idle = server.connect_as(&token);
    let mut rotated = server.connect_as(&token);
    let mut beside = server.connect_as(&other);
    let mut http = TcpStream::connect(server.http()).unwrap();
    let request = |path: &str, token: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
    };
    http.write_all(request("/v1/ids", &token).as_bytes())
        .unwrap();
    let new = server
        .home()
        .ask(&["token", "rotate", "shop", "--keep", "0", "--file", "tokens"]);
    server.signal(libc::SIGHUP);
    wait_until("the new token is not known", || {
        rotated.ask(&["AUTH", new.trim()]) == "+OK"
    });
    // Where nobody looks at the token: it is closed all the same.
    let probing = thread::spawn(move || {
        let probe = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let mut answers = [0; 4_096];
        while http.write_all(probe).is_ok() && http.read(&mut answers).is_ok_and(|read| read > 0) {
            thread::sleep(Duration::from_millis(500));
        }
    });
    assert_eq!(idle.rest(), "");
    probing.join().unwrap();
    assert!(rotated.ask(&["INCR", "default"]).starts_with(':'));
    assert!(beside.ask(&["INCR", "default"]).starts_with(':'));
}

/// `cp` and editors empty a file before they write it, and a full disk leaves it so.
#[test]
fn a_file_that_is_emptied_revokes_all_is_told_and_open_connections_outlive_the_accident() {
    let home = Home::new();
    let token = home.token("shop", "ids", "default", &[]);
    home.token("old", "ids", "default", &["--expires", "2999-12-31"]);
    let text = fs::read_to_string(home.path("tokens")).unwrap();
    let server = Server::start_with(home, &["--tokens", "tokens"]);
    let mut client = server.connect_as(&token);
    server.home().write("tokens", "# nothing\n");
    server.home().wait_for(
        "warning: the file of tokens has none any more, and had 2: every client is refused, and /readyz is 503",
    );
    let told = client.ask(&["INCR", "default"]);
    assert!(told.starts_with("-NOAUTH "), "{told}");
    assert!(
        server
            .connect()
            .ask(&["AUTH", &token])
            .starts_with("-WRONGPASS ")
    );
    server.home().write("tokens", &text);
    server
        .home()
        .wait_for("the tokens were read again: 2, before 0");
    let told = client.ask(&["INCR", "default"]);
    assert!(told.starts_with(':'), "{told}");
    // Who has reset the connection has no token any more.
    assert_eq!(client.ask(&["RESET"]), "+RESET");
    server.home().write("tokens", &format!("{text}\n"));
    server
        .home()
        .wait_for("the tokens were read again: 2, before 2");
    assert!(client.ask(&["INCR", "default"]).starts_with("-NOAUTH "));
}

/// Who reads it finds the old one or the new one, whole; and it stays whose it is.
#[test]
fn the_file_is_replaced_and_stays_as_it_is_otherwise() {
    let home = Home::new();
    fs::create_dir(home.path("real")).unwrap();
    symlink(home.path("real/file"), home.path("tokens")).unwrap();
    home.token("a", "ids", "*", &[]);
    let path = home.path("real/file");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("# clients\n\n{text}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&path).unwrap();
    // What a command has left that was killed.
    fs::write(home.path("real/.file.new"), "half").unwrap();
    home.token("b", "ids", "*", &[]);
    let after = fs::metadata(&path).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!((after.mode() & 0o777, after.uid()), (0o640, before.uid()));
    let told = fs::read_to_string(&path).unwrap();
    assert!(
        told.starts_with(&format!("# clients\n\n{text}name=b ")),
        "{told}"
    );
    assert!(home.path("tokens").is_symlink());
    assert!(!home.path("real/.file.new").exists());

    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let said = fails(&home, &["token", "revoke", "a", "--file", "tokens"]);
    assert!(said.contains("real/file"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), told);
}

/// Whoever may append a line to the file of tokens is an administrator.
#[test]
fn what_is_made_is_for_its_owner_alone_whatever_the_umask() {
    let home = Home::new();
    let shell = |words: &str| {
        let program = env!("CARGO_BIN_EXE_randflake");
        let script = format!("umask 002; exec {program} {words}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(home.path("."));
        command.output().unwrap()
    };
    let mode = |name: &str| fs::metadata(home.path(name)).unwrap().mode() & 0o7777;
    let rights = "--scopes ids --namespaces '*' --file tokens";
    let output = shell(&format!("token new --name shop {rights} --out shop.token"));
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    assert_eq!([mode("tokens"), mode("shop.token")], [0o600; 2]);
    let token = fs::read_to_string(home.path("shop.token")).unwrap();
    assert!(token.starts_with("rft_") && token.ends_with('\n'));

    // What is there is not overwritten, and the file of tokens stays as it is.
    let tokens = fs::read_to_string(home.path("tokens")).unwrap();
    for words in [
        format!("token new --name other {rights} --out shop.token"),
        "token rotate shop --file tokens --out shop.token".to_owned(),
    ] {
        let output = shell(&words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("shop.token exists and is not overwritten"),
            "{said}"
        );
    }
    // A token that is not in the file is in no other.
    assert_eq!(
        shell(&format!("token new --name shop {rights} --out again"))
            .status
            .code(),
        Some(1)
    );
    assert!(!home.path("again").exists());
    assert_eq!(fs::read_to_string(home.path("tokens")).unwrap(), tokens);
    assert_eq!(fs::read_to_string(home.path("shop.token")).unwrap(), token);
    assert!(
        shell("token rotate shop --file tokens --out new")
            .status
            .success()
    );
    assert_eq!([mode("tokens"), mode("new")], [0o600; 2]);

    // Made by hand, it is not used.
    fs::set_permissions(home.path("tokens"), fs::Permissions::from_mode(0o664)).unwrap();
    let refusal =
        "tokens has mode 0664, so that others may write there: remove that right (chmod go-w)";
    let said = fails(&home, &["token", "list", "--file", "tokens"]);
    assert!(said.contains(refusal), "{said}");
    let resp = ["serve", "--resp", "127.0.0.1:0", "--tokens", "tokens"];
    let said = fails(&home, &resp);
    assert!(said.contains(refusal), "{said}");
}

#[test]
fn commands_at_the_same_time_lose_nothing() {
    let home = Home::new();
    let names: Vec<_> = (0..16).map(|number| format!("client-{number}")).collect();
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            let new = ["token", "new", "--file", "tokens", "--name", name];
            let rights = ["--scopes", "ids", "--namespaces", "*"];
            let mut tool = home.tool(&[&new[..], &rights].concat());
            tool.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(list(&home).len(), names.len());
}
