//! Quotations of the guides, compared with the tool: messages, commands with their options, and
//! figures.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod figures;

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use randflake_std::lease::{
    Namespace, NodeIdSource, Quarantine, QuarantineCause, StaticStore, StoreError,
};
use randflake_std::private_file::{FileRefusal, RefusalReason};
use randflake_std::unstable::rules::{
    Continuity, Form, NamespaceRecord, QuarantineReason, Versions, View,
};
use randflake_std::{KeyNumber, Randflake, SecretError};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folders with documents for people.
const FOLDERS: &str = ". docs docs/deploy docs/sql randflake-core \
    randflake-embedded randflake-std randflake-std/tool sparx64";

/// The documents, by their paths.
fn documents() -> Vec<(PathBuf, String)> {
    let folders = FOLDERS.split(' ').map(|folder| root().join(folder));
    let entries = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let documents = paths.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    documents
        .map(|path: PathBuf| (path.clone(), fs::read_to_string(&path).unwrap()))
        .collect()
}

/// What follows each occurrence of `begin`, up to `end`.
fn between<'a>(text: &'a str, begin: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    let rests = text.split(begin).skip(1);
    rests.map(move |rest| rest.split(end).next().unwrap_or(rest))
}

/// The front pages: each library's is its README.
const FRONT_PAGES: &str = "README.md sparx64/README.md randflake-core/README.md randflake-std/README.md \
    randflake-std/tool/README.md randflake-embedded/README.md";

/// The names that hidden lines of an example declare and its visible ones use: who copies it does
/// not have them.
fn undeclared(example: &str) -> Vec<&str> {
    let is_hidden = |line: &&str| line.starts_with("# ");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let visible = example.lines().filter(|line| !is_hidden(line));
    let used: BTreeSet<_> = visible
        .flat_map(|line| line.split(|c| !is_part(c)))
        .collect();
    let declared = example.lines().filter(is_hidden).filter_map(|line| {
        let line = line.trim_start_matches(['#', ' ']);
        let pattern = line
            .strip_prefix("let ")
            .and_then(|rest| rest.split('=').next());
        let function = line
            .strip_prefix("fn ")
            .and_then(|rest| rest.split('(').next());
        pattern.or(function)
    });
    let names = declared
        .flat_map(|names| names.split(|c| !is_part(c)))
        .filter(|name| !["", "mut", "main"].contains(name));
    names.filter(|name| used.contains(name)).collect()
}

#[test]
fn examples_of_front_pages_declare_what_they_use() {
    let hidden = "# let (key, b) = f();\n# fn make() {}\n# fn main() {\nopen(&key, make());\n# }\n";
    assert_eq!(undeclared(hidden), ["key", "make"]);
    for page in FRONT_PAGES.split(' ') {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for example in text.split("```rust").skip(1) {
            let example = example.split("```").next().unwrap();
            assert_eq!(undeclared(example), [""; 0], "{page}: {example}");
        }
    }
}

#[test]
fn the_table_of_contents_leads_to_each_guide() {
    let contents = fs::read_to_string(root().join("docs/README.md")).unwrap();
    for folder in ["docs", "docs/deploy"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|kind| kind != "md") || path.ends_with("docs/README.md")
            {
                continue;
            }
            let link = path.strip_prefix(root().join("docs")).unwrap();
            let link = format!("]({})", link.display());
            assert!(contents.contains(&link), "no {link}");
        }
    }
}

/// The names of metrics in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = text.split(|c| !is_name(c));
    words
        .filter(|word| word.starts_with("randflake_"))
        .collect()
}

/// The sources below a folder.
fn sources(folder: &Path, all: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            all.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn metrics_of_alerts_and_dashboard_are_reported() {
    let mut program = String::new();
    for folder in [
        "randflake-std/lease/src",
        "randflake-std/src",
        "randflake-std/serve/src",
        "randflake-std/tool/src",
    ] {
        sources(&root().join(folder), &mut program);
    }
    // Those that are quoted, and not those of documentation.
    let reported: BTreeSet<_> = between(&program, "\"randflake_", '"').collect();
    for file in ["alerts.yml", "alerts_test.yml", "dashboard.json"] {
        let text = fs::read_to_string(root().join("docs/operations").join(file)).unwrap();
        let used = metrics(&text);
        assert!(used.len() > 10, "{file}: {used:?}");
        for name in used {
            // Of a histogram.
            let name = name.strip_suffix("_bucket").unwrap_or(name);
            let is_reported = reported.contains(name.trim_start_matches("randflake_"));
            assert!(is_reported, "{file}: {name}");
        }
    }
}

#[test]
fn messages_of_the_operations_guide_are_real() {
    let guide = fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let said = [
        said_by_servers(),
        said_of_static_files(),
        vec![said_without_secret(), said_by_a_copy()],
    ]
    .concat();
    let mut quotes: Vec<_> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("> "))
        .collect();
    for message in &said {
        let place = quotes.iter().position(|quote| is_part(quote, message));
        quotes.remove(place.unwrap_or_else(|| panic!("not quoted: {message}")));
    }
    assert_eq!(quotes, [""; 0], "nothing says that");
}

/// Whether a message begins so, and goes on with what follows each `…`.
fn is_part(quote: &str, message: &str) -> bool {
    let mut pieces = quote.split(" … ");
    let rest = message.strip_prefix(pieces.next().unwrap());
    pieces
        .fold(rest, |rest: Option<_>, piece| {
            Some(str::split_once(rest?, piece)?.1)
        })
        .is_some()
}

