//! Ids, texts and times of the original programs of other layouts, and of published vectors

use core::time::Duration;

use randflake_std::date::{YEAR_10000_MS, utc};
use randflake_std::randflake_core::LAYOUTS;
use serde_json::Value;

use crate::user::{KEY, User, objects, words};

fn vectors(json: &str) -> Vec<Value> {
    let vectors: Vec<Value> = serde_json::from_str(json).unwrap();
    assert_eq!(vectors.len(), 40);
    vectors
}

fn snowflakes() -> Vec<Value> {
    vectors(include_str!(
        "../../../../randflake-core/tests/vectors/snowflake.json"
    ))
}

/// A column of the vectors, a line each.
fn column(vectors: &[Value], name: &str) -> String {
    let lines = vectors.iter().map(|vector| format!("{}\n", vector[name]));
    lines.collect::<String>().replace('"', "")
}

#[test]
fn texts_of_bwmarrin_are_converted_into_each_other() {
    let (user, vectors) = (User::new(), snowflakes());
    let forms = [
        ("int", "id"),
        ("bytes", "id"),
        ("base2", "B2"),
        ("base32", "B32"),
        ("base36", "B36"),
        ("base58", "B58"),
        ("base64", "B64"),
    ];
    for (from, given) in forms {
        for (to, expected) in forms {
            let told = user.run_on(
                column(&vectors, given).as_bytes(),
                &["convert", "--from", from, "--to", to],
            );
            assert_eq!(told.ok(), column(&vectors, expected), "{from} to {to}");
        }
    }
    let convert = words("convert --from int --to base62 61 62 -1");
    assert_eq!(user.run(&convert).ok(), "z\n10\nLygHa16AHYF\n");
    let inspect = words("inspect --layout snowflake --from base58 --json 2JS2rjxmEG6");
    let told = objects(&user.run(&inspect).ok());
    assert_eq!(told[0]["unix_ms"], 1_467_451_546_064_u64);
}

#[test]
fn vectors_of_originals_are_composed_and_inspected() {
    let user = User::new();
    let sonyflakes = vectors(include_str!(
        "../../../../randflake-core/tests/vectors/sonyflake.json"
    ));
    let named = [
        ("snowflake", snowflakes()),
        ("sonyflake@1409529600000/10", sonyflakes),
    ];
    for (layout, vectors) in &named {
        for vector in vectors.iter().step_by(8) {
            let unix_ms = vector["unix_ms"].as_u64().unwrap();
            let time = format!("{}.{:03}", unix_ms / 1_000, unix_ms % 1_000);
            let [node, sequence] = ["node_id", "sequence"].map(|name| vector[name].to_string());
            let compose = ["compose", "--layout", layout, "--format", "int"];
            let fields = ["--time", &time, "--node", &node, "--sequence", &sequence];
            let id = vector["id"].as_str().unwrap();
            let told = user.run(&[&compose[..], &fields].concat()).ok();
            assert_eq!(told, format!("{id}\n"));
        }
        let told = user.run_on(
            column(vectors, "id").as_bytes(),
            &["inspect", "--layout", layout, "--from", "int", "--json"],
        );
        for (told, vector) in objects(&told.ok()).iter().zip(vectors) {
            for (ours, theirs) in [
                ("unix_ms", "unix_ms"),
                ("node", "node_id"),
                ("sequence", "sequence"),
            ] {
                assert_eq!(told[ours], vector[theirs], "{vector}");
            }
        }
    }
}

#[test]
fn plain_ids_are_encrypted_and_decrypted() {
    let (user, vectors) = (User::new(), snowflakes());
    let plain = column(&vectors, "id");
    let encrypt = words("convert --layout snowflake --from int --to text --encrypt");
    let hidden = user.run_on(plain.as_bytes(), &encrypt).ok();
    let decrypt = words("convert --layout snowflake --from text --to int --decrypt");
    assert_eq!(user.run_on(hidden.as_bytes(), &decrypt).ok(), plain);
    let inspect = words("inspect --layout encrypted:snowflake --json");
    for (told, vector) in objects(&user.run_on(hidden.as_bytes(), &inspect).ok())
        .iter()
        .zip(&vectors)
    {
        assert_eq!(
            (&told["node"], &told["raw"]),
            (&vector["node_id"], &vector["id"])
        );
    }
    let convert = words("convert --layout snowflake --from int --to text -1");
    assert_eq!(
        user.run(&convert).fails(2),
        "-1: the layout has no such id: bits outside its fields are set; is it encrypted, or of another layout?"
    );
}

