//! Figures of the guides, computed: dates, numbers, and what the tool prints of an id.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use randflake_std::lease::NodeIds;
use randflake_std::randflake_core::LAYOUTS;
use randflake_std::unstable::rules::youth;
use randflake_std::{Id, Layout, Mastodon, Randflake, date};
use regex::Regex;
use tempfile::TempDir;

use crate::{between, documents, root, sources};

/// Key of the examples in the guides.
const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";

/// Beyond the years that `date` shows.
const MASTODON: &str = "10889-08-02";

fn utc(unix_ms: u64) -> String {
    date::utc(Duration::from_millis(unix_ms))
}

fn day(unix_ms: u64) -> String {
    utc(unix_ms).split('T').next().unwrap().to_owned()
}

/// Groups digits, as in `4,096,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).unwrap()
}

#[test]
fn last_dates_and_rates_of_layouts_are_computed() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut rustdoc = String::new();
    sources(&root().join("randflake-core/src/layout"), &mut rustdoc);
    for (name, spec) in LAYOUTS {
        let begin = format!("| `{name}`");
        let row = readme
            .lines()
            .find(|line: &&str| line.to_lowercase().starts_with(&begin));
        let row: Vec<_> = row
            .unwrap_or_else(|| panic!("README.md has no row of {name}"))
            .split('|')
            .map(str::trim)
            .collect();
        let last_ms = spec.unix_ms(spec.max_tick());
        let last = if name == "mastodon" {
            MASTODON.to_owned()
        } else {
            day(last_ms)
        };
        assert_eq!(row[4], day(spec.epoch_unix_ms()), "{name}");
        assert_eq!(row[5].trim_end_matches(", past"), last, "{name}");
        let rate = (u64::from(spec.max_sequence()) + 1) * 1_000 / spec.tick_ms();
        assert_eq!(row[6], grouped(rate), "{name}");
        if name != "mastodon" {
            let last = utc(last_ms).replace('T', " ").replace('Z', "");
            assert!(rustdoc.contains(&last), "{name}: no {last} in its rustdoc");
        }
    }
    assert!(utc(Mastodon::SPEC.unix_ms(Mastodon::SPEC.max_tick())).contains("9999"));
}

/// What is left to chance where a store is made in the place of another, by the rule that ships.
#[test]
fn chances_of_two_stores_are_computed() {
    let faults = fs::read_to_string(root().join("randflake-std/lease/src/faults.md")).unwrap();
    let (_, section) = faults.split_once("\n# What is left to chance\n").unwrap();
    let (section, _) = section.split_once("\n# ").unwrap();
    let one_in = |node_ids: u64| match node_ids {
        1 => "certain".to_owned(),
        _ => format!("1 in {}", grouped(node_ids)),
    };
    let mut chances = BTreeMap::new();
    for (name, spec) in LAYOUTS {
        let begin = format!("| `{name}`");
        let row: Vec<_> = section
            .lines()
            .find(|line: &&str| line.to_lowercase().starts_with(&begin))
            .unwrap_or_else(|| panic!("faults.md has no chance of {name}"))
            .split('|')
            .map(str::trim)
            .collect();
        let node_ids = u64::from(spec.max_node_id()) + 1;
        let wait = match youth(&spec, node_ids, NodeIds::Any(1)).as_secs() {
            0 => "with the next tick".to_owned(),
            seconds => format!("after {seconds} s"),
        };
        assert_eq!(row[2], grouped(node_ids), "{name}");
        assert_eq!(row[3], wait, "{name}");
        assert_eq!(row[4], one_in(node_ids), "{name}");
        chances.insert(name, grouped(node_ids));
    }
    // The sentence in the README.
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let words: Vec<_> = readme.split_whitespace().collect();
    let sentence = format!(
        "one chance in {} for `Randflake`, in {} for `Snowflake`,",
        chances["randflake"], chances["snowflake"]
    );
    assert!(words.join(" ").contains(&sentence), "{sentence}");
}

/// The lines of the examples of a console: each command, and what is printed.
fn examples(text: &str) -> Vec<(String, String)> {
    let mut examples = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap().replace("\\\n", " ");
        for command in block.split("$ ").skip(1) {
            let (line, output) = command.split_once('\n').unwrap();
            let line = line.split(" #").next().unwrap().trim();
            examples.push((line.to_owned(), output.to_owned()));
        }
    }
    examples
}

/// The commands that need no server, no other machine and no program of others.
const LOCAL: [&str; 9] = [
    "compose",
    "convert",
    "generate",
    "histogram",
    "inspect",
    "keygen",
    "segment",
    "sql partitions",
    "uuid",
];

fn is_local(line: &str) -> bool {
    !line.contains("://")
        && line
            .split(" | ")
            .flat_map(|part| part.split(" && "))
            .all(|part| {
                let program = part.split_once("randflake ").map_or(part, |(_, rest)| rest);
                let is_own = LOCAL.iter().any(|command| program.starts_with(command));
                is_own
                    || ["head ", "mkdir ", "sort", "uniq "]
                        .iter()
                        .any(|begin| part.starts_with(begin))
            })
}