fn said_by_servers() -> Vec<String> {
    let key = |check: &str| format!("the secret of check value {check}");
    let key_number = |number| KeyNumber::new(number).unwrap();
    let seconds = Duration::from_secs;
    let noon = 1_795_348_800; // 2026-11-22
    let quarantined = |cause, lasts| {
        let quarantine = Quarantine {
            since: seconds(noon),
            until: seconds(noon + lasts),
            cause,
        };
        let retry_in = seconds(lasts);
        StoreError::Quarantined {
            retry_in,
            quarantine,
        }
        .to_string()
    };
    let refused = std::io::Error::from_raw_os_error(111);
    vec![
        quarantined(QuarantineCause::New, 320),
        quarantined(QuarantineCause::Lost, 80),
        StoreError::Exhausted {
            retry_in: seconds(42),
        }
        .to_string(),
        StoreError::LeaseAhead {
            ends: seconds(noon + 365 * 86_400),
            ends_in: seconds(365 * 86_400),
        }
        .to_string(),
        StoreError::Terms {
            stored: key("d8353965"),
            asked: key("990dc77e"),
        }
        .to_string(),
        StoreError::KeyNumber {
            stored: key_number(18),
            asked: key_number(17),
        }
        .to_string(),
        StoreError::SecretTaken {
            namespace: "orders".to_owned(),
            database: Some(0),
            asked: "orders".to_owned(),
        }
        .to_string(),
        StoreError::ClockSkew {
            store: seconds(noon),
            here: seconds(noon + 15),
        }
        .to_string(),
        StoreError::unavailable(format!("the Redis server at 127.0.0.1:6379: {refused}"))
            .to_string(),
        SecretError::File(FileRefusal {
            path: "randflake.key".into(),
            reason: RefusalReason::Readable { mode: 0o644 },
        })
        .to_string(),
    ]
}

/// Of keys that were restored into another cluster.
fn said_by_a_copy() -> String {
    let cluster = |id: &str| format!("the etcd cluster {id}");
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let record = NamespaceRecord {
        versions: Versions::FIRST,
        terms: *namespace.terms(),
        namespace_nonce: 1,
        writes: 1,
        quarantine: 0,
        reason: QuarantineReason::default(),
        fingerprint: String::new(),
        identity: cluster("14841639068965178418"),
        form: Form::default(),
    };
    let view = View {
        now: Duration::ZERO,
        continuity: Continuity {
            identity: cluster("1093572340957340"),
            ..Continuity::default()
        },
        namespace: Some(record),
        nodes: Vec::new(),
        assumed_max_ttl: Duration::ZERO,
        free_from: None,
    };
    view.check_copied().unwrap_err().to_string()
}

fn said_of_static_files() -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node");
    let namespace = Namespace::new("orders", Randflake).unwrap();
    let open = |node_id| StaticStore::open(&path, NodeIdSource::Given(node_id), &namespace);
    let quarantined =
        || open(7).and_then(|mut store| store.administration().start_quarantine().map(|_| store));
    open(7).unwrap().administration().end_quarantine().unwrap();
    let _holder = quarantined().unwrap();
    let refusals = [quarantined().map(drop), open(6).map(drop)];
    let message = |refusal: Result<(), StoreError>| {
        let said = refusal.unwrap_err().to_string();
        said.split_once("node: ").unwrap().1.to_owned()
    };
    refusals.map(message).into()
}

/// By the tool, before it connects.
fn said_without_secret() -> String {
    let state = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_randflake"))
        .args(["generate", "--store", "redis://redis"])
        .env_remove("RANDFLAKE_KEY")
        .env_remove("CREDENTIALS_DIRECTORY")
        .env("XDG_STATE_HOME", state.path())
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    said.split_once(": ").unwrap().1.to_owned()
}

/// Without it, versions are built that nobody has tested.
#[test]
fn installations_take_the_versions_of_the_lock_file() {
    let mut lines = 0;
    for (path, text) in documents() {
        for command in text.split("cargo install ").skip(1) {
            let line = command.split(['\n', '`']).next().unwrap();
            assert!(
                line.split_whitespace().any(|word| word == "--locked"),
                "{}: cargo install {line}",
                path.display()
            );
            lines += 1;
        }
    }
    assert!(lines > 4);
}

#[test]
fn commands_and_options_of_the_guides_exist() {
    let mut shown = BTreeSet::new();
    for (path, text) in documents() {
        if path.ends_with("CHANGELOG.md") {
            continue;
        }
        let typed = text
            .lines()
            .filter(|line| line.starts_with("$ "))
            .filter(|line| !line.contains("cargo install "));
        let spans = between(&text, "`randflake ", '`')
            .chain(typed.flat_map(|line| between(line, "randflake ", '\n')));
        let ends = ['#', '|', '>'];
        shown.extend(spans.map(|span| span.split(ends).next().unwrap().trim().to_owned()));
    }
    // The others follow a layout of that name.
    shown.retain(|span: &String| span.starts_with(|c: char| c.is_ascii_lowercase()));
    // Of `--layout randflake |`, which is no command.
    shown.remove("");
    assert!(shown.len() > 15, "{shown:?}");
    for line in shown {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_group =
            ["lease", "segment", "sql", "token", "uuid"].contains(&words[0]) && words.len() > 1;
        let command = words
            .iter()
            .take(if is_group { 2 } else { 1 })
            .copied()
            .filter(|word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase()));
        let told = Command::new(env!("CARGO_BIN_EXE_randflake"))
            .args(command)
            .arg("--help")
            .output()
            .unwrap();
        assert!(told.status.success(), "{line}: {told:?}");
        let help = String::from_utf8(told.stdout).unwrap();
        for option in words.iter().filter(|word| word.starts_with("--")) {
            let option = option.split('=').next().unwrap();
            assert!(help.contains(option), "{line}: no {option}");
        }
    }
}
