//! Clients of `randflake serve` for transcripts: the program of these tests, with `--http` or
//! `--resp`.

use core::fmt::Write as _;
use core::time::Duration;
use std::env;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

/// Longer than any answer takes.
const LIMIT: Duration = Duration::from_secs(60);

fn connect(variable: &str) -> TcpStream {
    let stream = TcpStream::connect(env::var(variable).unwrap()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Sends bytes, and reads until the server closes the connection.
fn exchange(mut stream: TcpStream, request: &[u8]) -> Vec<u8> {
    // The server may answer and close before it has everything.
    _ = stream.write_all(request);
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer);
    answer
}

fn standard_input() -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Sends a request of the server at `$HTTP`, and prints the status and the body, or what a problem
/// says.
///
/// Words: `-t TOKEN`, `-H HEADER`, `-d JSON`, `-s` for the status alone, `-o` for the bytes of the
/// body alone, `-i NAME` for a header of the answer; then a method and a target. Without those,
/// standard input is the request.
pub(crate) fn http(mut words: &[&str]) {
    let address = env::var("HTTP").unwrap();
    let (mut head, mut body, mut shown) = (String::new(), String::new(), Vec::new());
    let (mut is_short, mut is_raw) = (false, false);
    while let [option, rest @ ..] = words
        && option.starts_with('-')
    {
        words = rest;
        if ["-s", "-o"].contains(option) {
            is_short |= *option == "-s";
            is_raw |= *option == "-o";
            continue;
        }
        let [value, rest @ ..] = words else {
            panic!("{option} has no value")
        };
        words = rest;
        match *option {
            "-t" => _ = write!(head, "authorization: Bearer {value}\r\n"),
            "-H" => _ = write!(head, "{value}\r\n"),
            "-d" => {
                head += "content-type: application/json\r\n";
                body.push_str(value);
            }
            "-i" => shown.push(*value),
            _ => panic!("{option}"),
        }
    }
    let request = match words {
        [method, target] => format!(
            "{method} {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-length: {}\r\n{head}\r\n{body}",
            body.len()
        )
        .into_bytes(),
        _ => standard_input(),
    };
    let answer = exchange(connect("HTTP"), &request);
    if is_raw {
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        return show(&answer[end.unwrap() + 4..]);
    }
    let answer = String::from_utf8_lossy(&answer);
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return show("(closed)\n");
    };
    let status = head.split(' ').nth(1).unwrap();
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map_or("(none)", |(_, value)| value)
    };
    let mut text = status.to_owned();
    if header("content-type") == "application/problem+json" {
        let problem: Value = serde_json::from_str(body).unwrap();
        let member = |name: &str| problem[name].as_str().unwrap();
        assert_eq!(problem["status"].to_string(), status);
        let kind = member("type").strip_prefix("urn:randflake:problem:");
        // One line, whatever names a client makes up.
        assert!(!member("detail").contains(char::is_control), "{problem}");
        _ = write!(text, " {}", kind.unwrap());
        if !is_short {
            _ = write!(text, ": {}", member("detail"));
        }
    } else if !is_short && !body.is_empty() {
        _ = write!(text, "\n{}", body.trim_end_matches('\n'));
    }
    for name in shown {
        _ = write!(text, "\n{name}: {}", header(name));
    }
    show(text + "\n");
}

/// Prints, also to a reader who has read enough.
fn show(text: impl AsRef<[u8]>) {
    _ = std::io::stdout().write_all(text.as_ref());
}

/// Sends commands to the server at `$RESP`, and prints their replies.
///
/// Words: `-t TOKEN`; then a command. Without one, each line of standard input is a command of
/// words, on one connection. With `-r`, standard input is sent as it is, and what comes until the
/// server closes is printed with escapes.
pub(crate) fn resp(mut words: &[&str]) {
    if words == ["-r"] {
        let stream = connect("RESP");
        let (mut sending, sent) = (stream.try_clone().unwrap(), standard_input());
        sending.write_all(&sent).unwrap();
        sending.shutdown(Shutdown::Write).unwrap();
        return show(format!("{}\n", exchange(stream, b"").escape_ascii()));
    }
    let mut connection = Connection(connect("RESP"));
    if let ["-t", token, rest @ ..] = words {
        words = rest;
        assert_eq!(connection.ask(&["AUTH", token]), "OK");
    }
    if !words.is_empty() {
        return show(connection.ask(words) + "\n");
    }
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split(' ').collect();
        show(connection.ask(&words) + "\n");
    }
}

struct Connection(TcpStream);

impl Connection {
    fn ask(&mut self, words: &[&str]) -> String {
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            _ = write!(bytes, "${}\r\n{word}\r\n", word.len());
        }
        self.0.write_all(bytes.as_bytes()).unwrap();
        self.reply()
    }

    /// A reply as text: the parts of an array each in a line.
    fn reply(&mut self) -> String {
        let line = self.line();
        let (kind, rest) = line.split_at(1);
        let length = || rest.parse::<i64>().unwrap();
        match kind {
            "+" | ":" => rest.to_owned(),
            "-" => line,
            "$" if length() < 0 => "(null)".to_owned(),
            "$" => {
                let mut bytes = vec![0; usize::try_from(length()).unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                String::from_utf8_lossy(&bytes).trim_end().to_owned()
            }
            "*" => {
                let parts = (0..length()).map(|_| self.reply());
                parts.collect::<Vec<_>>().join("\n")
            }
            _ => panic!("no reply: {line:?}"),
        }
    }

    fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        String::from_utf8(line).unwrap().trim_end().to_owned()
    }
}

/// Runs a statement on a database in a file, and prints the values of its rows.
pub(crate) fn sqlite(file: &str, statement: &str) {
    let database = rusqlite::Connection::open(file).unwrap();
    let mut statement = database.prepare(statement).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        show(format!("{}\n", row.get::<_, String>(0).unwrap()));
    }
}

/// Locks a file until it is killed, and makes `locked` once it has the lock.
pub(crate) fn lock(file: &str) {
    let lock = File::open(file).unwrap();
    lock.lock().unwrap();
    File::create("locked").unwrap();
    std::thread::sleep(LIMIT * 60);
}