/// 200 ids, half of them after 2041.
#[test]
fn the_published_vectors_are_composed_and_inspected() {
    let vectors = include_str!("../../../../randflake-core/tests/vectors/randflake.json");
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    assert_eq!(vectors.len(), 200);
    let user = User::new();
    for vector in vectors {
        let key = [("RANDFLAKE_KEY", vector["secret"].as_str().unwrap())];
        let [time, node, sequence] =
            ["timestamp", "node_id", "sequence"].map(|name| vector[name].to_string());
        let fields = ["--time", &time, "--node", &node, "--sequence", &sequence];
        let compose = [&["compose", "--format", "json"], &fields[..]].concat();
        let composed = objects(&user.run_in(&key, &compose).ok());
        for (ours, theirs) in [
            ("int", "encrypted_id"),
            ("raw", "raw_id"),
            ("text", "encoded_id"),
        ] {
            assert_eq!(composed[0][ours], vector[theirs], "{vector}");
        }
        let inspect = ["inspect", "--json", vector["encoded_id"].as_str().unwrap()];
        assert_eq!(objects(&user.run_in(&key, &inspect).ok()), composed);
    }
}

/// Ids of 53 bits, of the secret that tests use.
fn narrow_ids() -> Vec<Value> {
    let vectors = include_str!("../../../../randflake-core/tests/vectors/randflake53.json");
    let mut vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    vectors.retain(|vector| vector["secret"] == KEY);
    assert_eq!(vectors.len(), 20);
    vectors
}

#[test]
fn the_vectors_are_composed_inspected_and_converted() {
    let (user, vectors) = (User::new(), narrow_ids());
    let inspect = words("inspect --layout randflake53 --from int --json");
    let told = user.run_on(column(&vectors, "id").as_bytes(), &inspect);
    for (told, vector) in objects(&told.ok()).iter().zip(&vectors) {
        for (ours, theirs) in [
            ("number", "id"),
            ("text", "text"),
            ("time", "timestamp"),
            ("node", "node_id"),
            ("sequence", "sequence"),
        ] {
            assert_eq!(told[ours], vector[theirs], "{vector}");
        }
        let [time, node, sequence] =
            ["timestamp", "node_id", "sequence"].map(|name| vector[name].to_string());
        let compose = words("compose --layout randflake53 --format int");
        let fields = ["--time", &time, "--node", &node, "--sequence", &sequence];
        let id = user.run_keyed(&[&compose[..], &fields].concat()).ok();
        assert_eq!(id.trim(), vector["id"].to_string());
    }
    let (ids, raws) = (column(&vectors, "id"), column(&vectors, "raw_id"));
    let convert = words("convert --layout randflake53 --from int --to int");
    for (way, given, expected) in [("--decrypt", &ids, &raws), ("--encrypt", &raws, &ids)] {
        let told = user.run_on(given.as_bytes(), &[&convert[..], &[way]].concat());
        assert_eq!(told.ok(), *expected);
    }
    let key = user.run_keyed(&["keygen", "--key53"]).ok();
    assert_eq!(key.trim(), vectors[0]["key"]);
}

/// A range of partition bounds, of which the last is not inside.
fn range(line: &str) -> (i128, i128) {
    let (_, bounds) = line.split_once("FROM (").unwrap();
    let (from, to) = bounds.split_once(") TO (").unwrap();
    let number = |text: &str| match text {
        "MINVALUE" => i64::MIN.into(),
        "MAXVALUE" => i128::from(i64::MAX) + 1,
        number => number.parse().unwrap(),
    };
    (number(from), number(to.trim_end_matches(");")))
}

/// From the first moment of a layout to its last, without gap or overlap, and no further.
#[test]
fn partitions_are_of_a_layouts_times_and_no_others() {
    let user = User::new();
    let date = |unix_ms: u64| {
        let seconds = utc(Duration::from_millis(unix_ms));
        seconds.replace('Z', &format!(".{:03}Z", unix_ms % 1_000))
    };
    for (name, spec) in LAYOUTS {
        let (first, end) = (spec.unix_ms(0), spec.end_unix_ms());
        let partitions = |from, to| {
            let fixed = format!("sql partitions --layout {name} --table t --every month");
            let range = ["--from", &*date(from), "--to", &*date(to)];
            user.run(&[&words(&fixed)[..], &range].concat())
        };
        // Later dates have no text.
        if end < YEAR_10000_MS {
            let mut ranges: Vec<_> = partitions(first, end).ok().lines().map(range).collect();
            ranges.sort_unstable();
            assert!(ranges.iter().all(|(from, to)| from < to), "{name}");
            assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0), "{name}");
            let ids = ranges.last().unwrap().1 - ranges[0].0;
            let timestamp = spec.fields().timestamp;
            assert_eq!(ids, 1 << (timestamp.bits + timestamp.shift), "{name}");
            let said = partitions(first, end + 1).fails(2);
            let allowed = format!("to {} are allowed, the times of the layout", date(end));
            assert!(said.ends_with(&allowed.replace(".000Z", "Z")), "{said}");
        }
        if first > 0 {
            let said = partitions(first - 1, first + 1).fails(2);
            assert!(
                said.ends_with("are allowed, the times of the layout"),
                "{said}"
            );
        }
    }
}

#[test]
fn the_help_names_every_layout() {
    let help = User::new().run(&["inspect", "-h"]).ok();
    for (name, _) in LAYOUTS {
        assert!(help.contains(name), "{name}: {help}");
    }
}
