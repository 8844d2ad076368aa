//! `bench`: what things cost. No part of `test`: figures are for people.

mod criterion;
mod index;
mod instructions;
pub(crate) mod leases;
pub(crate) mod machine;
mod peers;
pub(crate) mod serve;

use std::fs;
use std::path::Path;

use crate::apart::{self, Arguments, ExitResult};
use crate::cargo::root;
use crate::report::Report;
use crate::setup::Need;

pub(crate) const HELP: &str = "what things cost, beside other crates too

NAME, with its own options:
  (nothing)     every benchmark of the workspace, a second each; --full takes criterion's own time
  peers         ids of other crates beside ours, in one process; without arguments into this machine's record,
                docs/peers.svg and docs/performance.md, a table of all machines that have a record (ten minutes)
                [--rounds N] [--only PART] [--json FILE] [--svg FILE]
  load          the real clock for some seconds: whether the rate is kept, how waiting ends, and how an elastic handle
                follows a load that comes and goes, into the record
  threads       one handle's ids for 1, 2, 4 and 16 threads, into the record
  cli           user time of the command line tool for an id, and of another build of it beside
                [--old PROGRAM]
  tables        seconds and peak memory of the command line tool for five million rows of CSV, TSV and JSON (two minutes)
                [--rows N]
  instructions  how many instructions an id takes, counted by valgrind, into the record
  index         kinds of ids as primary keys of PostgreSQL and MariaDB, of rows that come in order and as from a fleet,
                two and one million; without options into the record (ten minutes)
                [--rows N] [--database postgres|mariadb] [--arrival ordered|fleet] [--rates R,R,...]
                [--delay-ms N,N,...] [--writers N]
  leases        leases on SQLite, Redis, PostgreSQL, MariaDB and etcd, started in --folder or where temporary
                folders are; unless --engine, --only or --folder is given into the record and docs/performance.md (eight
                minutes)
                [--rounds N] [--engine NAME] [--only starters|looks] [--folder DIR] [--json FILE]
  serve         ids of `randflake serve` for clients of Redis and HTTP, beside Redis in the same rounds, and how long one
                id takes at half of the highest rate, into the record (four minutes)
                [--rounds N]
  memory        what `randflake serve` takes under six kinds of floods and bursts of connections, in a container's memory
                where this is root, and keeps after the 1st, 10th, 20th and 30th burst of each: fails unless it stops
                growing (15 minutes, and a release build unless --program is given)
                [--program FILE] [--bursts N]
";

pub(crate) const IN_TEST: &[(&str, &str)] = &[
    (
        "each case of the workspace once, also of load, threads, cli, tables, instructions and leases",
        "unit",
    ),
    ("leases on each engine, with few node ids", "engines"),
    ("a short round of serve and of memory", "serve"),
    (
        "index with a few rows, each case of peers once",
        "integrations",
    ),
];

/// A benchmark, and what must be on the machine for it.
type Bench = (
    &'static str,
    fn() -> Vec<Need>,
    fn(&mut Report, Arguments) -> Result<(), String>,
);

const BENCHES: [Bench; 11] = [
    ("", Vec::new, criterion::run),
    ("peers", peers::needs, peers::run),
    ("load", Vec::new, |report, typed| {
        criterion::recorded(report, "load", typed)
    }),
    ("threads", Vec::new, |report, typed| {
        criterion::recorded(report, "threads", typed)
    }),
    ("cli", Vec::new, criterion::cli),
    ("tables", Vec::new, criterion::tables),
    ("instructions", instructions::needs, instructions::run),
    ("index", index::needs, index::run),
    ("leases", leases::needs, leases::run),
    ("serve", serve::needs, serve::run),
    ("memory", serve::needs, serve::memory),
];

pub(crate) fn main(mut typed: Arguments) -> ExitResult {
    let name = typed.subcommand().map_err(|error| error.to_string())?;
    let name = name.unwrap_or_default();
    let bench = BENCHES.iter().find(|(own, ..)| *own == name);
    let (_, needs, run) = bench.ok_or_else(|| format!("no benchmark {name}"))?;
    let mut done = Ok(());
    let code = apart::run("bench", &needs(), Report::new(false), |report| {
        done = run(report, typed);
    });
    done.map(|()| code)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A document with other text between two marks; `None` if it has not both.
fn replaced(document: &str, [begin, end]: [&str; 2], text: &str) -> Option<String> {
    let (before, rest) = document.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

/// Puts text between two marks of a document of the project.
fn put_into(document: &str, marks: [&str; 2], text: &str) -> Result<(), String> {
    let path = root().join(document);
    let old = fs::read_to_string(&path).map_err(|error| format!("{document}: {error}"))?;
    let new = replaced(&old, marks, text).ok_or_else(|| format!("{document} has no {marks:?}"))?;
    fs::write(&path, new).map_err(|error| format!("{document}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn the_table_takes_the_place_of_the_last_one() {
        let marks = ["<!-- begin -->\n", "<!-- end -->\n"];
        let document = |table| format!("Before\n{}{table}{}after\n", marks[0], marks[1]);
        assert_eq!(
            replaced(&document("old\n"), marks, "new\n"),
            Some(document("new\n"))
        );
        assert_eq!(replaced("none", marks, "new\n"), None);
    }
}
