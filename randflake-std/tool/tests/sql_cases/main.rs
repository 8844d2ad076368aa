//! Transcripts of SQL functions in databases: see `../cases/runner.rs`. A section has a server of
//! its own, `$URL`.
//!
//! Sections are named after their engine: those of PostgreSQL are run with more than one version of
//! it, by the filter `postgres::`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a client prints what it was answered"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
#[path = "../sql/answers.rs"]
mod answers;
#[path = "../cases/runner.rs"]
mod runner;
#[expect(dead_code, reason = "shared with other tests")]
#[path = "../cli/user.rs"]
mod user;

use core::any::Any;
use std::io::Read as _;
use std::process::Command;

use harness::mariadb::{Client as MysqlClient, MariadbServer};
use harness::postgres::PostgresServer;
use mysql_async::{Opts, OptsBuilder};
use postgres::{Client as PostgresClient, NoTls};

static FOLDER: runner::Folder = runner::Folder {
    path: "sql_cases",
    prelude: concat!(
        include_str!("../cases/prelude.sh"),
        include_str!("prelude.sh")
    ),
    is_run: |_| true,
    start,
};

fn start(topic: &str, shell: &mut Command) -> Box<dyn Any> {
    if topic.starts_with("postgres::") {
        shell.env("ENGINE", "postgres");
        // Nothing here outlives its section.
        let server = PostgresServer::start_with(&["fsync=off"]);
        shell.env("URL", server.url("postgres"));
        Box::new(server)
    } else {
        shell.env("ENGINE", "mysql");
        let settings: &[&str] = if topic == "mysql::binary_log" {
            &["--log-bin", "--server-id=1"]
        } else {
            &[]
        };
        let server = MariadbServer::start_with(settings);
        shell.env("URL", server.url("information_schema"));
        Box::new(server)
    }
}

fn main() {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match &words[..] {
        // Each statement, or each line of standard input, is answered.
        [mode, url, statements @ ..] if mode == "--sql" => {
            let mut answer = connect(url);
            let input = if statements.is_empty() {
                standard_input()
            } else {
                String::new()
            };
            for statement in statements.iter().map(|word| &**word).chain(input.lines()) {
                show(&answer(statement));
            }
        }
        // Standard input is run to its first error.
        [mode, url] if mode == "--script" => {
            let mut answer = connect(url);
            let input = standard_input();
            let statements = if url.starts_with("mysql:") {
                answers::mysql_statements(&input)
            } else {
                vec![input]
            };
            for statement in statements {
                let lines = answer(&statement);
                if lines.iter().any(|line| line.starts_with("ERROR")) {
                    show(&lines);
                    std::process::exit(1);
                }
            }
        }
        _ => FOLDER.run(),
    }
}

/// Answers a statement by lines of text.
type Session = Box<dyn FnMut(&str) -> Vec<String>>;

fn connect(url: &str) -> Session {
    if url.starts_with("mysql:") {
        let options = OptsBuilder::from_opts(Opts::from_url(url).unwrap()).prefer_socket(false);
        let mut client = MysqlClient::new(options).unwrap();
        Box::new(move |statement| answers::of_mysql(&mut client, statement))
    } else {
        let mut client = PostgresClient::connect(url, NoTls).unwrap();
        client.batch_execute("SET TimeZone = 'UTC'").unwrap();
        Box::new(move |statement| answers::of_postgres(&mut client, statement))
    }
}

fn standard_input() -> String {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    text
}

fn show(lines: &[String]) {
    for line in lines {
        println!("{line}");
    }
}
