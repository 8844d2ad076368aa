//! Transcripts of the command line, and of clients of `randflake serve`: see `runner.rs`. The
//! program of these tests is also what a shell lacks: a client of the server, of SQLite, of locks.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../aged_store/mod.rs"]
mod aged_store;
mod client;
mod runner;
#[expect(dead_code, reason = "shared with other tests")]
#[path = "../cli/user.rs"]
mod user;

static FOLDER: runner::Folder = runner::Folder {
    path: "cases",
    prelude: concat!(include_str!("prelude.sh"), include_str!("serve.sh")),
    is_run: |topic| cfg!(all(feature = "serve", unix)) || !topic.starts_with("serve::"),
    start: |_, _| Box::new(()),
};

fn main() {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(|word| &**word).collect();
    match words[..] {
        ["--http", ref words @ ..] => client::http(words),
        ["--resp", ref words @ ..] => client::resp(words),
        ["--sqlite", file, statement] => client::sqlite(file, statement),
        ["--lock", file] => client::lock(file),
        #[cfg(unix)]
        ["--socket", path] => drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        _ => FOLDER.run(),
    }
}