/// New ids and days are others each time.
fn without_new_ids(text: &str) -> String {
    let id = Regex::new(r"\b[0-9a-v]{10,13}\n").unwrap();
    let day = Regex::new(r"\b20\d{6}-0").unwrap();
    day.replace_all(&id.replace_all(text, "ID\n"), "DAY-0")
        .into_owned()
}

#[test]
fn examples_print_what_they_show() {
    let mut compared = 0;
    let tools = Path::new(env!("CARGO_BIN_EXE_randflake")).parent().unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    for (document, text) in documents() {
        let home = TempDir::new().unwrap();
        for (name, table) in [
            ("orders.csv", "order_id,customer\n4594531474933654033,7\n"),
            ("order_ids.csv", "order_id\n4594531474933654033\n"),
            ("tweets.csv", "id\n1796226532438290432\n"),
        ] {
            fs::write(home.path().join(name), table).unwrap();
        }
        if !text.contains("mkdir -m 700 keys") {
            fs::create_dir(home.path().join("keys")).unwrap();
        }
        for (line, shown) in examples(&text).iter().filter(|(line, _)| is_local(line)) {
            // Each guide has keys of its own.
            let script = "umask 077; for key in $1; do [ -e $key ] || echo $KEY >$key; done; cargo() { \"$@\"; }; eval \"$2\"";
            let keys = between(line, "--key-file ", ' ')
                .collect::<Vec<_>>()
                .join(" ");
            let ran = Command::new("sh")
                .args(["-c", script, "sh", &keys, line])
                .current_dir(&home)
                .envs([("PATH", &*path), ("KEY", KEY)])
                .env("HOME", home.path())
                .env_remove("RANDFLAKE_KEY")
                .env_remove("XDG_STATE_HOME")
                .output()
                .unwrap();
            let place = document.display();
            assert!(ran.status.success(), "{place}: {line}: {ran:?}");
            if shown.trim().is_empty() {
                continue;
            }
            let mut printed = String::from_utf8(ran.stdout).unwrap();
            if shown.starts_with("randflake: ") {
                printed.insert_str(0, &String::from_utf8(ran.stderr).unwrap());
            }
            let shown = shown.replace("/root/", &format!("{}/", home.path().display()));
            let is_new = ["generate", "segment"]
                .iter()
                .any(|made| line.contains(made));
            let [printed, shown] =
                [printed, shown].map(|text| if is_new { without_new_ids(&text) } else { text });
            // Of many partitions the first is shown.
            let is_first = line.contains("sql partitions --layout randflake --table orders");
            assert!(
                printed == shown || is_first && printed.starts_with(&shown),
                "{place}: {line}: {printed}"
            );
            compared += 1;
        }
    }
    assert!(compared > 16, "{compared} examples");
}

/// An explanation begins with what the id itself says.
#[test]
fn the_explained_id_has_the_fields_that_are_shown() {
    let guide = fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let examples = examples(&guide);
    let explained = examples
        .iter()
        .find(|(line, output)| line.starts_with("randflake explain") && output.starts_with("text"));
    let (line, shown) = explained.unwrap();
    let field = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].trim()
    };
    let text = field("text");
    assert!(line.contains(text), "{line}");
    let id: Id = text.parse().unwrap();
    assert_eq!(field("int"), id.to_i64().to_string());
    let secret = randflake_std::Secret::from_hex(KEY).unwrap();
    let codec = randflake_std::randflake_core::Codec::new(Randflake, secret.cipher());
    assert_eq!(field("time"), utc(codec.unix_ms(id)));
    let parts = codec.inspect(id);
    assert_eq!(field("node"), parts.node_id.to_string());
    assert_eq!(field("sequence"), parts.sequence.to_string());
}

/// The version that a manifest asks of a crate, if it names one.
fn version<'a>(manifest: &'a str, name: &str) -> Option<&'a str> {
    let begin = format!("{name} = {{ version = \"");
    let rest = manifest
        .lines()
        .find_map(|line| line.strip_prefix(&begin))?;
    rest.split('"').next()
}

#[test]
fn integrated_crates_have_the_manifests_versions() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (core, shared) = (read("randflake-core/Cargo.toml"), read("Cargo.toml"));
    let readme = read("randflake-core/README.md");
    let (_, table) = readme.split_once("| feature | version |").unwrap();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let mut compared = 0;
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let feature = cells[1].split('`').nth(1).unwrap();
        let name = match feature {
            "serde" => "serde_core",
            // A feature of the same crate.
            "diesel-sqlite" => "diesel",
            name => name,
        };
        let asked = version(&core, name)
            .or_else(|| version(&shared, name))
            .unwrap_or_else(|| panic!("no version of {name}"));
        // `>=0.32, <0.43` are 0.32 to 0.42.
        let shown = match asked
            .strip_prefix(">=")
            .and_then(|range| range.split_once(", <0."))
        {
            Some((least, beyond)) => {
                format!("{least} to 0.{}", beyond.parse::<u32>().unwrap() - 1)
            }
            None => asked.to_owned(),
        };
        assert_eq!(cells[2], shown, "{feature}");
        compared += 1;
    }
    assert_eq!(compared, 17);
}
